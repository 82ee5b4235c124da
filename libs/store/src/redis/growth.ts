import { deadlineIn, msUntil } from '../clock.js';
import { StoreError } from '../errors.js';
import { joinAll } from '../join-all.js';
import { called, dataLost } from '../refusals.js';
import type { Quota } from '../store.js';
import type { Allocation } from './allocation.js';
import type { Catalogue, EntryRead } from './catalogue.js';
import { STALE_MS } from './catalogue-change.js';
import type { CatalogueEntry, EntryList, Grown } from './entry.js';
import type { RedisFilter, RedisList } from './filter.js';

/** After a failure ahead of need it is not tried again for so long: the add that needs the layer will try, and say why not. */
const PAUSE_MS = 1_000;

/** For so long a lack of memory is warned of: a filter that is still written to tries again all the while. */
const LACKING_MS = 60_000;

/** Time for deleting what was made in vain. */
const FREE_MS = 10_000;

/** An entry that says which layer is being made. */
interface Announced {
  readonly raw: string;
  readonly entry: CatalogueEntry;
}

/**
 * Makes the next layer of a list of a filter. The catalogue says that it is being made, so that whoever drops the filter deletes
 * its keys; then the keys are made; then the catalogue says that it is there. From then on segments may open it. Anyone
 * may go on with what another has begun, dead or alive: making a key twice is harmless. Deleting keys again, since memory
 * does not suffice, is not: meanwhile nobody may begin to make any, and who had begun deletes what it has made since.
 */
