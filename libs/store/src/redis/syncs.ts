import { randomBytes } from 'node:crypto';
import type { Positions } from '#bloom';
import { StoreError } from '../errors.js';
import {
  ABANDONED,
  full,
  keyReused,
  syncEnded,
  syncExists,
  syncUnsupported,
  syncWouldForget,
} from '../refusals.js';
import type { Filter, Operation, Quota } from '../store.js';
import { forgottenBy, type Sync, type SyncPlan, type Syncs } from '../syncs.js';
import type { Catalogue, EntryRead } from './catalogue.js';
import { STALE_MS } from './claim.js';
import type { Connection } from './connection.js';
import { perChunk } from './counters.js';
import { type CatalogueEntry, type EntrySync, plannedIn } from './entry.js';
import { RedisSource } from './export-source.js';
import { RedisFilter } from './filter.js';
import { CATALOGUE } from './keys.js';
import type { LayeredCalls } from './layered-calls.js';
import type { Segments } from './segments.js';
import { planOf, type SyncChanges, syncing, type Syncing } from './sync-changes.js';
import { endedOf, ignoreTime, stateOf, STEP_MS, SyncEnds } from './sync-ends.js';
import { keepField, SyncQueue } from './sync-queue.js';
import { figuresOf, NOTHING, SyncSums } from './sync-sums.js';
import type { Views } from './views.js';

const ID_BYTES = 8;
/** How long the last counts of the second list are relied on for its room, in ms. */
const ITEMS_SEEN_FOR_MS = 1_000;
/** A call is noted at most so often by an instance, in ms, or ten times in the time after which a sync is given up. */
const NOTED_MS = 30_000;

interface Parts {
  readonly connection: Connection;
  readonly catalogue: Catalogue;
  readonly views: Views;
  readonly changes: SyncChanges;
  readonly segments: Segments;
  readonly layered: LayeredCalls;
  readonly timeoutMs: number;
  readonly idleMs: number;
}

/** See the port for what each method promises. */
export class RedisSyncs implements Syncs {
  /** By id: when the last call was noted. */
  private readonly notedAt = new Map<string, number>();
  private readonly sums: SyncSums;
  private readonly ends: SyncEnds;
  private readonly queue: SyncQueue;

  constructor(private readonly parts: Parts) {
    const { connection, catalogue, views, changes, layered, timeoutMs } = parts;
    views.goOn = (filter, deadline) => changes.goOn(filter.name, deadline);
    this.sums = new SyncSums(connection);
    this.ends = new SyncEnds(catalogue, changes, this.sums);
    this.queue = new SyncQueue({
      ...{ connection, sums: this.sums },
      source: (filter) => new RedisSource(connection, catalogue, views, filter, timeoutMs),
      keep: async (call, id) =>
        (await layered.keep(call, id, false)) ?? this.refuse(call.filter, id, call.operation.deadline),
    });
  }

  async open(handle: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    if (filter.semantics === 'multiset') throw syncUnsupported(filter);
    const { changes } = this.parts;
    const { deadline } = operation;
    for (;;) {
      const read = await this.read(filter, deadline);
      const { entry } = read;
      const { sync, endedSync } = entry;
      const last = sync ?? endedSync;
      const isOurs = last?.operation.id === operation.id;
      if (isOurs && last.operation.fingerprint !== operation.fingerprint) throw keyReused(operation);
      if (isOurs && sync?.stage !== 'opening') return this.get(filter, last.id);
      if (entry.left) {
        await changes.goOn(filter.name, deadline);
        continue;
      }
      if (sync && !isOurs) {
        const now = await this.parts.catalogue.now(deadline);
        const isDead = sync.stage === 'opening' && now - sync.since > STALE_MS;
        if (!isDead) throw syncExists(filter.name, { id: sync.id, state: stateOf(sync) });
        await this.ends.giveUp(filter.name, sync.id, ABANDONED.lost, deadline);
        continue;
      }
      const found = isOurs ? syncing(read) : await this.announce(read, plan, operation, quota);
      if (!found) continue;
      const { id } = found.entry.sync;
      try {
        // The filter may have grown meanwhile: then all of it is done again, which changes nothing more.
        if (!(await changes.open(found, deadline))) continue;
      } catch (error) {
        if (error instanceof StoreError && error.code === 'STORE_FULL') {
          await this.ends
            .giveUp(filter.name, id, ABANDONED.memory, Date.now() + STEP_MS)
            .catch(() => undefined);
        }
        throw error;
      }
      // From here on the handle knows it.
      await this.read(filter, deadline);
      await this.queue.kept(filter, id, deadline).catch(ignoreTime);
      return this.get(filter, id);
    }
  }

