import { deadlineIn, msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { called, dataLost } from '../../refusals.js';
import type { Quota } from '../../port/index.js';
import type { Allocation } from './allocation.js';
import type { Catalogue, EntryRead } from './catalogue.js';
import { carryOut, type HeldEntry, isStale } from './catalogue-change.js';
import type { CatalogueEntry, EntryStack, Grown } from '../layout/entry.js';
import type { RedisFilter } from '../layout/filter.js';
import type { LayerStack } from '../layout/layer-stack.js';

/**
 * Pause in ms after a layer could not be created ahead of need. The add that needs it tries again, and reports the
 * reason.
 */
const PAUSE_MS = 1_000;

/** How long after memory has run out the warning stays, in ms. Filters that still get writes keep retrying. */
const LACKING_MS = 60_000;

/** Time to delete keys after a failure, in ms. */
const FREE_MS = 10_000;

/**
 * Creates the next layer of a filter or sync. Another call may continue this change of the catalogue entry immediately,
 * since creating a key twice is harmless. If memory runs out, deleting the keys again is a separate change. During that
 * change, no call may start to create keys, and a call that had started before deletes its own keys.
 */
export class Growth {
  /**
   * Layers being created, by the handle's generation and the stack's first layer, since several handles may share them.
   */
  private readonly underWay = new Map<string, Promise<void>>();
  /** By the same key as `underWay`: the monotonic time at which memory last ran out for the next layer. */
  private readonly lacking = new Map<string, number>();
  /** Monotonic time at which a layer may be created ahead of need again after a failure. */
  private readonly pausedUntil = new WeakMap<LayerStack, number>();
  private closed = false;

  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Gives `stack` more layers than `known`. If other instances have created some, it uses those. Otherwise it creates
   * one. Throws QUOTA_EXCEEDED, STORE_FULL, or an error if the filter is gone. No-op if the sync has ended.
   */
  async grow(
    filter: RedisFilter,
    stack: LayerStack,
    known: number,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<void> {
    const key = keyOf(filter, stack);
    for (let other = this.underWay.get(key); other; other = this.underWay.get(key)) {
      // This call may have a larger quota or more time, but no more memory.
      await other.catch((error: unknown) => {
        if (isFull(error)) throw error;
      });
    }
    if (stack.made > known) return;
    // Don't retry soon: each attempt briefly takes all available memory.
    const lacked = this.lacking.get(key);
    if (lacked !== undefined && this.catalogue.clock.monotonic() - lacked < PAUSE_MS) throw noMemory(filter);
    const work = this.makeNext(filter, stack, known, quota, deadline);
    this.underWay.set(key, work);
    try {
      await work;
      this.lacking.delete(key);
    } catch (error) {
      if (isFull(error)) this.lacking.set(key, this.catalogue.clock.monotonic());
      throw error;
    } finally {
      this.underWay.delete(key);
    }
  }

  /** Number of filters that recently could not grow for lack of memory, as far as this instance knows. */
  get cramped(): number {
    const since = this.catalogue.clock.monotonic() - LACKING_MS;
    for (const [key, at] of this.lacking) if (at < since) this.lacking.delete(key);
    return this.lacking.size;
  }

  /** Starts creating the next layer in the background, unless that is already in progress. */
  ahead(filter: RedisFilter, stack: LayerStack, quota: Quota | undefined): void {
    const { clock } = this.catalogue;
    if (
      this.closed ||
      this.underWay.has(keyOf(filter, stack)) ||
      clock.monotonic() < (this.pausedUntil.get(stack) ?? 0)
    )
      return;
    this.grow(filter, stack, stack.made, quota, deadlineIn(this.timeoutMs)).catch(() => {
      this.pausedUntil.set(stack, clock.monotonic() + PAUSE_MS);
    });
  }

  /**
   * Re-creates a segment's keys for all layers from `from` on. These layers have no items in the segment, but a
   * failover may have lost keys that were not yet replicated.
   */
  async remake(
    filter: RedisFilter,
    stack: LayerStack,
    segment: number,
    from: number,
    deadline: number,
  ): Promise<void> {
    const read = await this.catalogue.read(filter.name, deadline);
    const entry = current(read.entry, filter);
    const found = stackIn(entry, stack);
    if (entry && !found && stack !== filter.stack) {
      // An ended sync needs no more layers. The next call gets another view.
      filter.known.learn(entry);
      return;
    }
    if (!entry || !found) throw await this.catalogue.explainLoss(filter);
    const { made = 1 } = found;
    // The failover has also lost the layer in the catalogue.
    if (made <= from) stack.shrankTo(made);
    for (let layer = from; layer < made; layer++) {
      await this.makeKeys(entry, stack, layer, entry.tags[segment] as string, deadline);
    }
  }

  /** Reads the filter's number of layers and its sync from the catalogue. */
  async refresh(filter: RedisFilter, deadline: number): Promise<void> {
    const { entry } = await this.catalogue.read(filter.name, deadline);
    const found = current(entry, filter);
    if (!found) return;
    filter.known.learn(found);
  }

  /** Waits until work in progress has failed. Call it after closing the connections. */
  async close(): Promise<void> {
    this.closed = true;
    await joinAll(Array.from(this.underWay.values(), (work) => work.catch(() => undefined)));
  }

  private async makeNext(
    filter: RedisFilter,
    stack: LayerStack,
    known: number,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<void> {
    for (;;) {
      const read = await this.catalogue.read(filter.name, deadline);
      const entry = current(read.entry, filter);
      const found = stackIn(entry, stack);
      if (!entry || !found) {
        if (entry && stack !== filter.stack) {
          filter.known.learn(entry);
          return;
        }
        throw await this.catalogue.explainLoss(filter);
      }
      const { made = 1 } = found;
      if (made > known) {
        stack.grewTo(made);
        return;
      }
      // No script opens a layer beyond the last one.
      if (made >= stack.plan.length) throw dataLost(filter);
      await carryOut(this.catalogue, read, {
        announced: await this.announced(filter, stack, entry, deadline),
        ...{ deadline, quota },
        prepare: ({ entry: growing }) =>
          joinAll(entry.tags.map((tag) => this.makeKeys(growing, stack, made, tag, deadline))),
        publish: (growing) => ({ entry: withStack(growing, stack, { growing: undefined, made: made + 1 }) }),
        undo: (held, error) => this.undo(filter, stack, held, made, error),
      });
    }
  }

  private async makeKeys(
    { tags }: CatalogueEntry,
    stack: LayerStack,
    layer: number,
    tag: string,
    deadline: number,
  ): Promise<void> {
    const { geometry } = stack.plan[layer] as (typeof stack.plan)[0];
    await this.allocation.makeLayer(tag, stack.base + layer, geometry, tags.length, deadline);
  }

  private async free(filter: RedisFilter, stack: LayerStack, layer: number, deadline: number): Promise<void> {
    const keys = { number: stack.base + layer, pieces: stack.piecesOf(layer) };
    await this.allocation.freeLayers(filter.tags, [keys], deadline);
  }

  /**
   * Deletes a layer's keys if creating it failed for lack of memory, or if its filter or sync is gone. Otherwise, the
   * keys stay for the next call that tries to create the layer.
   */
  private async undo(
    filter: RedisFilter,
    stack: LayerStack,
    held: HeldEntry,
    layer: number,
    error: unknown,
  ): Promise<void> {
    if (error !== undefined && !isFull(error)) return;
    const deadline = deadlineIn(FREE_MS);
    const read = () => this.catalogue.read(filter.name, deadline);
    const first: EntryRead = error === undefined ? await read() : held.read;
    for (let before = first; msUntil(deadline) > 0; before = await read()) {
      const entry = current(before.entry, filter);
      const found = stackIn(entry, stack);
      // The call that ended these layers either did not know about this one, or deleted its keys too early.
      if (!entry || !found) return this.free(filter, stack, layer, deadline);
      // The call that creates or deletes the layer will find these keys.
      const othersWork = found.undoing !== undefined || (before !== first && found.growing !== undefined);
      if (!isFull(error) || othersWork || (found.made ?? 1) > layer) return;
      const done = await carryOut(this.catalogue, before, {
        announced: withStack(entry, stack, { undoing: await this.catalogue.now(deadline) }),
        deadline,
        prepare: () => this.free(filter, stack, layer, deadline),
        publish: (leaving) => ({
          entry: withStack(leaving, stack, { growing: undefined, undoing: undefined }),
        }),
      });
      if (done) return;
    }
  }

  /**
   * The entry while the next layer is created, or undefined if the entry already announces this. Throws STORE_FULL if
   * another call is deleting the layer's keys for lack of memory.
   */
  private async announced(
    filter: RedisFilter,
    stack: LayerStack,
    entry: CatalogueEntry,
    deadline: number,
  ): Promise<CatalogueEntry | undefined> {
    const { made = 1, growing: begun, undoing } = stackIn(entry, stack) ?? {};
    const growing = made + 1;
    if (begun === growing && undoing === undefined) return undefined;
    const now = await this.catalogue.now(deadline);
    if (undoing !== undefined && !isStale(undoing, now)) throw noMemory(filter);
    // `grewAt` makes this entry differ from the entry of an undone attempt, so a late call can't publish that attempt.
    return withStack(entry, stack, { growing, undoing: undefined, grewAt: now });
  }
}

const keyOf = ({ generation }: RedisFilter, { base }: LayerStack) => `${generation}.${base}`;

/** A layer stack in a catalogue entry: the filter's own, or its sync's. */
function stackIn(entry: CatalogueEntry | undefined, { base }: LayerStack): EntryStack | undefined {
  if ((entry?.base ?? 0) === base) return entry;
  return entry?.sync?.base === base ? { ...entry.sync, ...entry.sync.plan } : undefined;
}

/** Sets an entry's numbers of layers, and removes the undefined ones. */
function withStack(
  entry: CatalogueEntry,
  { base }: LayerStack,
  numbers: { readonly [K in keyof Grown]: Grown[K] | undefined },
): CatalogueEntry {
  const merged = <T extends Grown>(stack: T): T =>
    Object.fromEntries(
      Object.entries({ ...stack, ...numbers }).filter(([, value]) => value !== undefined),
    ) as unknown as T;
  const { sync } = entry;
  return sync?.base === base ? { ...entry, sync: merged(sync) } : merged(entry);
}

function noMemory(filter: RedisFilter): StoreError {
  return new StoreError('STORE_FULL', `Redis does not have enough memory for ${called(filter)} to grow`);
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_FULL';
}

/** The entry, if it has this generation and no other change is in progress. */
function current(entry: CatalogueEntry | undefined, filter: RedisFilter): CatalogueEntry | undefined {
  return entry?.generation === filter.generation && entry.state === 'ready' ? entry : undefined;
}
