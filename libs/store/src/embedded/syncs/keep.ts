import { positionsOfHashes, select, type Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { hashesOf } from '../../queued-hashes.js';
import { ABANDONED, full } from '../../refusals.js';
import type { QueuedItem, Quota } from '../../port/index.js';
import type { FilterState, Syncing } from '../filters/filter-state.js';
import { layersFor, reserveNext } from '../catalogue/growth.js';
import { writeHidden } from '../filters/hidden-rows.js';
import { keepBatch } from '../items/batches.js';
import type { Outcome } from '../items/cell-kind.js';
import { layersNeededBy } from '../items/layers-needed.js';
import { claims } from '../items/passes.js';
import { indexesOf } from '../items/subsets.js';
import { JournalOperation } from '../journal/journal.js';
import type { LayerList } from '../layers/layer-list.js';
import type { Session } from '../engine/session.js';
import { abandonSync } from './end-sync.js';
import { notedOf } from '../filters/removals.js';

/** Whether entries that leave the queue now may have been in it when a sync was opened, and are not kept yet. */
export const isCopying = (state: FilterState): state is Syncing => state.sync?.copied === 0;

/** Inside a transaction. Throws FILTER_FULL, STORE_FULL or QUOTA_EXCEEDED before any change. */
export function keepIn(
  session: Session,
  state: Syncing,
  positions: Positions,
  quota: Quota | undefined,
): Outcome {
  const { sync, list, filter } = state;
  const { memory } = session;
  const needed = layersNeededBy(sync, list, positions);
  if (needed === undefined) {
    const { plan } = sync.opened;
    throw full({ ...plan, name: filter.name, kind: filter.kind }, sync.list.sums().items, positions.count);
  }
  const grow = needed ? layersFor(state, sync.list, memory, needed, quota) : undefined;
  const outcome = keepBatch(state, positions, notedOf(sync, positions), grow);
  if (sync.list.next) void reserveNext(state, sync.list, memory, quota);
  if (list.age) writeHidden(session, state);
  return outcome;
}

/**
 * Inside a transaction: keeps entries that were queued when the sync was opened. If the list that it fills has no room
 * for them, the sync is given up, because an acknowledgement must not fail for it. Answers the records of the changes.
 */
export function keepQueued(
  session: Session,
  state: Syncing,
  entries: readonly Pick<QueuedItem, 'hash'>[],
): Iterable<Buffer> {
  const { list, key, sync } = state;
  const positions = liveIn(list, positionsOfHashes(hashesOf(entries), list.plan[0].geometry));
  try {
    const { changes } = keepIn(session, state, positions, undefined);
    return session.journal.records(key, JournalOperation.Add, changes);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    abandonSync(session, state, sync, ABANDONED.full);
    return [];
  }
}

/** Of a list that ages, those of its items that have not expired: they stay queued, but are visited no more. */
function liveIn(list: LayerList, positions: Positions): Positions {
  if (!list.age) return positions;
  return select(positions, indexesOf(claims(list, positions), 1));
}
