import { hostWords, positionsOfHashes, select, type Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { hashesOf } from '../../queued-hashes.js';
import { ABANDONED, full } from '../../refusals.js';
import type { Quota } from '../../port/index.js';
import type { FilterState, Syncing } from '../filters/filter-state.js';
import { layersFor, reserveNext } from '../catalogue/growth.js';
import { writeHidden } from '../filters/hidden-rows.js';
import { keepBatch } from '../items/batches.js';
import type { Outcome } from '../items/cell-kind.js';
import { layersNeededBy } from '../items/layers-needed.js';
import { claims } from '../items/passes.js';
import { indexesOf } from '../items/subsets.js';
import { JournalOperation } from '../journal/journal.js';
import { TodoQueue, type TakenEntry } from '../queue/todo-queue.js';
import type { LayerStack } from '../layers/layer-stack.js';
import type { Session } from '../engine/session.js';
import { abandonSync } from './end-sync.js';
import { notedOf } from '../filters/removals.js';

/** True if entries that leave the queue now may date from before the sync was opened, and may not be kept yet. */
export const isCopying = (state: FilterState): state is Syncing => state.sync?.copied === 0;

/** Some items from an input list or a queue. */
export interface KeptItems {
  readonly positions: Positions;
  /** Their hosts' names, in sets with `perHost`. */
  readonly hosts?: readonly string[] | undefined;
}

/**
 * Keeps a batch from an input list. Throws FILTER_FULL, STORE_FULL or QUOTA_EXCEEDED before any change. Call it inside
 * a transaction.
 */
export function keepIn(
  session: Session,
  state: Syncing,
  { positions, hosts }: KeptItems,
  quota: Quota | undefined,
): Outcome {
  const { sync, stack } = state;
  const { memory } = session;
  const needed = layersNeededBy(sync, stack, positions);
  if (needed === undefined) throw fullFor(state, positions.count);
  const grow = needed ? layersFor(state, sync.stack, memory, needed, quota) : undefined;
  const outcome = keepBatch(state, positions, notedOf(sync, positions), grow);
  if (sync.stack.next) void reserveNext(state, sync.stack, memory, quota);
  if (stack.age) writeHidden(session, state);
  if (outcome.there) new TodoQueue(session, state).keep(positions.host, outcome.there, 1, hosts);
  return outcome;
}

/** Throws FILTER_FULL unless the sync has room for a batch. */
export function assertRoomToKeep(state: Syncing, positions: Positions): void {
  if (layersNeededBy(state.sync, state.stack, positions) === undefined) throw fullFor(state, positions.count);
}

function fullFor({ sync, filter: { name, kind } }: Syncing, more: number): StoreError {
  return full({ ...sync.opened.plan, name, kind }, sync.stack.sums().items, more);
}

/**
 * Keeps entries that were queued when the sync was opened, unless their items are no longer visited. If the sync's
 * layers have no room for them, abandons the sync: a sync must never make an acknowledgement fail. Returns the changes'
 * journal records. Call it inside a transaction.
 */
export function keepQueued(
  session: Session,
  state: Syncing,
  entries: readonly TakenEntry[],
): Iterable<Buffer> {
  const { stack, key, sync } = state;
  const { geometry } = stack.plan[0];
  const hash = hashesOf(entries);
  const host = state.filter.perHost && hostsOf(entries, hash, state.filter.seed);
  const positions = visitedIn(stack, { ...positionsOfHashes(hash, geometry), ...(host && { host }) });
  try {
    const { changes } = keepIn(session, state, { positions }, undefined);
    return session.journal.records(key, JournalOperation.Add, changes);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    abandonSync(session, state, sync, ABANDONED.full);
    return [];
  }
}

/** See Positions.host. The first word is the first word of the item's hash. */
function hostsOf(entries: readonly TakenEntry[], hash: Uint32Array, seed: Uint8Array): Uint32Array {
  const words = new Uint32Array(2 * entries.length);
  for (const [n, { host = '', hostWord = hostWords(host, seed)[1] as number }] of entries.entries())
    words.set([hash[4 * n] as number, hostWord], 2 * n);
  return words;
}

/** Selects the visited items, since some may have expired while their entries were queued. */
function visitedIn(stack: LayerStack, positions: Positions): Positions {
  return select(positions, indexesOf(claims(stack, positions), 1));
}
