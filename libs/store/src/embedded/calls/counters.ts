import type { Positions } from '#bloom';
import {
  ABANDONED,
  assertCounting,
  assertEntryIds,
  assertQueued,
  assertTtl,
  hidingFull,
} from '../../refusals.js';
import { StoreError } from '../../errors.js';
import {
  Removed,
  type AddOptions,
  type Counters,
  type Filter,
  type Operation,
  type Quota,
} from '../../port/index.js';
import type { Engine } from '../engine/engine.js';
import type { FilterState } from '../filters/filter-state.js';
import { layersFor, reserveNext } from '../catalogue/growth.js';
import { writeHidden } from '../filters/hidden-rows.js';
import { addBatch, checkBatch, countBatch, removeBatch } from '../items/batches.js';
import type { Outcome } from '../items/cell-kind.js';
import { layersNeeded, layersNeededBy } from '../items/layers-needed.js';
import { claims, positionsOn } from '../items/passes.js';
import { indexesOf, put } from '../items/subsets.js';
import type { LayerState } from '../layers/layer-state.js';
import { JournalOperation } from '../journal/journal.js';
import { EntryPlaces } from '../queue/entry-places.js';
import { TodoQueue } from '../queue/todo-queue.js';
import { VoidEntries } from '../queue/void-entries.js';
import type { Change, Session } from '../engine/session.js';
import { abandonSync } from '../syncs/end-sync.js';
import { dropRemovals, noteRemovals } from '../filters/removals.js';
import { ADD, REMOVE } from '../operations/verbs.js';
import { partsByHost, selectCopied, type Part } from '../operations/parts.js';
import type { Watches } from './watches.js';

/** Cost of an item that also changes the queue, relative to one that doesn't. */
const QUEUED_ITEM_COST = 2;
/** The same for a per-host queue, in which each item may change a different lane. */
const LANE_ITEM_COST = 8;

/** See the port for each method's guarantees. */
export class EmbeddedCounters implements Counters {
  constructor(
    private readonly engine: Engine,
    private readonly watches: Watches,
  ) {}

