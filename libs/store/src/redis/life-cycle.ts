import { deadlineIn, msUntil } from '../clock.js';
import { StoreError } from '../errors.js';
import { busy, type Named, notFound, otherExists, taken } from '../refusals.js';
import type { RandomSource } from '../random-source.js';
import { isSameFilter } from '../same-filter.js';
import type { FilterKind, FilterSpec, Operation, Quota } from '../store.js';
import type { Allocation } from './allocation.js';
import {
  type Catalogue,
  endOfPatience,
  type EntryRead,
  type CatalogueRecord,
  underWay,
} from './catalogue.js';
import { Claim, STALE_MS } from './claim.js';
import { allLayers, allTags, type CatalogueEntry } from './entry.js';
import { RedisFilter } from './filter.js';
import { segmentTags } from './keys.js';
import { itemsPerScript } from './packing.js';

const GENERATION_BYTES = 8;

/**
 * Creation, clearing and removal of filters. Each first sets the catalogue entry to a state that names the work, so
 * that others wait and no old positions can be written. Then it does the work and publishes the result. If an operation
 * dies half way, the next one on that name finishes it.
 */
export class LifeCycle {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly random: RandomSource,
  ) {}

  async create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: RedisFilter; created: boolean }> {
    const recalled = (record: CatalogueRecord) => ({
      filter: recordedFilter(record),
      created: record.created ?? false,
    });
    return this.onEntry('create', spec, operation, recalled, async (read, now) => {
      const { entry } = read;
      if (!entry || entry.state === 'creating') {
        const claim = this.describe(spec, 'create', operation, now, entry);
        const filter = await this.build(read, claim, operation, 'create', quota);
        return filter && { filter, created: true };
      }
      if (!isSameFilter(entry, spec)) throw otherExists(entry);
      if (entry.state === 'clearing') {
        await this.build(read, this.emptied(entry, 'create', operation, now), operation);
        return undefined;
      }
      const value = { fingerprint: operation.fingerprint, entry, created: false };
      const record = { verb: 'create', operation, value };
      const set = await this.catalogue.set(read, entry, operation.deadline, { record });
      return set === undefined ? undefined : { filter: new RedisFilter(entry), created: false };
    });
  }

  /**
   * Makes a filter whose contents are written by `fill`. That may take long, so each step gets a deadline of its own,
   * `timeoutMs` from its start. If it throws, there is no filter.
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
      const next = this.describe(spec, 'import', operation, now, entry);
      const claim = await this.claim(read, next, operation.deadline, quota);
      return claim?.orGiveUp(async () => {
        await fill(claim);
        const filter = await claim.publish({ ...operation, deadline: deadlineIn(timeoutMs) }, 'import');
        if (!filter) throw underWay(next);
        return filter;
      });
    });
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<RedisFilter> {
    return this.onEntry('clear', { name, kind }, operation, recordedFilter, (read, now) => {
      const entry = existing(read, name, kind);
      if (entry.state === 'creating') throw notFound(entry);
      return this.build(read, this.emptied(entry, 'clear', operation, now), operation, 'clear');
    });
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    const recalled = () => true;
    await this.onEntry('drop', { name, kind }, operation, recalled, async (read, now) => {
      // An entry that was never finished is dropped, too, if its owner is dead: this frees what it had taken.
      const entry = existing(read, name, kind);
      const under = { since: now, operation: identity('drop', operation) };
      const dropping = { ...entry, state: 'dropping' as const, ...under, ...retire(entry) };
      return (await this.remove(read, dropping, operation)) || undefined;
    });
  }

  /**
   * Runs `step` on a filter's entry until it answers something; it answers undefined when the entry changed under it.
   * Waits for other work on the entry. Finishes that work if it is stale, or if it is an earlier try of this very
   * operation. `recalled` makes the answer from the record of an operation that has been executed.
   *
   * Each round looks for the record after it has read the entry. So if a twin of the same operation publishes
   * meanwhile, either the record is found or the entry has changed, and nothing is done twice.
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
      const now = await this.catalogue.now(operation.deadline);
      const { entry } = read;
      const idle = !entry || entry.state === 'ready';
      // In later rounds it would be a twin of this request, which has taken over.
      const ours = first && entry?.operation === identity(verb, operation);
      if (idle || ours || now - entry.since > STALE_MS) {
        // A stale removal is finished first. The new request comes after it.
        if (entry?.state === 'dropping' && !ours) {
          await this.remove(read, { ...entry, since: now }, undefined, operation.deadline);
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

  /** The entry of a new generation. */
  private describe(
    spec: FilterSpec,
    verb: string,
    operation: Operation,
    now: number,
    before: CatalogueEntry | undefined,
  ): CatalogueEntry {
    const generation = this.random.id(GENERATION_BYTES);
    const { name, kind, type, semantics, capacity, errorRate, geometry, layers } = spec;
    const { urlProfile, maxAttempts, maxAgeSeconds } = spec;
    return {
      ...{ name, kind, type, semantics, capacity, errorRate, geometry },
      ...(layers === undefined ? {} : { layers, made: 1 }),
      ...(urlProfile === undefined ? {} : { urlProfile }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
      seed: Buffer.from(spec.seed).toString('hex'),
      generation,
      createdAt: now,
      tags: segmentTags(generation, geometry.segments),
      itemsPerScript: itemsPerScript(layers ? layers.map((layer) => layer.geometry) : [geometry]),
      state: 'creating',
      since: now,
      operation: identity(verb, operation),
      ...(before ? retire(before) : { retired: [] }),
    };
  }

  /** The entry of a filter's next, empty generation. */
  private emptied(entry: CatalogueEntry, verb: string, operation: Operation, now: number): CatalogueEntry {
    const spec = { ...entry, seed: this.random.seed() };
    const { original } = entry;
    const emptied = this.describe(spec, verb, operation, now, entry);
    return { ...emptied, ...(original && { original }), state: 'clearing' };
  }

  /**
   * Claims, allocates, publishes, and records the operation as one of `verb` if given. Undefined if another was faster.
   */
  private async build(
    read: EntryRead,
    entry: CatalogueEntry,
    operation: Operation,
    verb?: string,
    quota?: Quota,
  ): Promise<RedisFilter | undefined> {
    const { deadline } = operation;
    const claim = await this.claim(read, entry, deadline, quota);
    return claim?.orGiveUp(async () => {
      for (const segment of entry.tags.keys()) await claim.allocate(segment, deadline);
      return claim.publish(operation, verb);
    });
  }

  /** See Claim.take. Before it refuses, it removes dead work that still counts under the quota's prefix. */
  private async claim(
    read: EntryRead,
    entry: CatalogueEntry,
    deadline: number,
    quota: Quota | undefined,
  ): Promise<Claim | undefined> {
    const take = () => Claim.take(this.catalogue, this.allocation, read, entry, deadline, quota);
    try {
      return await take();
    } catch (error) {
      const exceeded = error instanceof StoreError && error.code === 'QUOTA_EXCEEDED';
      if (!exceeded || !quota || !(await this.freeStale(quota.prefix, deadline))) throw error;
      return take();
    }
  }

  /**
   * Removes what dead instances were making or dropping. False if there was nothing. Throws if there was, and none of it
   * could be removed: a quota must not refuse because of it.
   */
  private async freeStale(prefix: string, deadline: number): Promise<boolean> {
    const now = await this.catalogue.now(deadline);
    let freed = false;
    let failure: StoreError | undefined;
    for await (const read of this.catalogue.unfinished(prefix, deadline)) {
      const { entry } = read;
      // The entry may have been published or cleared since its name was read.
      if (entry?.state !== 'creating' && entry?.state !== 'dropping') continue;
      if (now - entry.since <= STALE_MS) continue;
      const dropping = { ...entry, state: 'dropping' as const, since: now, ...retire(entry) };
      try {
        await this.remove(read, dropping, undefined, deadline);
        // Also true if another instance was faster: there may be room now.
        freed = true;
      } catch (error) {
        // Its master is away, or time is up. It still counts.
        if (!(error instanceof StoreError)) throw error;
        failure ??= error;
      }
    }
    if (!freed && failure) throw failure;
    return freed;
  }

  private async remove(
    read: EntryRead,
    dropping: CatalogueEntry,
    operation: Operation | undefined,
    deadline = operation?.deadline ?? 0,
  ): Promise<boolean> {
    const claimed = await this.catalogue.set(read, dropping, deadline);
    if (claimed === undefined) return false;
    await this.allocation.free(dropping.retired ?? [], dropping.retiredLayers ?? [], deadline);
    const record = operation && { verb: 'drop', operation, value: { fingerprint: operation.fingerprint } };
    return (
      (await this.catalogue.set({ raw: claimed, entry: dropping }, undefined, deadline, { record })) !==
      undefined
    );
  }
}

/** Distinguishes an operation that is under way from all others. */
function identity(verb: string, { id, fingerprint }: Operation): string {
  return `${verb}:${id}:${fingerprint}`;
}

/** What is to be deleted of an entry that is replaced or dropped. */
function retire(entry: CatalogueEntry): Pick<CatalogueEntry, 'retired' | 'retiredLayers'> {
  return { retired: allTags(entry), retiredLayers: allLayers(entry) };
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
