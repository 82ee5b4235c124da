import { StoreError } from '../errors.js';
import type { Operation, Quota } from '../store.js';
import type { Allocation } from './allocation.js';
import { type Catalogue, type EntryRead, underWay } from './catalogue.js';
import { allTags, type CatalogueEntry, RedisFilter } from './filter.js';

/** After so long without a change an operation on a filter is taken to have died with its instance. */
export const STALE_MS = 30_000;
/** How often work that takes longer than that shows that it lives. */
const RENEW_MS = 5_000;
/** How much longer one waits for the error of an operation that is given up. */
const GIVE_UP_MS = 2_000;

/**
 * A filter's name, held while a new generation is made under it: claim, fill, publish. Others wait meanwhile, or take
 * over once it is stale; the generation is then deleted by them, and its publication fails.
 */
export class Claim {
  private renewedAt = performance.now();

  private constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private held: { readonly raw: string; readonly entry: CatalogueEntry },
  ) {}

  /**
   * Undefined if the entry is another than was read by now. Frees what the new entry retires. QUOTA_EXCEEDED if there is no
   * room for it.
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
      await allocation.free(entry.retired ?? [], deadline);
      return claim;
    });
  }

  get entry(): CatalogueEntry {
    return this.held.entry;
  }

  async allocate(segment: number, deadline: number): Promise<void> {
    await this.allocation.allocate(this.entry, this.entry.tags[segment] as string, deadline);
  }

  /** Shows, once it is due, that the work goes on. FILTER_BUSY if another has taken over. */
  async renew(deadline: number): Promise<void> {
    if (performance.now() - this.renewedAt < RENEW_MS) return;
    const entry = { ...this.entry, since: await this.catalogue.now(deadline) };
    const raw = await this.catalogue.set(this.held, entry, deadline);
    if (raw === undefined) throw underWay(this.entry);
    this.held = { raw, entry };
    this.renewedAt = performance.now();
  }

  /**
   * Makes the generation the current one, and records the operation as one of `verb` if given. Undefined, and the
   * generation is gone, if another has taken over.
   */
  async publish(operation: Operation, verb?: string): Promise<RedisFilter | undefined> {
    const { operation: _done, retired: _gone, ...rest } = this.entry;
    const entry: CatalogueEntry = { ...rest, state: 'ready' };
    const value = { fingerprint: operation.fingerprint, entry, created: true };
    const record = verb === undefined ? undefined : { verb, operation, value };
    const published = await this.catalogue.set(this.held, entry, operation.deadline, { record });
    if (published !== undefined) return new RedisFilter(entry);
    await this.allocation.free(entry.tags, operation.deadline);
    return undefined;
  }

  /**
   * Does a part of the work. If that throws, frees what a creation had taken, as far as Redis can be reached; an emptied
   * filter stays marked, for the next clear or drop to finish.
   */
  async orGiveUp<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const unchanged = error instanceof StoreError && error.code === 'QUOTA_EXCEEDED';
      // What cannot be done now is done by whoever next makes a filter of this name, or needs the room that this one takes.
      if (!unchanged) await this.giveUp(isUnsettled(error), Date.now() + GIVE_UP_MS).catch(() => undefined);
      throw error;
    }
  }

  /**
   * First marks the entry as stale, so that a publication that seemed to fail cannot be done any more, or is seen. While
   * commands may still be `unsettled` the entry stays, so that whoever takes it over frees what those make.
   */
  private async giveUp(unsettled: boolean, deadline: number): Promise<void> {
    let entry = { ...this.entry, since: 0 };
    let raw = await this.catalogue.set(this.held, entry, deadline);
    if (raw === undefined) {
      const read = await this.catalogue.read(entry.name, deadline);
      if (read.entry?.generation === entry.generation) {
        if (read.entry.state === 'ready') return;
        // A renewal whose answer was lost.
        entry = { ...read.entry, since: 0 };
        raw = await this.catalogue.set(read, entry, deadline);
      }
    }
    if (raw === undefined || entry.state !== 'creating') {
      await this.allocation.free(entry.tags, deadline);
      return;
    }
    await this.allocation.free(allTags(entry), deadline);
    if (!unsettled) await this.catalogue.set({ raw, entry }, undefined, deadline);
  }
}

/** Whether commands may be under way yet: a lost connection may still bring them. */
function isUnsettled(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_UNAVAILABLE';
}
