import { msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { assertPerHost, busy, type Named, notFound, otherExists, taken } from '../../refusals.js';
import { isSameFilter } from '../../same-filter.js';
import type { FilterKind, FilterSpec, Operation, Quota } from '../../port/index.js';
import {
  type Catalogue,
  endOfPatience,
  type CatalogueRecord,
  type EntryRead,
  type FoundEntry,
  underWay,
} from './catalogue.js';
import { type CatalogueChange, carryOut, isStale } from './catalogue-change.js';
import type { Claim } from './claim.js';
import type { CatalogueEntry } from '../layout/entry.js';
import { RedisFilter } from '../layout/filter.js';
import { type Generations, isBegun, type Making } from './generations.js';

/**
 * Creates, clears and drops filters. Each is a change of the catalogue entry (see CatalogueChange), during which other
 * calls wait and no call can write stale positions. If an operation dies halfway, the next one on that name finishes
 * it.
 */
export class LifeCycle {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly generations: Generations,
  ) {}

  async create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: RedisFilter; created: boolean }> {
    assertPerHost(spec);
    const recalled = (record: CatalogueRecord) => ({
      filter: recordedFilter(record),
      created: record.created ?? false,
    });
    return this.onEntry('create', spec, operation, recalled, async (read, now) => {
      const { entry } = read;
      if (!entry || entry.state === 'creating') {
        const next = this.generations.describe(spec, 'create', operation, now, entry);
        const filter = await this.make(read, next, { operation, verb: 'create', quota });
        return filter && { filter, created: true };
      }
      if (!isSameFilter(entry, spec)) throw otherExists(entry, spec);
      const value = { fingerprint: operation.fingerprint, entry, created: false };
      const record = { verb: 'create', operation, value };
      const set = await this.catalogue.set(read, entry, operation.deadline, { record });
      return set === undefined ? undefined : { filter: new RedisFilter(entry), created: false };
    });
  }

  /**
   * Creates a filter with the contents that `fill` writes. This may take long, so each step has its own deadline,
   * `timeoutMs` from its start. If `fill` throws, no filter exists.
   */
  async import(
    spec: FilterSpec,
    operation: Operation,
    timeoutMs: number,
    fill: (claim: Claim) => Promise<void>,
    quota?: Quota,
  ): Promise<RedisFilter> {
    return this.onEntry('import', spec, operation, recordedFilter, async (read, now) => {
      const { entry } = read;
      if (entry && entry.state !== 'creating') throw taken(entry);
      const next = this.generations.describe(spec, 'import', operation, now, entry);
      const reading = { begun: false };
      const fillOnce = (claim: Claim) => {
        reading.begun = true;
        return fill(claim);
      };
      const how = { operation, verb: 'import', quota, fill: fillOnce, publishMs: timeoutMs };
      const filter = await this.make(read, next, how);
      // `parts` can't be read a second time.
      if (!filter && reading.begun) throw underWay(next);
      return filter;
    });
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<RedisFilter> {
    return this.onEntry('clear', { name, kind }, operation, recordedFilter, (read, now) => {
      const entry = existing(read, name, kind);
      if (entry.state === 'creating') throw notFound(entry);
      const next = this.generations.emptied(entry, 'clear', operation, now);
      return this.make(read, next, { operation, verb: 'clear' });
    });
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    const recalled = () => true;
    await this.onEntry('drop', { name, kind }, operation, recalled, async (read, now) => {
      // Also drops a dead owner's unfinished entry, and frees its keys.
      const entry = existing(read, name, kind);
      const of = { verb: 'drop', operation };
      return this.remove(read, this.generations.removing(entry, now, operation.deadline, of));
    });
  }

  /**
   * The ready entry of a filter of this kind. Finishes a clear if its instance has died, and waits briefly for other
   * changes of the filter.
   */
  async ready(name: string, kind: FilterKind, deadline: number): Promise<CatalogueEntry> {
    const end = endOfPatience(deadline);
    for (let wait = 5; ; wait = Math.min(wait * 2, 100)) {
      const read = await this.catalogue.read(name, deadline);
      const { entry } = read;
      if (!entry || entry.kind !== kind || entry.state === 'dropping') {
        throw notFound({ name, kind });
      }
      if (entry.state === 'ready') return entry;
      const now = await this.catalogue.now(deadline);
      if (isStale(entry.since, now)) {
        // The creation died before its caller got an answer, so the filter does not exist.
        if (entry.state === 'creating') throw notFound({ name, kind });
        const filter = await this.finishClear({ ...read, entry }, now, deadline);
        if (filter) continue;
      }
      if (msUntil(end) <= wait) throw underWay(entry);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /**
   * Runs `step` on a filter's entry until `step` returns a value. `step` returns undefined if the entry has changed in
   * the meantime. Waits for other changes of the entry, and finishes a change that is stale or belongs to an earlier
   * attempt of the same operation. `recalled` turns the record of a completed operation into an answer.
   *
   * Each round looks for the record after reading the entry. Another attempt of the operation may publish between the
   * two reads. This call then finds its record or a changed entry, and does nothing twice.
   */
  private async onEntry<T>(
    verb: string,
    filter: Named,
    operation: Operation,
    recalled: (record: CatalogueRecord) => T,
    step: (read: EntryRead, now: number) => Promise<T | undefined>,
  ): Promise<T> {
    const { name } = filter;
    const end = endOfPatience(operation.deadline);
    for (let wait = 5, first = true; ; wait = Math.min(wait * 2, 100), first = false) {
      const read = await this.catalogue.read(name, operation.deadline);
      const known = await this.catalogue.recall(verb, name, operation);
      if (known) return recalled(known);
      if (verb === 'clear' || verb === 'drop') existing(read, filter.name, filter.kind);
      const now = await this.catalogue.now(operation.deadline);
      const { entry } = read;
      const idle = !entry || entry.state === 'ready';
      // In later rounds, such an entry belongs to another attempt of this request, which has taken over.
      const ours = first && entry !== undefined && isBegun(entry, verb, operation);
      if (idle || ours || isStale(entry.since, now)) {
        // A stale removal or clear is finished before the new request.
        if (entry?.state === 'dropping' && !ours) {
          await this.remove(read, this.generations.removing(entry, now, operation.deadline));
          continue;
        }
        if (entry?.state === 'clearing' && !ours && verb !== 'drop') {
          await this.finishClear({ ...read, entry }, now, operation.deadline);
          continue;
        }
        const result = await step(read, now);
        if (result !== undefined) return result;
      }
      if (msUntil(end) <= wait) {
        throw entry ? underWay(entry) : busy(filter, 'keeps changing');
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /**
   * Creates the generation that `entry` describes. If it exceeds the quota, first removes dead changes under the
   * quota's prefix. Returns undefined if another call was faster.
   */
  private async make(
    read: EntryRead,
    entry: CatalogueEntry,
    making: Omit<Making, 'makeRoom'>,
  ): Promise<RedisFilter | undefined> {
    const { quota, operation } = making;
    const makeRoom = quota && (() => this.freeStale(quota.prefix, operation.deadline));
    const change = this.generations.making(entry, { ...making, makeRoom });
    const published = await carryOut(this.catalogue, read, change);
    return published?.entry && new RedisFilter(published.entry);
  }

  /**
   * Finishes and records a clear whose instance died, so that a retry changes nothing. Returns undefined if another
   * call was faster.
   */
  private async finishClear(
    read: FoundEntry,
    now: number,
    deadline: number,
  ): Promise<RedisFilter | undefined> {
    const { entry } = read;
    if (!entry.operation)
      throw new Error(`the entry of ${entry.name} does not say which operation clears it`);
    const { verb, ...operation } = entry.operation;
    const next = this.generations.emptied(entry, verb, operation, now);
    return this.make(read, next, { operation: { ...operation, deadline }, verb });
  }

  /** Returns undefined if the entry has changed since it was read. */
  private async remove(read: EntryRead, change: CatalogueChange): Promise<true | undefined> {
    return (await carryOut(this.catalogue, read, change)) && true;
  }

  /**
   * Removes dead instances' unfinished filters. Returns false if there were none. If it can remove none of them, throws
   * the first error, because unfinished filters must not make a call exceed its quota.
   */
  private async freeStale(prefix: string, deadline: number): Promise<boolean> {
    const now = await this.catalogue.now(deadline);
    let freed = false;
    let failure: StoreError | undefined;
    for await (const read of this.catalogue.unfinished(prefix, deadline)) {
      const { entry } = read;
      // The entry may have been published or cleared since its name was read.
      if (entry?.state !== 'creating' && entry?.state !== 'dropping') continue;
      if (!isStale(entry.since, now)) continue;
      try {
        await this.remove(read, this.generations.removing(entry, now, deadline));
        // True even if another instance was faster, because the quota may have room now.
        freed = true;
      } catch (error) {
        // The filter still counts, because its master is unavailable or the call timed out.
        if (!(error instanceof StoreError)) throw error;
        failure ??= error;
      }
    }
    if (!freed && failure) throw failure;
    return freed;
  }
}

function recordedFilter({ entry }: CatalogueRecord): RedisFilter {
  if (!entry) throw new Error('the record of a life-cycle operation has no entry');
  return new RedisFilter(entry);
}

function existing(read: EntryRead, name: string, kind: FilterKind): CatalogueEntry {
  const { entry } = read;
  if (!entry || entry.kind !== kind) throw notFound({ name, kind });
  return entry;
}