  async get(handle: Filter, id: string): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const deadline = Date.now() + this.parts.timeoutMs;
    const { entry } = await this.read(filter, deadline);
    const { sync } = entry;
    if (sync?.id !== id) return endedOf(entry, id);
    await this.noteCall(filter, id, deadline);
    const view = await this.viewOf(filter, sync, deadline);
    if (view) return view;
    await this.ends.giveUp(filter.name, id, ABANDONED.forgets, deadline);
    return endedOf((await this.read(filter, deadline)).entry, id);
  }

  async keep(handle: Filter, id: string, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    const { deadline } = operation;
    if (filter.sync?.id !== id) {
      const known = await this.recall(filter, positions, operation);
      if (known) return known;
      await this.learn(filter, id, deadline);
    }
    await this.parts.segments.begin(filter, operation, 'keep');
    await this.refuseOverfull(filter, id, positions, operation);
    await this.noteCall(filter, id, deadline);
    return perChunk(filter, positions, filter.itemsPerScript, async (chunk) => {
      const call = { filter, positions, chunk, operation, field: keepField(operation, chunk.number) };
      return (await this.parts.layered.keep(call, id, true)) ?? this.refuse(filter, id, deadline);
    });
  }

  async commit(handle: Filter, id: string, most: number, deadline: number): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const { changes } = this.parts;
    for (let copied = false; ;) {
      const read = await this.read(filter, deadline);
      const { entry } = read;
      if (entry.sync?.id !== id) return endedOf(entry, id, 'committed');
      const { sync } = entry;
      if (sync.stage === 'opening') throw opening(filter, id);
      if (sync.stage === 'abandoning') throw syncEnded(filter.name, sync.ended ?? { id, state: 'abandoned' });
      if (sync.stage === 'open') {
        if (!copied) {
          await this.queue.kept(filter, id, deadline);
          copied = true;
          continue;
        }
        await this.noteCall(filter, id, deadline);
        const sums = await this.sums.of(filter, id, deadline);
        if (!sums || sums.full) {
          await this.ends.giveUp(filter.name, id, sums ? ABANDONED.forgets : ABANDONED.lost, deadline);
          continue;
        }
        const view = { ...figuresOf(sync, sums), state: 'committed' as const, bytes: 0 };
        const share = view.items === 0 ? 0 : forgottenBy(view) / view.items;
        if (share > most) throw syncWouldForget(filter.name, view, most);
        if (!(await changes.end({ raw: read.raw, entry: { ...entry, sync } }, 'committing', view, deadline)))
          continue;
      }
      return this.ends.committed(filter, id, deadline);
    }
  }

  async abandon(handle: Filter, id: string, deadline: number): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const { entry } = await this.read(filter, deadline);
    if (entry.sync?.id !== id) return endedOf(entry, id, 'abandoned');
    if (entry.sync.stage === 'committing') {
      throw syncEnded(filter.name, { id, state: 'committing' });
    }
    await this.ends.giveUp(filter.name, id, ABANDONED.caller, deadline);
    return endedOf((await this.read(filter, deadline)).entry, id, 'abandoned');
  }

  async tend(): Promise<void> {
    const { connection, catalogue, changes, idleMs } = this.parts;
    const deadline = Date.now() + STEP_MS;
    const { client } = connection;
    const noted = await connection.repeat(
      () => client.zrange(CATALOGUE.syncs, '0', '-1', 'WITHSCORES'),
      deadline,
    );
    const now = await catalogue.now(deadline);
    for (let at = 0; at < noted.length; at += 2) {
      const [name = '', calledAt = '0'] = noted.slice(at, at + 2);
      // The empty name keeps the set from ever being empty.
      if (name === '') continue;
      const { entry } = await catalogue.read(name, deadline);
      const { sync } = entry ?? {};
      if (sync && (sync.stage === 'committing' || sync.stage === 'abandoning'))
        await changes.goOn(name, deadline);
      else if (sync && now - Number(calledAt) > idleMs)
        await this.ends.giveUp(name, sync.id, ABANDONED.idle, deadline);
      else if (entry?.left) await changes.goOn(name, deadline);
      else if (!sync) await connection.write('zrem', CATALOGUE.syncs, [name], deadline);
    }
  }

  /** The sync of a filter that is under way, for its description. */
  async underWay(filter: RedisFilter): Promise<Sync | undefined> {
    if (!filter.sync) return undefined;
    const deadline = Date.now() + this.parts.timeoutMs;
    const { entry } = await this.read(filter, deadline);
    return entry.sync && this.viewOf(filter, entry.sync, deadline);
  }

  /** Has the filter know how many items its segments hold, those of its sync's list, too. */
  async countItems(filter: RedisFilter, own: () => Promise<void>): Promise<void> {
    await own();
    if (filter.sync) await this.sums.of(filter, filter.sync.id, Date.now() + this.parts.timeoutMs);
  }

  /** Gives up the sync of a filter whose list has no room for what is added. */
  async abandonFull(filter: RedisFilter, deadline: number): Promise<void> {
    if (filter.sync) await this.ends.giveUp(filter.name, filter.sync.id, ABANDONED.full, deadline);
  }

  /** Undefined if the entry has changed since it was read. */
  private async announce(
    read: EntryRead & { readonly entry: CatalogueEntry },
    plan: SyncPlan,
    { id, fingerprint, deadline }: Operation,
    quota: Quota | undefined,
  ): Promise<Syncing | undefined> {
    const { entry } = read;
    const now = await this.parts.catalogue.now(deadline);
    const base = entry.nextLayer ?? plannedIn(entry);
    const sync: EntrySync = {
      id: randomBytes(ID_BYTES).toString('hex'),
      stage: 'opening',
      plan: planOf(plan),
      base,
      openedAt: now,
      since: now,
      operation: { id, fingerprint },
    };
    return this.parts.changes.announce(read, sync, plannedIn(plan), deadline, quota);
  }

  /** The entry of a filter as this handle has it. Throws as `Counters` do. */
  private async read(
    filter: RedisFilter,
    deadline: number,
  ): Promise<EntryRead & { readonly entry: CatalogueEntry }> {
    const { raw, entry } = await this.parts.catalogue.read(filter.name, deadline);
    const isCurrent = entry?.generation === filter.generation && (entry.base ?? 0) === filter.base;
    if (!isCurrent || entry.state !== 'ready') throw await this.parts.catalogue.explainLoss(filter);
    filter.learn(entry.sync);
    return { raw, entry };
  }

  /** What an operation answered whose sync is over; undefined if not all of its items were kept then. */
  private async recall(
    filter: RedisFilter,
    positions: Positions,
    operation: Operation,
  ): Promise<Uint8Array | undefined> {
    if (!operation.repeat) return undefined;
    const missing: number[] = [];
    const answers = await perChunk(
      filter,
      positions,
      filter.itemsPerScript,
      async ({ segment, number, indexes }) => {
        const field = keepField(operation, number);
        const known = await this.parts.segments.recall({ filter, segment, operation, field });
        if (!known) missing.push(number);
        return known ?? { answers: '0'.repeat(indexes.length), items: 0, sweep: false };
      },
    );
    return missing.length === 0 ? answers : undefined;
  }

  /** Has the filter know that it has this sync, in all segments. Throws SYNC_NOT_FOUND or SYNC_ENDED. */
  private async learn(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    const { entry } = await this.read(filter, deadline);
    const { sync } = entry;
    if (sync?.id !== id) throw syncEnded(filter.name, endedOf(entry, id));
    if (sync.stage === 'opening') throw opening(filter, id);
    if (sync.stage !== 'open') throw syncEnded(filter.name, { id, state: stateOf(sync) });
    filter.takePart();
  }

  /** The error for a segment that takes no part in a sync that is open, or can note no more. The sync is over then. */
  private async refuse(filter: RedisFilter, id: string, deadline: number): Promise<never> {
    const { entry } = await this.read(filter, deadline);
    const { sync } = entry;
    if (sync?.id === id && sync.stage === 'open') {
      const sums = await this.sums.of(filter, id, deadline);
      await this.ends.giveUp(filter.name, id, sums ? ABANDONED.forgets : ABANDONED.lost, deadline);
    }
    const now = (await this.read(filter, deadline)).entry;
    if (now.sync?.id === id) throw syncEnded(filter.name, { id, state: stateOf(now.sync) });
    throw syncEnded(filter.name, endedOf(now, id));
  }

  /** Throws FILTER_FULL if the second list has not so much room, unless an earlier try has begun to keep the batch. */
  private async refuseOverfull(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
  ): Promise<void> {
    const { deadline } = operation;
    const list = filter.sync?.list;
    if (!list) return this.refuse(filter, id, deadline);
    if (Date.now() - list.itemsSeenAt > ITEMS_SEEN_FOR_MS) {
      await this.sums.of(filter, id, deadline);
      list.itemsSeenAt = Date.now();
    }
    if (positions.count <= list.room) return;
    // What was kept before needs no room.
    const absent = await this.absent(filter, positions, deadline);
    if (absent <= list.room || (await this.recall(filter, positions, operation))) return;
    throw full(
      { ...list.plan[0], name: filter.name, ...(list.grows && { layers: list.plan }) },
      list.items,
      absent,
    );
  }

  /** How many distinct items of a batch the second list does not claim. */
  private async absent(filter: RedisFilter, positions: Positions, deadline: number): Promise<number> {
    const listed = await perChunk(filter, positions, filter.itemsPerScript, (chunk) =>
      this.parts.layered.listed(filter, positions, chunk, deadline),
    );
    const absent = new Set<string>();
    listed.forEach((answer, i) => {
      if (answer === 0) absent.add(positions.hash.subarray(i * 4, i * 4 + 4).join());
    });
    return absent.size;
  }

  /** Undefined if it can go on no longer, since more was removed than can be noted. */
  private async viewOf(filter: RedisFilter, sync: EntrySync, deadline: number): Promise<Sync | undefined> {
    if (sync.ended) return { ...sync.ended, state: stateOf(sync) };
    if (sync.stage === 'open') filter.takePart();
    const sums = await this.sums.of(filter, sync.id, deadline);
    if (sums?.full) return undefined;
    const bytes = filter.sync?.list.bytes ?? 0;
    return { ...figuresOf(sync, sums ?? NOTHING), state: 'open', bytes };
  }

  private async noteCall({ name }: RedisFilter, id: string, deadline: number): Promise<void> {
    const now = performance.now();
    const every = Math.min(this.parts.idleMs / 10, NOTED_MS);
    if (now - (this.notedAt.get(id) ?? -Infinity) < every) return;
    if (this.notedAt.size > 1_000) this.notedAt.clear();
    this.notedAt.set(id, now);
    await this.parts.changes.note(name, await this.parts.catalogue.now(deadline), deadline);
  }
}

function opening({ name }: RedisFilter, id: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `sync ${id} of filter ${name} is still being opened`);
}
