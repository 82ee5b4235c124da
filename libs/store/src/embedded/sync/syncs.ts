import { randomBytes } from 'node:crypto';
import { filterBytes, positionsOfHashes, select, type Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { assertWithin } from '../../quota.js';
import {
  ABANDONED,
  full,
  keyReused,
  syncEnded,
  syncExists,
  syncNotFound,
  syncUnsupported,
  syncWouldForget,
} from '../../refusals.js';
import { hashesOf } from '../../queued-hashes.js';
import type { Filter, Operation, QueuedItem, Quota } from '../../store.js';
import { Kept, type Sync, type SyncPlan, type Syncs } from '../../syncs.js';
import { keepBatch, layersNeededBy } from '../batches.js';
import { assertAvailable, reserveCells } from '../cell-memory.js';
import { byDeadline } from '../deadline.js';
import type { Engine } from '../engine.js';
import { type EndedSync, FilterState, SyncState } from '../filter-state.js';
import { describeAnew } from '../generation.js';
import { layersFor, reserveNext } from '../growth.js';
import { writeHidden } from '../hidden-rows.js';
import { JournalOperation } from '../journal.js';
import type { LayerList } from '../layer-list.js';
import { checkInList, type Outcome } from '../list-batches.js';
import { queuePages } from '../queue/queue-pages.js';
import { usageOf } from '../room.js';
import type { Session } from '../session.js';
import { KEEP } from '../verbs.js';
import { abandonSync, commitSync, shareForgotten, viewOf } from './end-sync.js';
import { notedOf } from './removals.js';

const ID_BYTES = 8;

type Syncing = FilterState & { sync: SyncState };

/** See the port for what each method promises. A commit is one transaction, so none is ever seen committing. */
export class EmbeddedSyncs implements Syncs {
  /** By id: what copies the queue. */
  private readonly copies = new Map<string, Promise<void>>();

  constructor(
    private readonly engine: Engine,
    private readonly idleMs: number,
  ) {}

  async open(filter: Filter, plan: SyncPlan, operation: Operation, quota?: Quota): Promise<Sync> {
    if (filter.semantics === 'multiset') throw syncUnsupported(filter);
    const { deadline } = operation;
    const bytes = filterBytes(plan.geometry);
    const known = await this.engine.read((memory) => {
      const state = memory.current(filter);
      const opened = openedBy(state, operation);
      if (!opened) assertOpenable(state, bytes, memory, quota);
      return opened;
    }, deadline);
    if (known) return known;
    assertAvailable(bytes);
    const cells = await reserveCells(plan.geometry);
    const sync = await this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        const opened = openedBy(state, operation);
        if (opened) return opened;
        assertOpenable(state, bytes, session.memory, quota);
        return openIn(session, state, plan, operation, cells);
      },
      { grows: true, deadline },
    );
    await this.copied(filter, sync.id, deadline).catch(ignoreTime);
    return this.get(filter, sync.id);
  }

  async get(filter: Filter, id: string): Promise<Sync> {
    return this.engine.read((memory, now) => {
      const state = memory.current(filter);
      if (state.sync?.opened.id !== id) return endedOf(state, id);
      state.sync.calledAt = now;
      return viewOf(state, state.sync);
    });
  }

  async keep(filter: Filter, id: string, positions: Positions, operation: Operation): Promise<Uint8Array> {
    const { deadline, quota } = operation;
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: KEEP, operation }, () => {
          const state = openOf(scope, id);
          const { sync } = state;
          const outcome = keepIn(session, state, positions, quota);
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
    await this.copied(filter, id, deadline);
    return this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        const { sync } = state;
        if (sync?.opened.id !== id) return endedOf(state, id, 'committed');
        const view = viewOf(state, sync);
        if (shareForgotten(view) > most) throw syncWouldForget(filter.name, view, most);
        commitSync(session, state, sync);
        return endedOf(state, id);
      },
      { deadline },
    );
  }

  async abandon(filter: Filter, id: string, deadline: number): Promise<Sync> {
    return this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        if (state.sync?.opened.id !== id) return endedOf(state, id, 'abandoned');
        abandonSync(session, state, state.sync, ABANDONED.caller);
        return endedOf(state, id);
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

  /**
   * Resolves once all that was in the queue when the sync was opened is kept. STORE_UNAVAILABLE when time is up; the copying
   * goes on.
   */
  private async copied(filter: Filter, id: string, deadline: number): Promise<void> {
    const done = await this.engine.read((memory) => {
      const { sync } = memory.current(filter);
      return sync?.opened.id !== id || sync.copied === 1;
    }, deadline);
    if (done) return;
    let copy = this.copies.get(id);
    if (!copy) {
      copy = this.copy(filter, id).finally(() => this.copies.delete(id));
      this.copies.set(id, copy);
      // Whoever waits for it hears of it.
      copy.catch(() => undefined);
    }
    await byDeadline(deadline, copy);
  }

  private async copy(filter: Filter, id: string): Promise<void> {
    for await (const { entries } of queuePages(this.engine, filter)) {
      if (!(await this.keepEntries(filter, id, entries))) return;
    }
    await this.engine.mutate((session) => {
      const state = session.memory.current(filter);
      if (state.sync?.opened.id !== id) return;
      state.sync.copied = 1;
      session.keep(state);
    });
  }

  /** False if the sync is over. */
  private async keepEntries(filter: Filter, id: string, entries: readonly QueuedItem[]): Promise<boolean> {
    if (entries.length === 0) return true;
    return this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        if (!isSyncing(state) || state.sync.opened.id !== id) return false;
        const positions = liveIn(
          state.list,
          positionsOfHashes(hashesOf(entries), state.list.plan[0].geometry),
        );
        try {
          const { changes } = keepIn(session, state, positions, undefined);
          session.keep(state, session.journal.records(state.key, JournalOperation.Add, changes));
          return true;
        } catch (error) {
          if (!(error instanceof StoreError)) throw error;
          abandonSync(session, state, state.sync, ABANDONED.full);
          return false;
        }
      },
      { items: entries.length },
    );
  }
}

