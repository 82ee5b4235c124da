import type { Positions } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import { ABANDONED, assertHosts, keyReused, syncEnded, syncExists, syncWouldForget } from '../../refusals.js';
import { assertSyncable } from '../../planned-layers.js';
import type { RandomSource } from '../../random-source.js';
import {
  type Filter,
  type Operation,
  type Quota,
  forgottenBy,
  type Sync,
  type SyncPlan,
  type Syncs,
} from '../../port/index.js';
import type { Catalogue, FoundEntry } from '../catalogue/catalogue.js';
import { isStale } from '../catalogue/catalogue-change.js';
import type { Connection } from '../connection/connection.js';
import { type CatalogueEntry, type EntrySync, plannedIn } from '../layout/entry.js';
import { RedisSource } from '../transfer/export-source.js';
import { RedisFilter } from '../layout/filter.js';
import { CATALOGUE } from '../layout/keys.js';
import type { ItemCalls } from '../items/item-calls.js';
import type { Segments } from '../segments/segments.js';
import { planOf, type SyncChanges, syncing, type Syncing } from '../catalogue/sync-changes.js';
import { DROP_UNKEPT } from '../scripts/hosts.js';
import { ignoreTime, stateOf, STEP_MS, type SyncEnds } from '../segments/sync-ends.js';
import { Keeping, stillOpening } from './keeping.js';
import { NotedCalls } from './noted-calls.js';
import { SyncQueue } from './sync-queue.js';
import { recallOpened } from '../catalogue/sync-records.js';
import { figuresOf, NOTHING, type SyncSums } from '../segments/sync-sums.js';
import type { Views } from '../catalogue/views.js';

const ID_BYTES = 8;
interface Parts {
  readonly connection: Connection;
  readonly catalogue: Catalogue;
  readonly views: Views;
  readonly changes: SyncChanges;
  readonly sums: SyncSums;
  readonly ends: SyncEnds;
  readonly segments: Segments;
  readonly itemCalls: ItemCalls;
  readonly random: RandomSource;
  readonly timeoutMs: number;
  readonly idleMs: number;
}

/** See the port for each method's guarantees. */
export class RedisSyncs implements Syncs {
  private readonly sums: SyncSums;
  private readonly ends: SyncEnds;
  private readonly calls: NotedCalls;
  private readonly keeping: Keeping;
  private readonly queue: SyncQueue;

  constructor(private readonly parts: Parts) {
    const { connection, catalogue, views, changes, ends, sums, random, timeoutMs, idleMs } = parts;
    this.sums = sums;
    this.ends = ends;
    this.calls = new NotedCalls(connection, catalogue, changes, idleMs);
    this.keeping = new Keeping({ ...parts, calls: this.calls });
    this.queue = new SyncQueue({
      ...{ connection, random, sums: this.sums },
      source: (filter) => new RedisSource(connection, catalogue, views, filter, timeoutMs),
      keep: (call, id) => this.keeping.keepChunk(call, id, false),
      admit: (filter, id, positions, operation) =>
        this.keeping.refuseOverfull(filter, id, positions, operation, true),
      abandon: (filter, id) => this.ends.abandon(filter.name, id, ABANDONED.full, deadlineIn(STEP_MS)),
    });
  }

  async open(handle: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    assertSyncable(filter, plan);
    const { changes } = this.parts;
    const { deadline } = operation;
    for (;;) {
      const read = await this.parts.catalogue.learn(filter, deadline);
      const { entry } = read;
      const { sync } = entry;
      const opened = await recallOpened(this.parts.catalogue, entry, operation);
      if (opened !== undefined) return this.get(filter, opened);
      const isOurs = sync?.operation.id === operation.id;
      if (isOurs && sync.operation.fingerprint !== operation.fingerprint) throw keyReused(operation);
      // Another attempt recorded the opening after this call had looked for its record.
      if (isOurs && sync.stage !== 'opening') return this.get(filter, sync.id);
      if (entry.left || sync?.stage === 'abandoning') {
        await changes.goOn(filter.name, deadline);
        continue;
      }
      if (sync && !isOurs) {
        const now = await this.parts.catalogue.now(deadline);
        const isDead = sync.stage === 'opening' && isStale(sync.since, now);
        if (!isDead) throw syncExists(filter, { id: sync.id, state: stateOf(sync) });
        await this.ends.abandon(filter.name, sync.id, ABANDONED.opening, deadline);
        continue;
      }
      const found = isOurs ? syncing(read) : await this.announce(read, plan, operation, quota);
      if (!found) continue;
      const { id } = found.entry.sync;
      try {
        // If the filter has grown in the meantime, this repeats all steps, which is harmless.
        if (!(await changes.open(found, operation)) && !(await this.hasOpened(entry, id, operation)))
          continue;
      } catch (error) {
        if (error instanceof StoreError && error.code === 'STORE_FULL') {
          await this.ends
            .abandon(filter.name, id, ABANDONED.memory, deadlineIn(STEP_MS))
            .catch(() => undefined);
        }
        throw error;
      }
      return this.opened(filter, id, deadline);
    }
  }

