import { type Filter, forgottenBy, type Sync, type SyncState as Stage } from '../../port/index.js';
import type { FilterState, SyncState } from '../filters/filter-state.js';
import { describeAnew } from '../catalogue/generation.js';
import { numberKey } from '../database/keys.js';
import type { Identity } from '../operations/operation-records.js';
import type { Session } from '../engine/session.js';
import { END_SYNC } from '../operations/verbs.js';
import { outcomeOf } from '../../refusals.js';

/** An open sync's state, for callers. */
export function viewOf(
  { stack }: FilterState,
  { opened, listed, new: fresh, kept, stack: filled }: SyncState,
): Sync {
  const { id, plan, openedAt } = opened;
  const { capacity, errorRate } = plan;
  const { items } = stack.sums();
  return {
    id,
    state: 'open',
    openedAt,
    capacity,
    errorRate,
    listed,
    new: fresh,
    items,
    kept,
    bytes: filled.bytes,
  };
}

/**
 * Replaces the filter's own layers with the sync's. Handles opened before become stale. Call it inside a transaction.
 */
export function commitSync(session: Session, state: FilterState, sync: SyncState): void {
  const { filter, stack: old } = state;
  const { plan, base } = sync.opened;
  const ended = ending(state, sync, 'committed');
  const { layers: _layers, original, ...rest } = filter;
  const made = original ?? { capacity: filter.capacity, errorRate: filter.errorRate };
  const same = made.capacity === plan.capacity && made.errorRate === plan.errorRate;
  const { capacity, errorRate, geometry, layers } = plan;
  const renewed: Filter = {
    ...rest,
    ...{ capacity, errorRate, geometry, base },
    ...(layers ? { layers } : {}),
    ...(same ? {} : { original: made }),
  };
  state.filter = renewed;
  state.stack = sync.stack;
  // If entries may be void, leave the sync's rows: removeUnkept reads and then deletes them.
  if (state.queue.scheduled + sync.cameDue > 0) state.queue.unkeptUntil = state.queue.clock;
  else session.purger.syncRows(state, base);
  close(session, state, ended);
  session.purger.layers(state, old.base, old.end);
  session.purger.hiddenOf(state, old.base, old.end);
}

/** Drops the sync's layers. Call it inside a transaction. */
export function abandonSync(session: Session, state: FilterState, sync: SyncState, reason: string): void {
  close(session, state, { ...ending(state, sync, 'abandoned'), reason });
  session.purger.syncRows(state, sync.stack.base);
  session.purger.layers(state, sync.stack.base, sync.stack.end);
  session.purger.hiddenOf(state, sync.stack.base, sync.stack.end);
}

function ending(state: FilterState, sync: SyncState, stage: Stage): Sync {
  return { ...viewOf(state, sync), state: stage, bytes: 0 };
}

/** Identifies the record of a sync's end, which is kept as long as callers' operation records. */
export function endIdentity(scope: FilterState, id: string): Identity<Sync> {
  const operation = { id, origin: 'caller', fingerprint: '', repeat: true, deadline: Infinity } as const;
  return { scope, verb: END_SYNC, operation };
}

function close(session: Session, state: FilterState, ended: Sync): void {
  state.sync = undefined;
  state.endedSync = ended;
  const outcome = outcomeOf(ended);
  if (outcome) session.memory.endedSyncs.push(outcome);
  describeAnew(session, state);
  // The blocks of dropped layers no longer count, and are deleted in the background.
  let blocks = 0;
  for (const { written } of state.stack.layers) blocks += written.reduce((sum, one) => sum + one, 0);
  session.database.blockCounts.putSync(state.key, numberKey(blocks));
  session.sweeper.renewLanes(state);
  session.once(endIdentity(state, ended.id), () => ({ answer: ended }));
}

/** Share of the items that a commit would forget. */
export function shareForgotten(sync: Pick<Sync, 'items' | 'kept'>): number {
  return sync.items === 0 ? 0 : forgottenBy(sync) / sync.items;
}
