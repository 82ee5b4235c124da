import { select, type Positions } from '#bloom';
import {
  ABANDONED,
  assertCounting,
  assertHosts,
  assertPayloads,
  assertTtl,
  hidingFull,
} from '../../refusals.js';
import { StoreError } from '../../errors.js';
import type { Counters, Filter, Operation, Quota } from '../../port/index.js';
import type { Engine } from '../engine/engine.js';
import type { FilterState } from '../filters/filter-state.js';
import { layersFor, reserveNext } from '../catalogue/growth.js';
import { writeHidden } from '../filters/hidden-rows.js';
import { addBatch, checkBatch, countBatch, removeBatch } from '../items/batches.js';
import type { Outcome } from '../items/cell-kind.js';
import { layersNeeded, layersNeededBy } from '../items/layers-needed.js';
import { indexesOf, put } from '../items/subsets.js';
import type { LayerState } from '../layers/layer-state.js';
import { JournalOperation } from '../journal/journal.js';
import { TodoQueue } from '../queue/todo-queue.js';
import type { Change, Session } from '../engine/session.js';
import { abandonSync } from '../syncs/end-sync.js';
import { dropRemovals, noteRemovals } from '../filters/removals.js';
import { ADD, REMOVE } from '../operations/verbs.js';
import type { Watches } from './watches.js';

/** Cost of an item that also changes the queue, in items that do not. */
const QUEUED_ITEM_COST = 2;

/** See the port for the guarantees of each method. */
export class EmbeddedCounters implements Counters {
  constructor(
    private readonly engine: Engine,
    private readonly watches: Watches,
  ) {}

  async add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
    ttlMs?: number,
    hosts?: readonly string[],
  ): Promise<Uint8Array> {
    assertTtl(filter, ttlMs);
    if (payloads) assertPayloads(filter, payloads, positions.count);
    if (payloads) assertHosts(filter, hosts, positions.count);
    const answers = await this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: ADD, operation }, () => {
          const { quota } = operation;
          const queue = payloads && new TodoQueue(session, scope);
          const limited = queue?.limited(positions, () => checkBatch(scope, positions));
          const admitted = limited ? selectCopied(positions, indexesOf(limited, 0)) : positions;
          const needed = layersNeeded(scope, admitted);
          const own = needed ? layersFor(scope, scope.stack, session.memory, needed, quota) : undefined;
          const sync = roomBesideSync(session, scope, admitted, quota);
          const outcome = addBatch(scope, admitted, { grow: { own, sync }, ttlMs });
          dropRemovals(session.database, scope, admitted);
          for (const stack of scope.stacks) if (stack.next) void reserveNext(scope, stack, session.memory, quota);
          const answers = limited ? put(limited, indexesOf(limited, 0), outcome.answers) : outcome.answers;
          if (queue) {
            queue.push({ positions, payloads, hosts }, answers, session.now);
            queue.flush();
          }
          return journaled(session, scope, JournalOperation.Add, { ...outcome, answers });
        });
      },
      { grows: true, deadline: operation.deadline, items: costOf(positions, payloads !== undefined) },
    );
    if (payloads) this.watches.wake(filter);
    return answers;
  }

  async check(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    return this.engine.read((memory) => checkBatch(memory.current(filter), positions), deadline);
  }

  async remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array> {
    assertCounting(filter);
    const queued = filter.kind === 'visited-set';
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: REMOVE, operation }, () => {
          assertRoomToHide(scope, positions, session.options.maxHidden);
          const outcome = removeBatch(scope, positions);
          const { sync } = scope;
          if (sync && !noteRemovals(session.database, scope, positions, session.options.maxSyncForgets))
            abandonSync(session, scope, sync, ABANDONED.forgets);
          if (queued) new TodoQueue(session, scope).forget(positions, outcome.answers);
          return journaled(session, scope, JournalOperation.Remove, outcome);
        });
      },
      { deadline: operation.deadline, items: costOf(positions, queued) },
    );
  }

  async count(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    assertCounting(filter);
    return this.engine.read((memory) => countBatch(memory.current(filter), positions), deadline);
  }
}

/** Like `select`, with `copies`. */
function selectCopied(positions: Positions, indexes: Uint32Array): Positions {
  const { copies } = positions;
  const chosen = select(positions, indexes);
  return copies
    ? { ...chosen, copies: Uint32Array.from(indexes, (index) => copies[index] as number) }
    : chosen;
}

function costOf({ count }: Positions, queued: boolean): number {
  return queued ? count * QUEUED_ITEM_COST : count;
}

/**
 * Throws STORE_FULL if the batch might hide more items than `most` in total. Only items that a layer claims are ever
 * hidden.
 */
function assertRoomToHide(state: FilterState, positions: Positions, most: number): void {
  const hidden = Math.max(...state.stacks.map(({ age }) => age?.hidden.size ?? 0));
  if (hidden + positions.count <= most || !state.stack.age) return;
  let claimed = 0;
  for (const present of checkBatch(state, positions)) claimed += present;
  if (hidden + claimed > most) throw hidingFull(state.filter, hidden, most);
}

/**
 * Allocates layers of the sync for a batch that may need them, and returns a function that opens one per call. Abandons
 * the sync if it has no room for the batch.
 */
function roomBesideSync(
  session: Session,
  state: FilterState,
  positions: Positions,
  quota: Quota | undefined,
): (() => LayerState) | undefined {
  const { sync, stack } = state;
  if (!sync) return undefined;
  try {
    const needed = layersNeededBy(sync, stack, positions);
    if (needed !== undefined)
      return needed ? layersFor(state, sync.stack, session.memory, needed, quota) : undefined;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  abandonSync(session, state, sync, ABANDONED.full);
  return undefined;
}

function journaled(
  session: Session,
  state: FilterState,
  operation: JournalOperation,
  { answers, changes }: Outcome,
): Change<Uint8Array> {
  if (state.stack.age) writeHidden(session, state);
  return { answer: answers, records: session.journal.records(state.key, operation, changes) };
}