/** Of a list that ages, those of its items that have not expired: they stay queued, but are visited no more. */
function liveIn(list: LayerList, positions: Positions): Positions {
  if (!list.age) return positions;
  const live = Array.from(checkInList(list, positions).entries(), ([i, claimed]) => (claimed ? i : -1));
  return select(positions, Uint32Array.from(live.filter((i) => i >= 0)));
}

/** Inside a transaction. Throws FILTER_FULL, STORE_FULL or QUOTA_EXCEEDED before any change. */
function keepIn(session: Session, state: Syncing, positions: Positions, quota: Quota | undefined): Outcome {
  const { sync, list, filter } = state;
  const { memory } = session;
  const needed = layersNeededBy(sync, list, positions);
  if (needed === undefined) {
    const { plan } = sync.opened;
    throw full({ ...plan, name: filter.name }, sync.list.sums().items, positions.count);
  }
  const grow = needed ? layersFor(state, sync.list, memory, needed, quota) : undefined;
  const outcome = keepBatch(state, positions, notedOf(sync, positions), grow);
  if (sync.list.next) void reserveNext(state, sync.list, memory, quota);
  if (list.age) writeHidden(session, state);
  return outcome;
}

function openIn(
  session: Session,
  state: FilterState,
  plan: SyncPlan,
  { id, fingerprint }: Operation,
  cells: readonly Uint8Array[],
): Sync {
  const opened = {
    id: randomBytes(ID_BYTES).toString('hex'),
    plan,
    base: state.nextLayer,
    openedAt: session.now,
    operation: { id, fingerprint },
  };
  const sync = new SyncState(opened, cells, state.filter.maxAgeSeconds);
  // Not by the clock, which may have been set back: time is that of the filter.
  if (state.list.age) sync.list.advance(state.list.age.epoch);
  if (state.queue.held === 0) sync.copied = 1;
  state.sync = sync;
  state.endedSync = undefined;
  state.nextLayer = sync.list.end;
  describeAnew(session, state);
  session.keep(state);
  return viewOf(state, sync);
}

/** The sync that this very operation has opened. Throws IDEMPOTENCY_KEY_REUSED. */
function openedBy(state: FilterState, operation: Operation): Sync | undefined {
  const { sync, endedSync } = state;
  const last = sync?.opened ?? endedSync;
  if (last?.operation.id !== operation.id) return undefined;
  if (last.operation.fingerprint !== operation.fingerprint) throw keyReused(operation);
  return sync ? viewOf(state, sync) : endedSync && withoutOperation(endedSync);
}

function assertOpenable(
  state: FilterState,
  bytes: number,
  memory: Session['memory'],
  quota: Quota | undefined,
): void {
  if (state.sync) throw syncExists(state.filter.name, viewOf(state, state.sync));
  if (quota) assertWithin(quota, usageOf(memory, quota.prefix), { filters: 0, bytes });
}

const isSyncing = (state: FilterState): state is Syncing => state.sync !== undefined;

/** The state, if this sync of it is open. Throws SYNC_ENDED or SYNC_NOT_FOUND. */
function openOf(state: FilterState, id: string): Syncing {
  if (isSyncing(state) && state.sync.opened.id === id) return state;
  throw syncEnded(state.filter.name, endedOf(state, id));
}

/** The sync, if it is over; SYNC_ENDED if not as `expected`. */
function endedOf({ endedSync, filter }: FilterState, id: string, expected?: Sync['state']): Sync {
  if (endedSync?.id !== id) throw syncNotFound(filter.name, id);
  if (expected !== undefined && endedSync.state !== expected) throw syncEnded(filter.name, endedSync);
  return withoutOperation(endedSync);
}

function withoutOperation({ operation: _operation, ...sync }: EndedSync): Sync {
  return sync;
}

/** The time of the call that opens a sync may be up before the queue is copied: that goes on. */
function ignoreTime(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
}