  async add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    options: AddOptions = {},
  ): Promise<Uint8Array> {
    const { payloads, ttlMs } = options;
    assertTtl(filter, ttlMs);
    assertQueued(filter, options, positions.count, ttlMs);
    const counted = payloads !== undefined || filter.perHost?.maxUrls !== undefined;
    const added = await this.inParts(filter, positions, operation, counted, (part) =>
      this.addPart(filter, positions, part, options),
    );
    if (payloads) this.watches.joined(filter);
    return added;
  }

  check(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    return this.engine.read((memory) => checkBatch(memory.current(filter), positions), deadline);
  }

  async remove(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    ids?: readonly string[],
  ): Promise<Uint8Array> {
    assertCounting(filter);
    assertEntryIds(filter, ids, positions.count);
    const counted = filter.perHost?.maxUrls !== undefined;
    return this.inParts(filter, positions, operation, counted, (part) =>
      this.removePart(filter, positions, part, ids?.slice(part.from, part.to)),
    );
  }

  async count(filter: Filter, positions: Positions, deadline?: number): Promise<Uint8Array> {
    assertCounting(filter);
    return this.engine.read((memory) => countBatch(memory.current(filter), positions), deadline);
  }

  /** Makes a call in parts if it changes the lanes of `filter`. */
  private async inParts(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    changesLanes: boolean,
    call: (part: Part) => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    const most = filter.perHost && changesLanes ? this.engine.sizes.hostsPerChange : Infinity;
    const all = new Uint8Array(positions.count);
    for (const part of partsByHost(positions, operation, most)) {
      const answers = await call(part);
      if (part.to - part.from === positions.count) return answers;
      all.set(answers, part.from);
    }
    return all;
  }

  /**
   * Adds a part of a batch. Refuses the first part if the filter has no room for the whole batch, but never a later
   * part.
   */
  private addPart(
    filter: Filter,
    whole: Positions,
    { positions, operation, from, to }: Part,
    { payloads, hosts, ttlMs, onlyAbsent, ...how }: AddOptions,
  ): Promise<Uint8Array> {
    const queued = payloads !== undefined;
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: ADD, operation }, () => {
          const { quota } = operation;
          const queue = queued ? new TodoQueue(session, scope) : undefined;
          const limited = queue?.limited(positions, () => checkBatch(scope, positions));
          const admitted = limited ? selectCopied(positions, indexesOf(limited, 0)) : positions;
          if (from === 0 && to < whole.count) layersNeeded(scope, whole);
          const needed = layersNeeded(scope, admitted, from > 0);
          const own = needed ? layersFor(scope, scope.stack, session.memory, needed, quota) : undefined;
          const sync = roomBesideSync(session, scope, admitted, quota);
          const outcome = addBatch(scope, admitted, { grow: { own, sync }, ttlMs, onlyAbsent });
          dropRemovals(session.database, scope, admitted);
          for (const stack of scope.stacks)
            if (stack.next) void reserveNext(scope, stack, session.memory, quota);
          const answers = limited ? put(limited, indexesOf(limited, 0), outcome.answers) : outcome.answers;
          // In a set that ages, an item may expire while its entry waits. That entry stays unless this call queues
          // another.
          if (scope.queue.unkeptUntil > 0 && (queue || !scope.stack.age))
            new VoidEntries(session, scope).renew(positions, answers);
          if (queue && payloads) {
            const own = { payloads: payloads.slice(from, to), hosts: hosts?.slice(from, to) };
            queue.push({ positions, ...own, ...how }, answers, session.now);
            queue.flush();
          }
          if (outcome.there)
            new TodoQueue(session, scope).keep(
              admitted.host,
              outcome.there,
              1,
              namesOf(hosts, from, to, limited),
            );
          return journaled(session, scope, JournalOperation.Add, { ...outcome, answers });
        });
      },
      { grows: true, deadline: operation.deadline, items: costOf(filter, positions, queued) },
    );
  }

  /** Removes one part of a batch. Refuses the first part if the filter can't hide the whole batch. */
  private removePart(
    filter: Filter,
    whole: Positions,
    { positions, operation, from }: Part,
    ids: readonly string[] | undefined,
  ): Promise<Uint8Array> {
    const queued = filter.kind === 'visited-set';
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.current(filter);
        return session.once({ scope, verb: REMOVE, operation }, () => {
          assertRoomToHide(scope, from === 0 ? whole : positions, session.options.maxHidden);
          const chosen = ids && indexesOf(new EntryPlaces(session.database, scope).there(ids, positions), 1);
          const there = chosen ? selectCopied(positions, chosen) : positions;
          const outcome = removeBatch(scope, there);
          const { sync } = scope;
          if (sync && !noteRemovals(session.database, scope, there, session.options.maxSyncForgets))
            abandonSync(session, scope, sync, ABANDONED.forgets);
          if (queued) new VoidEntries(session, scope).forget(there, outcome.answers);
          if (outcome.there) new TodoQueue(session, scope).keep(there.host, outcome.there, -1);
          const answers = chosen
            ? put(new Uint8Array(positions.count).fill(Removed.Moved), chosen, outcome.answers)
            : outcome.answers;
          return journaled(session, scope, JournalOperation.Remove, { ...outcome, answers });
        });
      },
      { deadline: operation.deadline, items: costOf(filter, positions, queued) },
    );
  }
}

/** The host names of a part's items, except items that are `limited`. */
function namesOf(
  hosts: readonly string[] | undefined,
  from: number,
  to: number,
  limited: Uint8Array | undefined,
): readonly string[] | undefined {
  const names = hosts?.slice(from, to);
  return limited ? names?.filter((_, i) => limited[i] === 0) : names;
}

function costOf({ perHost }: Filter, { count }: Positions, queued: boolean): number {
  return queued ? count * (perHost ? LANE_ITEM_COST : QUEUED_ITEM_COST) : count;
}

/**
 * Throws STORE_FULL if the batch might bring the hidden items of the filter's or the sync's layers above `most`. Only
 * items that these layers claim are ever hidden in them.
 */
function assertRoomToHide(state: FilterState, positions: Positions, most: number): void {
  for (const stack of state.stacks) {
    const hidden = stack.age?.hidden.size ?? 0;
    if (!stack.age || hidden + positions.count <= most) continue;
    let claimed = 0;
    for (const present of claims(stack, positionsOn(stack, state.stack, positions))) claimed += present;
    if (hidden + claimed > most) throw hidingFull(state.filter, hidden, most);
  }
}

/**
 * Allocates sync layers for a batch that may need them, and returns a function that opens one layer per call. Abandons
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