export class Growth {
  /** By generation and list, since several handles may have the same. */
  private readonly underWay = new Map<string, Promise<void>>();
  /** Likewise, when there was last no memory for its next layer; by the clock's monotonic(). */
  private readonly lacking = new Map<string, number>();
  private closed = false;

  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Has `list` know more layers than `known`: those that others have made, else one that it makes. Throws QUOTA_EXCEEDED,
   * STORE_FULL, or the error for a filter that is there no more. A sync that is over needs no more layers.
   */
  async grow(
    filter: RedisFilter,
    list: RedisList,
    known: number,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<void> {
    const key = keyOf(filter, list);
    for (let other = this.underWay.get(key); other; other = this.underWay.get(key)) {
      // This call may have another quota, or more time. More memory it has not.
      await other.catch((error: unknown) => {
        if (isFull(error)) throw error;
      });
    }
    if (list.made > known) return;
    // Each try takes what memory there is, for a moment, from all others.
    const lacked = this.lacking.get(key);
    if (lacked !== undefined && this.catalogue.clock.monotonic() - lacked < PAUSE_MS) throw noMemory(filter);
    const work = this.makeNext(filter, list, known, quota, deadline);
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

  /** How many filters have found no memory to grow of late, as far as this instance knows. */
  get cramped(): number {
    const since = this.catalogue.clock.monotonic() - LACKING_MS;
    for (const [key, at] of this.lacking) if (at < since) this.lacking.delete(key);
    return this.lacking.size;
  }

  /** Begins to make the next layer, unless that is under way. Nobody waits for it. */
  ahead(filter: RedisFilter, list: RedisList, quota: Quota | undefined): void {
    const { clock } = this.catalogue;
    if (this.closed || this.underWay.has(keyOf(filter, list)) || clock.now() < list.growsAgainAt) return;
    this.grow(filter, list, list.made, quota, deadlineIn(this.timeoutMs)).catch(() => {
      list.growsAgainAt = clock.now() + PAUSE_MS;
    });
  }

  /**
   * Makes the keys of layers from `from` on again in a segment that has nothing in them: a failover may have lost what the
   * old master had not passed on.
   */
  async remake(
    filter: RedisFilter,
    list: RedisList,
    segment: number,
    from: number,
    deadline: number,
  ): Promise<void> {
    const read = await this.catalogue.read(filter.name, deadline);
    const entry = current(read.entry, filter);
    const found = listIn(entry, list);
    if (entry && !found && list !== filter.list) {
      // A sync that is over needs no more layers. The next call takes another view.
      filter.learn(entry.sync);
      return;
    }
    if (!entry || !found) throw await this.catalogue.explainLoss(filter);
    const { made = 1 } = found;
    // The catalogue has lost the layer, too.
    if (made <= from) list.made = made;
    for (let layer = from; layer < made; layer++) {
      await this.makeKeys(entry, list, layer, entry.tags[segment] as string, deadline);
    }
  }

  /** Has `filter` know all layers that there are, and its sync. */
  async refresh(filter: RedisFilter, deadline: number): Promise<void> {
    const { entry } = await this.catalogue.read(filter.name, deadline);
    const found = current(entry, filter);
    if (!found) return;
    filter.list.made = Math.max(filter.list.made, found.made ?? 1);
    filter.learn(found.sync);
  }

  /** To be called once there are no connections: waits until what is under way has noticed. */
  async close(): Promise<void> {
    this.closed = true;
    await joinAll(Array.from(this.underWay.values(), (work) => work.catch(() => undefined)));
  }

  private async makeNext(
    filter: RedisFilter,
    list: RedisList,
    known: number,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<void> {
    for (let allocated = false; ;) {
      const read = await this.catalogue.read(filter.name, deadline);
      const entry = current(read.entry, filter);
      const found = listIn(entry, list);
      if (!entry || !found) {
        // The layer is not known to whoever has ended the list, or was not when its keys were deleted.
        if (allocated) await this.free(filter, list, known, deadlineIn(FREE_MS));
        if (entry && list !== filter.list) {
          filter.learn(entry.sync);
          return;
        }
        throw await this.catalogue.explainLoss(filter);
      }
      const { made = 1 } = found;
      if (made > known) {
        list.made = made;
        return;
      }
      // A segment that has opened a layer beyond the last is not as any script left it.
      if (made >= list.plan.length) throw dataLost(filter);
      const claimed = await this.announce(filter, list, read, entry, quota, deadline);
      if (!claimed) continue;
      allocated = true;
      try {
        await joinAll(entry.tags.map((tag) => this.makeKeys(claimed.entry, list, made, tag, deadline)));
      } catch (error) {
        await this.giveUp(filter, list, claimed, made, isFull(error)).catch(() => undefined);
        throw error;
      }
      const grown = withList(claimed.entry, list, { growing: undefined, made: made + 1 });
      await this.catalogue.set(claimed, grown, deadline);
    }
  }

  private async makeKeys(
    { tags }: CatalogueEntry,
    list: RedisList,
    layer: number,
    tag: string,
    deadline: number,
  ): Promise<void> {
    const { geometry } = list.plan[layer] as (typeof list.plan)[0];
    await this.allocation.makeLayer(tag, list.base + layer, geometry, tags.length, deadline);
  }

  private async free(filter: RedisFilter, list: RedisList, layer: number, deadline: number): Promise<void> {
    const keys = { number: list.base + layer, pieces: list.piecesOf(layer) };
    await this.allocation.freeLayers(filter.tags, [keys], deadline);
  }

  /**
   * Deletes the keys of a layer that could not be made, if that is for lack of memory, or if the list has gone. Otherwise
   * they stay for whoever tries next.
   */
  private async giveUp(
    filter: RedisFilter,
    list: RedisList,
    claimed: Announced,
    layer: number,
    isForMemory: boolean,
  ): Promise<void> {
    const deadline = deadlineIn(FREE_MS);
    for (let before: EntryRead = claimed; msUntil(deadline) > 0;) {
      const entry = current(before.entry, filter);
      const found = listIn(entry, list);
      if (!entry || !found) return this.free(filter, list, layer, deadline);
      // Whoever makes the layer, or deletes it, will find what this call has made.
      const othersWork = found.givingUp !== undefined || (before !== claimed && found.growing !== undefined);
      if (!isForMemory || othersWork || (found.made ?? 1) > layer) return;
      const leaving = withList(entry, list, { givingUp: await this.catalogue.now(deadline) });
      const raw = await this.catalogue.set(before, leaving, deadline);
      if (raw !== undefined) {
        await this.free(filter, list, layer, deadline);
        const left = withList(leaving, list, { growing: undefined, givingUp: undefined });
        await this.catalogue.set({ raw, entry: leaving }, left, deadline);
        return;
      }
      before = await this.catalogue.read(filter.name, deadline);
    }
  }

  /** Undefined if the entry has changed since it was read. Throws QUOTA_EXCEEDED. */
  private async announce(
    filter: RedisFilter,
    list: RedisList,
    read: EntryRead,
    entry: CatalogueEntry,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<Announced | undefined> {
    const { made = 1, growing: begun, givingUp } = listIn(entry, list) ?? {};
    const growing = made + 1;
    if (begun === growing && givingUp === undefined) return { raw: read.raw, entry };
    const now = await this.catalogue.now(deadline);
    if (givingUp !== undefined && now - givingUp <= STALE_MS) {
      throw noMemory(filter);
    }
    // The time makes it another text than one that has been given up: whoever was late with that cannot publish it.
    const next = withList(entry, list, { growing, givingUp: undefined, grewAt: now });
    const raw = await this.catalogue.set(read, next, deadline, { quota });
    return raw === undefined ? undefined : { raw, entry: next };
  }
}

const keyOf = ({ generation }: RedisFilter, { base }: RedisList) => `${generation}.${base}`;

/** The list in a catalogue entry that has it: the filter's own, or that of its sync. */
function listIn(entry: CatalogueEntry | undefined, { base }: RedisList): EntryList | undefined {
  if ((entry?.base ?? 0) === base) return entry;
  return entry?.sync?.base === base ? { ...entry.sync, ...entry.sync.plan } : undefined;
}

/** An entry with other numbers of such a list; undefined ones are left out. */
function withList(
  entry: CatalogueEntry,
  { base }: RedisList,
  numbers: { readonly [K in keyof Grown]: Grown[K] | undefined },
): CatalogueEntry {
  const merged = <T extends Grown>(list: T): T =>
    Object.fromEntries(
      Object.entries({ ...list, ...numbers }).filter(([, value]) => value !== undefined),
    ) as unknown as T;
  const { sync } = entry;
  return sync?.base === base ? { ...entry, sync: merged(sync) } : merged(entry);
}

function noMemory(filter: RedisFilter): StoreError {
  return new StoreError('STORE_FULL', `Redis has not enough memory for ${called(filter)} to grow`);
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_FULL';
}

/** The entry, if it is that of this very generation and no other work is under way on it. */
function current(entry: CatalogueEntry | undefined, filter: RedisFilter): CatalogueEntry | undefined {
  return entry?.generation === filter.generation && entry.state === 'ready' ? entry : undefined;
}
