import { filterBytes, type Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertSyncable } from '../../planned-layers.js';
import { assertWithin } from '../../quota.js';
import {
  ABANDONED,
  assertHosts,
  called,
  syncEnded,
  syncExists,
  syncNotFound,
  syncWouldForget,
} from '../../refusals.js';
import {
  type Filter,
  type Operation,
  type Quota,
  Kept,
  type Sync,
  type SyncPlan,
  type Syncs,
} from '../../port/index.js';
import { assertAvailable, reserveCells } from '../layers/cell-memory.js';
import { byDeadline } from '../engine/deadline.js';
import type { Engine } from '../engine/engine.js';
import { FilterState, isSyncing, SyncState, type Syncing } from '../filters/filter-state.js';
import { describeAnew } from '../catalogue/generation.js';
import { JournalOperation } from '../journal/journal.js';
import { recall } from '../operations/operation-records.js';
import { partsByHost, type Part } from '../operations/parts.js';
import { usageOf } from '../catalogue/room.js';
import type { Session } from '../engine/session.js';
import { KEEP, OPEN_SYNC } from '../operations/verbs.js';
import { abandonSync, commitSync, endIdentity, shareForgotten, viewOf } from './end-sync.js';
import { assertRoomToKeep, keepIn } from './keep.js';
import type { QueueCopies } from './queue-copies.js';

const ID_BYTES = 8;

/** See the port for each method's guarantees. A commit is one transaction, so no caller ever sees a sync committing. */
export class EmbeddedSyncs implements Syncs {
  constructor(
    private readonly engine: Engine,
    private readonly copies: QueueCopies,
    private readonly idleMs: number,
  ) {}

  async open(filter: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync> {
    assertSyncable(filter, plan);
    const { deadline } = operation;
    const bytes = filterBytes(plan.geometry);
    const known = await this.engine.read((memory, now, database) => {
      const scope = memory.current(filter);
      const opened = recall(database, { scope, verb: OPEN_SYNC, operation }, now);
      if (!opened) assertOpenable(scope, bytes, memory, quota);
      return opened;
    }, deadline);
    if (known) return this.get(filter, known.answer);
    // Otherwise, the new sync could list the items of entries that the last commit has voided.
    await this.engine.unkeptRemoved(filter, deadline);
    assertAvailable(bytes);
    const cells = await reserveCells(plan.geometry);
    const id = await this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: OPEN_SYNC, operation }, () => {
          assertOpenable(scope, bytes, session.memory, quota);
          if (scope.queue.unkeptUntil > 0) throw unsettled(filter);
          return { answer: openIn(session, scope, plan, cells) };
        });
      },
      { grows: true, deadline },
    );
    await this.copies.done(filter, id, deadline).catch(ignoreTime);
    return this.get(filter, id);
  }

  async get(filter: Filter, id: string): Promise<Sync> {
    return this.engine.read((memory, now, database) => {
      const state = memory.current(filter);
      if (state.sync?.opened.id !== id) return endedOf({ database, now }, state, id);
      state.sync.calledAt = now;
      return viewOf(state, state.sync);
    });
  }

  async keep(
    filter: Filter,
    id: string,
    positions: Positions,
    operation: Operation,
    hosts?: readonly string[],
  ): Promise<Uint8Array> {
    assertHosts(filter, hosts, positions.count);
    const most = filter.perHost?.maxUrls === undefined ? Infinity : this.engine.sizes.hostsPerChange;
    const all = new Uint8Array(positions.count);
    for (const part of partsByHost(positions, operation, most)) {
      const names = hosts?.slice(part.from, part.to);
      all.set(await this.keepPart(filter, id, positions, part, names), part.from);
    }
    return all;
  }

  /** Keeps one part of a batch. Refuses the first part if the sync has no room for the whole batch. */
  private keepPart(
    filter: Filter,
    id: string,
    whole: Positions,
    { positions, operation, from }: Part,
    hosts: readonly string[] | undefined,
  ): Promise<Uint8Array> {
    const { deadline, quota } = operation;
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: KEEP, operation }, () => {
          const state = openOf(session, scope, id);
          const { sync } = state;
          if (from === 0 && positions.count < whole.count) assertRoomToKeep(state, whole);
          const outcome = keepIn(session, state, { positions, hosts }, quota);
          sync.calledAt = session.now;
          for (const answer of outcome.answers) {
            if (answer !== Kept.Forgotten) sync.listed++;
            if (answer === Kept.New) sync.new++;
          }
          const records = session.journal.records(scope.key, JournalOperation.Add, outcome.changes);
          return { answer: outcome.answers, records };
        });
      },
      { grows: true, deadline, items: positions.count },
    );
  }

  async commit(filter: Filter, id: string, most: number, deadline: number): Promise<Sync> {
    await this.copies.done(filter, id, deadline);
    const { ended, removed } = await this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        const { sync } = state;
        if (sync?.opened.id === id) {
          const view = viewOf(state, sync);
          if (shareForgotten(view) > most) throw syncWouldForget(filter, view, most);
          commitSync(session, state, sync);
        }
        const ended = endedOf(session, state, id, 'committed');
        return { ended, removed: session.sweeper.removeUnkept(state) };
      },
      { deadline },
    );
    await byDeadline(deadline, removed).catch(ignoreTime);
    return ended;
  }

  async abandon(filter: Filter, id: string, deadline: number): Promise<Sync> {
    return this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        if (state.sync?.opened.id !== id) return endedOf(session, state, id, 'abandoned');
        abandonSync(session, state, state.sync, ABANDONED.caller);
        return endedOf(session, state, id);
      },
      { deadline },
    );
  }

  async tend(): Promise<void> {
    const due = await this.engine.read((memory, now) =>
      [...memory.filters.values()].filter(
        ({ lost, sync }) => !lost && sync && now - sync.calledAt > this.idleMs,
      ),
    );
    for (const { filter, sync } of due) {
      await this.engine.mutate((session) => {
        const state = session.memory.filters.get(filter.name);
        const current = state?.sync;
        if (!state || state.lost || current?.opened.id !== sync?.opened.id) return;
        if (current && session.now - current.calledAt > this.idleMs)
          abandonSync(session, state, current, ABANDONED.idle);
      });
    }
  }
}

