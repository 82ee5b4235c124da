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
import type { LayerStack } from '../layers/layer-stack.js';
import type { Session } from '../engine/session.js';
import { abandonSync } from './end-sync.js';
import { notedOf } from '../filters/removals.js';

/** True if entries that leave the queue now may have been in it when the sync was opened, and are not kept yet. */
export const isCopying = (state: FilterState): state is Syncing => state.sync?.copied === 0;

/**
 * Keeps a batch of an input list. Throws FILTER_FULL, STORE_FULL or QUOTA_EXCEEDED before any change. Call it inside a
 * transaction.
 */
export function keepIn(
  session: Session,
  state: Syncing,
  positions: Positions,
  quota: Quota | undefined,
): Outcome {
  const { sync, stack, filter } = state;
  const { memory } = session;
  const needed = layersNeededBy(sync, stack, positions);
  if (needed === undefined) {
    const { plan } = sync.opened;
    throw full({ ...plan, name: filter.name, kind: filter.kind }, sync.stack.sums().items, positions.count);
  }
  const grow = needed ? layersFor(state, sync.stack, memory, needed, quota) : undefined;
  const outcome = keepBatch(state, positions, notedOf(sync, positions), grow);
  if (sync.stack.next) void reserveNext(state, sync.stack, memory, quota);
  if (stack.age) writeHidden(session, state);
  return outcome;
}

/**
 * Keeps entries that were queued when the sync was opened. If the sync's layers have no room for them, abandons the
 * sync, because an acknowledgement must not fail for it. Returns the journal records of the changes. Call it inside a
 * transaction.
 */
export function keepQueued(
  session: Session,
  state: Syncing,
  entries: readonly Pick<QueuedItem, 'hash'>[],
): Iterable<Buffer> {
  const { stack, key, sync } = state;
  const positions = liveIn(stack, positionsOfHashes(hashesOf(entries), stack.plan[0].geometry));
  try {
    const { changes } = keepIn(session, state, positions, undefined);
    return session.journal.records(key, JournalOperation.Add, changes);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    abandonSync(session, state, sync, ABANDONED.full);
    return [];
  }
}

/** If the filter ages, only the items that have not expired: the others stay queued, but are no longer visited. */
function liveIn(stack: LayerStack, positions: Positions): Positions {
  if (!stack.age) return positions;
  return select(positions, indexesOf(claims(stack, positions), 1));
}