  /** True if a record shows that an operation has opened the sync. The reply to that change may have been lost. */
  private async hasOpened(entry: CatalogueEntry, id: string, operation: Operation): Promise<boolean> {
    return (await recallOpened(this.parts.catalogue, entry, { ...operation, repeat: true })) === id;
  }

  /**
   * The sync that a call has opened, once the queue's entries are kept. Another call may have ended it first, which
   * makes the handle stale. The caller must not get StaleFilterError in that case: it would repeat the call with a new
   * handle, and open another sync.
   */
  private async opened(filter: RedisFilter, id: string, deadline: number): Promise<Sync> {
    try {
      // Makes the handle know the sync.
      await this.parts.catalogue.learn(filter, deadline);
      await this.queue.kept(filter, id, deadline).catch(ignoreTime);
      return await this.get(filter, id);
    } catch (error) {
      const isEnded = error instanceof StoreError && error.code === 'SYNC_ENDED';
      if (!isEnded && !(error instanceof StaleFilterError)) throw error;
      const { entry } = await this.parts.catalogue.read(filter.name, deadline);
      if (entry?.generation !== filter.generation || entry.state !== 'ready') throw error;
      return this.get(new RedisFilter(entry), id);
    }
  }

  async get(handle: Filter, id: string): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const deadline = deadlineIn(this.parts.timeoutMs);
    const { entry } = await this.parts.catalogue.learn(filter, deadline);
    const { sync } = entry;
    if (sync?.id !== id) return this.ends.of(entry, id, deadline);
    if (sync.stage === 'abandoning') {
      // Calls still find items in the sync's layers until all segments have dropped them.
      await this.parts.changes.goOn(filter.name, deadline);
      return this.get(filter, id);
    }
    await this.calls.note(filter, id, deadline);
    const view = await this.viewOf(filter, sync, deadline);
    if (view) return view;
    await this.ends.abandon(filter.name, id, ABANDONED.forgets, deadline);
    // By now the sync has ended, or is committing.
    return this.get(filter, id);
  }

  async keep(
    handle: Filter,
    id: string,
    positions: Positions,
    operation: Operation,
    hosts?: readonly string[],
  ): Promise<Uint8Array> {
    assertHosts(handle, hosts, positions.count);
    return this.keeping.keep(RedisFilter.of(handle), id, positions, operation, hosts);
  }

  /**
   * Keeps a host's entries in the filter's open sync, so that they can be dropped. Returns the argument for
   * dropHostScript.
   */
  async keepHost(filter: RedisFilter, host: string, deadline: number): Promise<string> {
    const { sync } = (await this.parts.catalogue.learn(filter, deadline)).entry;
    if (sync?.stage === 'open') return (await this.queue.keptHost(filter, sync.id, host, deadline)) ?? '';
    if (sync?.stage === 'abandoning') await this.parts.changes.goOn(filter.name, deadline);
    // A drop during the opening of a sync counts as a drop before it.
    return sync?.stage === 'opening' ? DROP_UNKEPT : '';
  }

  async commit(handle: Filter, id: string, most: number, deadline: number): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const { changes } = this.parts;
    for (let copied = false; ;) {
      const read = await this.parts.catalogue.learn(filter, deadline);
      const { entry } = read;
      if (entry.sync?.id !== id) return this.ends.of(entry, id, deadline, 'committed');
      const { sync } = entry;
      if (sync.stage === 'opening') throw stillOpening(filter, id);
      if (sync.stage === 'abandoning') {
        await changes.goOn(filter.name, deadline);
        continue;
      }
      if (sync.stage === 'open') {
        if (!copied) {
          await this.queue.kept(filter, id, deadline);
          copied = true;
          continue;
        }
        await this.calls.note(filter, id, deadline);
        const sums = await this.sums.of(filter, sync, deadline);
        if (!sums || sums.full) {
          await this.ends.abandonUnlessChanged(read, id, sums, deadline);
          continue;
        }
        if (filter.queued && sums.uncopied.length > 0) {
          copied = false;
          continue;
        }
        const view = { ...figuresOf(sync, sums), state: 'committed' as const, bytes: 0 };
        const share = view.items === 0 ? 0 : forgottenBy(view) / view.items;
        if (share > most) throw syncWouldForget(filter, view, most);
        if (!(await changes.end({ raw: read.raw, entry: { ...entry, sync } }, 'committing', view, deadline)))
          continue;
      }
      return this.ends.committed(filter, id, deadline);
    }
  }

  async abandon(handle: Filter, id: string, deadline: number): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const { entry } = await this.parts.catalogue.learn(filter, deadline);
    if (entry.sync?.id !== id) return this.ends.of(entry, id, deadline, 'abandoned');
    if (entry.sync.stage === 'committing') {
      throw syncEnded(filter, { id, state: 'committing' });
    }
    await this.ends.abandon(filter.name, id, ABANDONED.caller, deadline);
    // By now the sync has ended, or its commit has begun.
    return this.abandon(filter, id, deadline);
  }

  async tend(): Promise<void> {
    const { connection, catalogue, idleMs } = this.parts;
    const deadline = deadlineIn(STEP_MS);
    const { client } = connection;
    const noted = await connection.repeat(
      () => client.zrange(CATALOGUE.syncs, '0', '-1', 'WITHSCORES'),
      deadline,
    );
    const now = await catalogue.now(deadline);
    let failure: StoreError | undefined;
    for (let at = 0; at < noted.length; at += 2) {
      const [name = '', calledAt = '0'] = noted.slice(at, at + 2);
      // The empty name keeps the set from being empty.
      if (name === '') continue;
      try {
        await this.tendOne(name, now - Number(calledAt) > idleMs, deadline);
      } catch (error) {
        // A filter that has lost data must not keep this call from the syncs after it.
        if (!(error instanceof StoreError) || error.code === 'STORE_UNAVAILABLE') throw error;
        failure ??= error;
      }
    }
    if (failure) throw failure;
  }

  private async tendOne(name: string, isIdle: boolean, deadline: number): Promise<void> {
    const { connection, catalogue, changes } = this.parts;
    const { entry } = await catalogue.read(name, deadline);
    const { sync } = entry ?? {};
    if (sync && (sync.stage === 'committing' || sync.stage === 'abandoning'))
      await changes.goOn(name, deadline);
    else if (sync && isIdle) await this.ends.abandon(name, sync.id, ABANDONED.idle, deadline);
    else if (
      sync?.stage === 'open' &&
      entry &&
      (await this.sums.exceed(new RedisFilter(entry), sync, deadline))
    )
      await this.ends.abandon(name, sync.id, ABANDONED.forgets, deadline);
    else if (entry?.left) await changes.goOn(name, deadline);
    else if (!sync) await connection.write('zrem', CATALOGUE.syncs, [name], deadline);
  }

  /** The filter's open or committing sync, for its description. */
  async underWay(filter: RedisFilter): Promise<Sync | undefined> {
    if (!filter.sync) return undefined;
    const deadline = deadlineIn(this.parts.timeoutMs);
    const { sync } = (await this.parts.catalogue.learn(filter, deadline)).entry;
    return sync && sync.stage !== 'abandoning' ? this.viewOf(filter, sync, deadline) : undefined;
  }

  /** Returns undefined if the entry has changed since it was read. */
  private async announce(
    read: FoundEntry,
    plan: SyncPlan,
    { id, fingerprint, deadline }: Operation,
    quota: Quota | undefined,
  ): Promise<Syncing | undefined> {
    const { entry } = read;
    const now = await this.parts.catalogue.now(deadline);
    const base = entry.nextLayer ?? plannedIn(entry);
    const sync: EntrySync = {
      id: this.parts.random.id(ID_BYTES),
      stage: 'opening',
      plan: planOf(plan),
      base,
      openedAt: now,
      since: now,
      operation: { id, fingerprint },
    };
    return this.parts.changes.announce(read, sync, plannedIn(plan), deadline, quota);
  }

  /** Returns undefined if the sync can't continue, because more items were removed than it can note. */
  private async viewOf(filter: RedisFilter, sync: EntrySync, deadline: number): Promise<Sync | undefined> {
    if (sync.ended) return { ...sync.ended, state: stateOf(sync) };
    if (sync.stage === 'open') filter.known.takePart();
    const sums = await this.sums.of(filter, sync, deadline);
    if (sums?.full) return undefined;
    const bytes = filter.sync?.stack.bytes ?? 0;
    return { ...figuresOf(sync, sums ?? NOTHING), state: 'open', bytes };
  }
}
