import { deadlineIn } from '../clock.js';
import { StoreError } from '../errors.js';
import type { Operation, Quota } from '../store.js';
import type { Allocation } from './allocation.js';
import { type Catalogue, type EntryRead, underWay } from './catalogue.js';
import { allLayers, allTags, type CatalogueEntry, layersIn } from './entry.js';
import { RedisFilter } from './filter.js';

/** If an operation on a filter shows no change for this long, its instance is taken to have died. */
export const STALE_MS = 30_000;
/** How often an operation shows that it is alive. */
const RENEW_MS = 5_000;
/** Extra time that a failed operation gets to clean up before its error is thrown. */
const GIVE_UP_MS = 2_000;

/**
 * A filter's name, held while a new generation is made under it: claim, fill, publish. Others wait meanwhile, or take
 * over once the claim is stale. They then delete the generation, and its publication fails.
 */
export class Claim {
  private renewedAt: number;
  /** Before that nothing has changed that would have to be undone. */
  private taken = false;

  private constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private held: { readonly raw: string; readonly entry: CatalogueEntry },
  ) {
    this.renewedAt = catalogue.clock.monotonic();
  }

  /**
   * Undefined if the entry has changed since it was read. Frees what the new entry retires. Throws QUOTA_EXCEEDED if
   * there is no room for it.
   */
  static async take(
    catalogue: Catalogue,
    allocation: Allocation,
    read: EntryRead,
    entry: CatalogueEntry,
    deadline: number,
    quota?: Quota,
  ): Promise<Claim | undefined> {
    const claim = new Claim(catalogue, allocation, { raw: JSON.stringify(entry), entry });
    return claim.orGiveUp(async () => {
      if ((await catalogue.set(read, entry, deadline, { quota })) === undefined) return undefined;
      claim.taken = true;
      await allocation.free(entry.retired ?? [], entry.retiredLayers ?? [], deadline);
      return claim;
    });
  }

  get entry(): CatalogueEntry {
    return this.held.entry;
  }

  /** Has the filter so many layers; their keys are still to be made. Throws QUOTA_EXCEEDED, and FILTER_BUSY as `renew`. */
  async grow(made: number, deadline: number, quota: Quota | undefined): Promise<void> {
    const entry = { ...this.entry, made };
    const raw = await this.catalogue.set(this.held, entry, deadline, { quota });
    if (raw === undefined) throw underWay(this.entry);
    this.held = { raw, entry };
  }

  async allocateLayer(segment: number, layer: number, deadline: number): Promise<void> {
    await this.allocation.allocateLayer(this.entry, this.entry.tags[segment] as string, layer, deadline);
  }

  async allocate(segment: number, deadline: number): Promise<void> {
    await this.allocation.allocate(this.entry, this.entry.tags[segment] as string, deadline);
  }

  /** Shows, once it is due, that the work goes on. Throws FILTER_BUSY if another has taken over. */
  async renew(deadline: number): Promise<void> {
    if (this.catalogue.clock.monotonic() - this.renewedAt < RENEW_MS) return;
    const entry = { ...this.entry, since: await this.catalogue.now(deadline) };
    const raw = await this.catalogue.set(this.held, entry, deadline);
    if (raw === undefined) throw underWay(this.entry);
    this.held = { raw, entry };
    this.renewedAt = this.catalogue.clock.monotonic();
  }

  /**
   * Makes the generation the current one, and records the operation as one of `verb` if given. If another has taken
   * over, it deletes the generation and answers undefined.
   */
  async publish(operation: Operation, verb?: string): Promise<RedisFilter | undefined> {
    const { operation: _done, retired: _gone, retiredLayers: _layers, ...rest } = this.entry;
    const entry: CatalogueEntry = { ...rest, state: 'ready' };
    const value = { fingerprint: operation.fingerprint, entry, created: true };
    const record = verb === undefined ? undefined : { verb, operation, value };
    const published = await this.catalogue.set(this.held, entry, operation.deadline, { record });
    if (published !== undefined) return new RedisFilter(entry);
    await this.allocation.free(entry.tags, layersIn(entry), operation.deadline);
    return undefined;
  }

  /**
   * Does a part of the work. If that throws, frees what a creation had taken, as far as Redis can be reached. A filter
   * that was being cleared stays marked, and the next clear or drop finishes it.
   */
  async orGiveUp<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const unchanged = !this.taken && error instanceof StoreError && error.code === 'QUOTA_EXCEEDED';
      // What cannot be freed now is freed by the next call that makes a filter of this name or needs its room.
      if (!unchanged) await this.giveUp(isUnsettled(error), deadlineIn(GIVE_UP_MS)).catch(() => undefined);
      throw error;
    }
  }

  /**
   * First marks the entry as stale. Then a publication that seemed to fail can no longer happen, or is seen. The entry
   * stays while commands may still be `unsettled`, so that whoever takes it over frees what those make.
   */
  private async giveUp(unsettled: boolean, deadline: number): Promise<void> {
    let entry = { ...this.entry, since: 0 };
    let raw = await this.catalogue.set(this.held, entry, deadline);
    if (raw === undefined) {
      const read = await this.catalogue.read(entry.name, deadline);
      if (read.entry?.generation === entry.generation) {
        if (read.entry.state === 'ready') return;
        // A renewal went through, but its answer was lost.
        entry = { ...read.entry, since: 0 };
        raw = await this.catalogue.set(read, entry, deadline);
      }
    }
    if (raw === undefined || entry.state !== 'creating') {
      await this.allocation.free(entry.tags, layersIn(entry), deadline);
      return;
    }
    await this.allocation.free(allTags(entry), allLayers(entry), deadline);
    if (!unsettled) await this.catalogue.set({ raw, entry }, undefined, deadline);
  }
}

/** Whether commands may still be under way: a lost connection may still deliver them. */
function isUnsettled(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_UNAVAILABLE';
}