function openIn(session: Session, state: FilterState, plan: SyncPlan, cells: readonly Uint8Array[]): string {
  const opened = {
    id: session.random.id(ID_BYTES),
    plan,
    base: state.nextLayer,
    openedAt: session.now,
  };
  const sync = new SyncState(opened, cells, state.filter.maxAgeSeconds, session.database.sizes);
  // Uses the filter's time, because the clock may have been set back.
  if (state.stack.age) sync.stack.advance(state.stack.age.epoch);
  sync.nextDelayed = state.queue.nextDelayed;
  if (state.queue.held === 0) sync.copied = 1;
  state.sync = sync;
  state.endedSync = undefined;
  state.nextLayer = sync.stack.end;
  describeAnew(session, state);
  return opened.id;
}

function assertOpenable(
  state: FilterState,
  bytes: number,
  memory: Session['memory'],
  quota: Quota | undefined,
): void {
  if (state.sync) throw syncExists(state.filter, viewOf(state, state.sync));
  if (quota) assertWithin(quota, usageOf(memory, quota.prefix), { filters: 0, bytes });
}

/** The error if another sync was committed while this call waited, or if removing its entries failed. */
function unsettled(filter: Filter): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `${called(filter)} is still being synced; retry`);
}

/** The state, if this sync is open. Throws SYNC_ENDED or SYNC_NOT_FOUND. */
function openOf(session: Session, state: FilterState, id: string): Syncing {
  if (isSyncing(state) && state.sync.opened.id === id) return state;
  throw syncEnded(state.filter, endedOf(session, state, id));
}

/** The sync, if it has ended. Throws SYNC_ENDED if its state is not `expected`, and SYNC_NOT_FOUND if it is unknown. */
function endedOf(
  { database, now }: Pick<Session, 'database' | 'now'>,
  state: FilterState,
  id: string,
  expected?: Sync['state'],
): Sync {
  const { endedSync, filter } = state;
  const ended = endedSync?.id === id ? endedSync : recall(database, endIdentity(state, id), now)?.answer;
  if (!ended) throw syncNotFound(filter, id);
  if (expected !== undefined && ended.state !== expected) throw syncEnded(filter, ended);
  return ended;
}

/** Ignores a timeout when opening a sync, because the copy of the queue continues. */
function ignoreTime(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
}
