import { StoreError } from '../errors.js';
import { joinAll } from '../join-all.js';
import { dataLost } from '../refusals.js';
import type { Quota } from '../store.js';
import type { Allocation } from './allocation.js';
import type { Catalogue, EntryRead } from './catalogue.js';
import { STALE_MS } from './claim.js';
import type { CatalogueEntry, RedisFilter } from './filter.js';

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
 * Makes the next layer of a filter. The catalogue says that it is being made, so that whoever drops the filter deletes
 * its keys; then the keys are made; then the catalogue says that it is there. From then on segments may open it. Anyone
 * may go on with what another has begun, dead or alive: making a key twice is harmless. Deleting keys again, since memory
 * does not suffice, is not: meanwhile nobody may begin to make any, and who had begun deletes what it has made since.
 */
export class Growth {
  /** By generation, since several handles may have the same. */
  private readonly underWay = new Map<string, Promise<void>>();
  /** By generation, when there was last no memory for its next layer; by performance.now(). */
  private readonly lacking = new Map<string, number>();
  private closed = false;

  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly timeoutMs: number,
  ) {}

  /**
   * Has `filter` know more layers than `known`: those that others have made, else one that it makes. Throws QUOTA_EXCEEDED,
   * STORE_FULL, or the error for a filter that is there no more.
   */
  async grow(filter: RedisFilter, known: number, quota: Quota | undefined, deadline: number): Promise<void> {
    const { generation } = filter;
    for (let other = this.underWay.get(generation); other; other = this.underWay.get(generation)) {
      // This call may have another quota, or more time. More memory it has not.
      await other.catch((error: unknown) => {
        if (isFull(error)) throw error;
      });
    }
    if (filter.made > known) return;
    // Each try takes what memory there is, for a moment, from all others.
    const lacked = this.lacking.get(generation);
    if (lacked !== undefined && performance.now() - lacked < PAUSE_MS) throw noMemory(filter);
    const work = this.makeNext(filter, known, quota, deadline);
    this.underWay.set(generation, work);
    try {
      await work;
      this.lacking.delete(generation);
    } catch (error) {
      if (isFull(error)) this.lacking.set(generation, performance.now());
      throw error;
    } finally {
      this.underWay.delete(generation);
    }
  }

  /** How many filters have found no memory to grow of late, as far as this instance knows. */
  get cramped(): number {
    const since = performance.now() - LACKING_MS;
    for (const [generation, at] of this.lacking) if (at < since) this.lacking.delete(generation);
    return this.lacking.size;
  }

  /** Begins to make the next layer, unless that is under way. Nobody waits for it. */
  ahead(filter: RedisFilter, quota: Quota | undefined): void {
    if (this.closed || this.underWay.has(filter.generation) || Date.now() < filter.growsAgainAt) return;
    this.grow(filter, filter.made, quota, Date.now() + this.timeoutMs).catch(() => {
      filter.growsAgainAt = Date.now() + PAUSE_MS;
    });
  }

  /**
   * Makes the keys of layers from `from` on again in a segment that has nothing in them: a failover may have lost what the
   * old master had not passed on.
   */
  async remake(filter: RedisFilter, segment: number, from: number, deadline: number): Promise<void> {
    const read = await this.catalogue.read(filter.name, deadline);
    const entry = current(read.entry, filter);
    if (!entry) throw await this.catalogue.explainLoss(filter);
    const { made = 1 } = entry;
    // The catalogue has lost the layer, too.
    if (made <= from) filter.made = made;
    for (let layer = from; layer < made; layer++) {
      await this.allocation.allocateLayer(entry, entry.tags[segment] as string, layer, deadline);
    }
  }

  /** Has `filter` know all layers that there are. */
  async refresh(filter: RedisFilter, deadline: number): Promise<void> {
    const { entry } = await this.catalogue.read(filter.name, deadline);
    filter.made = Math.max(filter.made, current(entry, filter)?.made ?? 1);
  }

  /** To be called once there are no connections: waits until what is under way has noticed. */
  async close(): Promise<void> {
    this.closed = true;
    await joinAll(Array.from(this.underWay.values(), (work) => work.catch(() => undefined)));
  }

  private async makeNext(
    filter: RedisFilter,
    known: number,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<void> {
    for (let allocated = false; ;) {
      const read = await this.catalogue.read(filter.name, deadline);
      const entry = current(read.entry, filter);
      if (!entry) {
        // The layer is not known to whoever has dropped or cleared the filter, or was not when its keys were deleted.
        if (allocated) await this.allocation.freeLayer(filter, known, Date.now() + FREE_MS);
        throw await this.catalogue.explainLoss(filter);
      }
      const { made = 1, layers = [] } = entry;
      if (made > known) {
        filter.made = made;
        return;
      }
      // A segment that has opened a layer beyond the last is not as any script left it.
      if (made >= layers.length) throw dataLost(filter.name);
      const claimed = await this.announce(filter, read, entry, quota, deadline);
      if (!claimed) continue;
      allocated = true;
      try {
        await joinAll(
          entry.tags.map((tag) => this.allocation.allocateLayer(claimed.entry, tag, made, deadline)),
        );
      } catch (error) {
        await this.giveUp(filter, claimed, made, isFull(error)).catch(() => undefined);
        throw error;
      }
      const { growing: _done, ...rest } = claimed.entry;
      await this.catalogue.set(claimed, { ...rest, made: made + 1 }, deadline);
    }
  }

  /**
   * Deletes the keys of a layer that could not be made, if that is for lack of memory, or if the filter has gone. Otherwise
   * they stay for whoever tries next.
   */
  private async giveUp(
    filter: RedisFilter,
    claimed: Announced,
    layer: number,
    isForMemory: boolean,
  ): Promise<void> {
    const deadline = Date.now() + FREE_MS;
    for (let before: EntryRead = claimed; Date.now() < deadline;) {
      const entry = current(before.entry, filter);
      if (!entry) return this.allocation.freeLayer(filter, layer, deadline);
      // Whoever makes the layer, or deletes it, will find what this call has made.
      const othersWork = entry.givingUp !== undefined || (before !== claimed && entry.growing !== undefined);
      if (!isForMemory || othersWork || (entry.made ?? 1) > layer) return;
      const leaving = { ...entry, givingUp: await this.catalogue.now(deadline) };
      const raw = await this.catalogue.set(before, leaving, deadline);
      if (raw !== undefined) {
        await this.allocation.freeLayer(filter, layer, deadline);
        const { growing: _given, givingUp: _up, ...rest } = leaving;
        await this.catalogue.set({ raw, entry: leaving }, rest, deadline);
        return;
      }
      before = await this.catalogue.read(filter.name, deadline);
    }
  }

  /** Undefined if the entry has changed since it was read. Throws QUOTA_EXCEEDED. */
  private async announce(
    filter: RedisFilter,
    read: EntryRead,
    entry: CatalogueEntry,
    quota: Quota | undefined,
    deadline: number,
  ): Promise<Announced | undefined> {
    const growing = (entry.made ?? 1) + 1;
    const { givingUp, ...rest } = entry;
    if (entry.growing === growing && givingUp === undefined) return { raw: read.raw, entry };
    const now = await this.catalogue.now(deadline);
    if (givingUp !== undefined && now - givingUp <= STALE_MS) {
      throw noMemory(filter);
    }
    // The time makes it another text than one that has been given up: whoever was late with that cannot publish it.
    const next = { ...rest, growing, since: now };
    const raw = await this.catalogue.set(read, next, deadline, { quota });
    return raw === undefined ? undefined : { raw, entry: next };
  }
}

function noMemory({ name }: RedisFilter): StoreError {
  return new StoreError('STORE_FULL', `Redis has not enough memory for filter ${name} to grow`);
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_FULL';
}

/** The entry, if it is that of this very generation and no other work is under way on it. */
function current(entry: CatalogueEntry | undefined, filter: RedisFilter): CatalogueEntry | undefined {
  return entry?.generation === filter.generation && entry.state === 'ready' ? entry : undefined;
}
