import type { Positions } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import {
  ABANDONED,
  called,
  full,
  keyReused,
  syncEnded,
  syncExists,
  syncUnsupported,
  syncWouldForget,
} from '../../refusals.js';
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
import type { ChunkCall, ItemCalls } from '../items/item-calls.js';
import type { Answer, Segments } from '../segments/segments.js';
import { countUnlisted, perChunk } from '../items/per-chunk.js';
import { planOf, type SyncChanges, syncing, type Syncing } from '../catalogue/sync-changes.js';
import { ignoreTime, stateOf, STEP_MS, type SyncEnds } from '../segments/sync-ends.js';
import { keepField, SyncQueue } from './sync-queue.js';
import { recallOpened } from '../catalogue/sync-records.js';
import { figuresOf, NOTHING, type Sums, type SyncSums } from '../segments/sync-sums.js';
import type { Views } from '../catalogue/views.js';

const ID_BYTES = 8;
/** How long the last counts of the second list are relied on for its room, in ms. */
const ITEMS_SEEN_FOR_MS = 1_000;
/** A call is noted at most so often by an instance, in ms, or ten times in the time after which a sync is given up. */
const NOTED_MS = 30_000;

/** Error codes of a sync that takes no more items. Repeats are still answered from its records. */
const OVER: readonly string[] = ['SYNC_ENDED', 'SYNC_NOT_FOUND'];

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

/** See the port for what each method promises. */
export class RedisSyncs implements Syncs {
  /** By id: when the last call was noted. */
  private readonly notedAt = new Map<string, number>();
  private readonly sums: SyncSums;
  private readonly ends: SyncEnds;
  private readonly queue: SyncQueue;

  constructor(private readonly parts: Parts) {
    const { connection, catalogue, views, ends, sums, random, timeoutMs } = parts;
    this.sums = sums;
    this.ends = ends;
    this.queue = new SyncQueue({
      ...{ connection, random, sums: this.sums },
      source: (filter) => new RedisSource(connection, catalogue, views, filter, timeoutMs),
      keep: (call, id) => this.keepChunk(call, id, false),
      admit: (filter, id, positions, operation) =>
        this.refuseOverfull(filter, id, positions, operation, true),
      giveUp: (filter, id) => this.ends.giveUp(filter.name, id, ABANDONED.full, deadlineIn(STEP_MS)),
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
      const { sync } = entry;
      const opened = await recallOpened(this.parts.catalogue, entry, operation);
      if (opened !== undefined) return this.get(filter, opened);
      const isOurs = sync?.operation.id === operation.id;
      if (isOurs && sync.operation.fingerprint !== operation.fingerprint) throw keyReused(operation);
      // Its opening has been recorded since this call has looked.
      if (isOurs && sync.stage !== 'opening') return this.get(filter, sync.id);
      if (entry.left || sync?.stage === 'abandoning') {
        await changes.goOn(filter.name, deadline);
        continue;
      }
      if (sync && !isOurs) {
        const now = await this.parts.catalogue.now(deadline);
        const isDead = sync.stage === 'opening' && isStale(sync.since, now);
        if (!isDead) throw syncExists(filter, { id: sync.id, state: stateOf(sync) });
        await this.ends.giveUp(filter.name, sync.id, ABANDONED.opening, deadline);
        continue;
      }
      const found = isOurs ? syncing(read) : await this.announce(read, plan, operation, quota);
      if (!found) continue;
      const { id } = found.entry.sync;
      try {
        // The filter may have grown meanwhile: then all of it is done again, which changes nothing more.
        if (!(await changes.open(found, operation)) && !(await this.hasOpened(entry, id, operation)))
          continue;
      } catch (error) {
        if (error instanceof StoreError && error.code === 'STORE_FULL') {
          await this.ends
            .giveUp(filter.name, id, ABANDONED.memory, deadlineIn(STEP_MS))
            .catch(() => undefined);
        }
        throw error;
      }
      return this.opened(filter, id, deadline);
    }
  }

  /** Whether it is recorded that an operation has opened a sync. The answer to that change may have been lost. */
  private async hasOpened(entry: CatalogueEntry, id: string, operation: Operation): Promise<boolean> {
    return (await recallOpened(this.parts.catalogue, entry, { ...operation, repeat: true })) === id;
  }

  /**
   * A sync that a call has opened, once the queue is kept. Another call may have ended it first. If that has made the handle
   * stale, the caller must not be told so: it would repeat the call on a new handle, and open another sync.
   */
  private async opened(filter: RedisFilter, id: string, deadline: number): Promise<Sync> {
    try {
      // From here on the handle knows the sync.
      await this.read(filter, deadline);
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
    const { entry } = await this.read(filter, deadline);
    const { sync } = entry;
    if (sync?.id !== id) return this.ends.of(entry, id, deadline);
    if (sync.stage === 'abandoning') {
      // Until all segments have dropped its list, items on it are found.
      await this.parts.changes.goOn(filter.name, deadline);
      return this.get(filter, id);
    }
    await this.noteCall(filter, id, deadline);
    const view = await this.viewOf(filter, sync, deadline);
    if (view) return view;
    await this.ends.giveUp(filter.name, id, ABANDONED.forgets, deadline);
    // It is over now, or is being committed.
    return this.get(filter, id);
  }

  async keep(handle: Filter, id: string, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    try {
      return await this.keepAll(filter, id, positions, operation);
    } catch (error) {
      const isOver = error instanceof StoreError && OVER.includes(error.code);
      const known = isOver ? await this.recall(filter, positions, operation) : undefined;
      if (!known) throw error;
      return known;
    }
  }

  private async keepAll(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
  ): Promise<Uint8Array> {
    const { deadline } = operation;
    if (!filter.known.takesPartIn(id)) await this.learn(filter, id, deadline);
    await this.parts.segments.begin(filter, operation, 'keep');
    await this.refuseOverfull(filter, id, positions, operation);
    await this.noteCall(filter, id, deadline);
    return perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const field = keepField(operation, chunk.number);
      return this.keepChunk({ filter, positions, chunk, operation, field }, id, true);
    });
  }

  async commit(handle: Filter, id: string, most: number, deadline: number): Promise<Sync> {
    const filter = RedisFilter.of(handle);
    const { changes } = this.parts;
    for (let copied = false; ;) {
      const read = await this.read(filter, deadline);
      const { entry } = read;
      if (entry.sync?.id !== id) return this.ends.of(entry, id, deadline, 'committed');
      const { sync } = entry;
      if (sync.stage === 'opening') throw opening(filter, id);
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
        await this.noteCall(filter, id, deadline);
        const sums = await this.sums.of(filter, sync, deadline);
        if (!sums || sums.full) {
          await this.giveUpUnlessChanged(read, id, sums, deadline);
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
    const { entry } = await this.read(filter, deadline);
    if (entry.sync?.id !== id) return this.ends.of(entry, id, deadline, 'abandoned');
    if (entry.sync.stage === 'committing') {
      throw syncEnded(filter, { id, state: 'committing' });
    }
    await this.ends.giveUp(filter.name, id, ABANDONED.caller, deadline);
    // It is over now, or a commit has begun first.
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
      // The empty name keeps the set from ever being empty.
      if (name === '') continue;
      try {
        await this.tendOne(name, now - Number(calledAt) > idleMs, deadline);
      } catch (error) {
        // A filter that has lost data must not keep the syncs behind it from being tended.
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
    else if (sync && isIdle) await this.ends.giveUp(name, sync.id, ABANDONED.idle, deadline);
    else if (entry?.left) await changes.goOn(name, deadline);
    else if (!sync) await connection.write('zrem', CATALOGUE.syncs, [name], deadline);
  }

  /** The sync of a filter that is open or committing, for its description. */
  async underWay(filter: RedisFilter): Promise<Sync | undefined> {
    if (!filter.sync) return undefined;
    const deadline = deadlineIn(this.parts.timeoutMs);
    const { sync } = (await this.read(filter, deadline)).entry;
    return sync && sync.stage !== 'abandoning' ? this.viewOf(filter, sync, deadline) : undefined;
  }

  /** Undefined if the entry has changed since it was read. */
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

  /** The entry of a filter as this handle has it. Throws as `Counters` do. */
  private async read(filter: RedisFilter, deadline: number): Promise<FoundEntry> {
    const read = await this.parts.catalogue.entryOf(filter, deadline);
    filter.known.learn(read.entry);
    return read;
  }

  /** The recorded answers of an operation; undefined unless all of its items were kept. */
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
    if (sync?.id !== id) throw syncEnded(filter, await this.ends.of(entry, id, deadline));
    if (sync.stage === 'opening') throw opening(filter, id);
    if (sync.stage === 'abandoning') {
      await this.parts.changes.goOn(filter.name, deadline);
      return this.learn(filter, id, deadline);
    }
    if (sync.stage !== 'open') throw syncEnded(filter, { id, state: stateOf(sync) });
    filter.known.takePart();
  }

  private async keepChunk(call: ChunkCall, id: string, counted: boolean): Promise<Answer> {
    for (;;) {
      const answer = await this.parts.itemCalls.keep(call, id, counted);
      if (answer) return answer;
      await this.rejoin(call.filter, id, call.operation.deadline);
    }
  }

  /**
   * Has the filter know that its segments take part in a sync, after one of them was not known to, or has answered that it
   * can note no more removals. Gives the sync up only if the segments themselves say that it cannot go on. Throws SYNC_ENDED
   * if it is over.
   */
  private async rejoin(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    const read = await this.read(filter, deadline);
    const { sync } = read.entry;
    if (sync?.id === id && sync.stage === 'open') {
      const sums = await this.sums.of(filter, sync, deadline);
      if (!sums || sums.full) await this.giveUpUnlessChanged(read, id, sums, deadline);
    }
    await this.learn(filter, id, deadline);
  }

  /**
   * Gives a sync up because its segments can note no more removals, or (without `sums`) because one of them has lost it. The
   * latter is certain only if the catalogue entry is still as it was `read` before the segments were asked.
   */
  private async giveUpUnlessChanged(
    { raw, entry: { name } }: FoundEntry,
    id: string,
    sums: Sums | undefined,
    deadline: number,
  ): Promise<void> {
    const reason = sums ? ABANDONED.forgets : ABANDONED.lost;
    if (!sums && (await this.parts.catalogue.read(name, deadline)).raw !== raw) return;
    await this.ends.giveUp(name, id, reason, deadline);
  }

  /**
   * Throws FILTER_FULL if the second list has too little room, unless an earlier try has kept all of the batch. `queued`:
   * the items are from the queue; expired ones are not kept and need no room.
   */
  private async refuseOverfull(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
    queued = false,
  ): Promise<void> {
    const { deadline } = operation;
    const { sync } = filter;
    // The segments find out what has become of it.
    if (sync?.id !== id) return;
    const { list } = sync;
    if (!list.isCountedSince(this.parts.connection.now() - ITEMS_SEEN_FOR_MS)) {
      await this.sums.of(filter, sync, deadline);
      list.counted(this.parts.connection.now());
    }
    if (positions.count <= list.room) return;
    // What was kept before needs no room.
    const absent = await countUnlisted(this.parts.itemCalls, filter, positions, deadline, queued);
    // The count may have found that the sync is over.
    if (filter.sync !== sync) return;
    if (absent <= list.room || (await this.recall(filter, positions, operation))) return;
    const { name, kind } = filter;
    throw full({ ...list.plan[0], name, kind, ...(list.grows && { layers: list.plan }) }, list.items, absent);
  }

  /** Undefined if it can go on no longer, since more was removed than can be noted. */
  private async viewOf(filter: RedisFilter, sync: EntrySync, deadline: number): Promise<Sync | undefined> {
    if (sync.ended) return { ...sync.ended, state: stateOf(sync) };
    if (sync.stage === 'open') filter.known.takePart();
    const sums = await this.sums.of(filter, sync, deadline);
    if (sums?.full) return undefined;
    const bytes = filter.sync?.list.bytes ?? 0;
    return { ...figuresOf(sync, sums ?? NOTHING), state: 'open', bytes };
  }

  private async noteCall({ name }: RedisFilter, id: string, deadline: number): Promise<void> {
    const now = this.parts.connection.clock.monotonic();
    const every = Math.min(this.parts.idleMs / 10, NOTED_MS);
    if (now - (this.notedAt.get(id) ?? -Infinity) < every) return;
    if (this.notedAt.size > 1_000) this.notedAt.clear();
    this.notedAt.set(id, now);
    await this.parts.changes.note(name, await this.parts.catalogue.now(deadline), deadline);
  }
}

function opening(filter: RedisFilter, id: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `sync ${id} of ${called(filter)} is still being opened`);
}
