import { Added, Kept, plannedLayers, Removed, Settled, type Filter, type FilterSpec } from '#store';
import { decodeEntryId } from '../../libs/store/src/entry-id.js';
import type { Call, SyncEnd } from './calls.js';
import { AgedList, CellList, type ListModel } from './lists.js';
import { QueueModel } from './queue.js';

/** What a transaction did, as its record says. */
export type Event = { readonly at: number } & (
  | { readonly call: Call; readonly answer: unknown }
  | { readonly ended: SyncEnd }
  /** Entries of the set of this generation came to where they are due. */
  | { readonly moved: string }
);

/** Of an id whose entry was forgotten or is another set's: Settled.Unknown, or Settled.Expired if nothing is held there. */
export const FORGOTTEN = 9;

interface SyncModel {
  readonly id: string;
  readonly openedAt: number;
  readonly list: ListModel;
  readonly base: number;
  readonly planned: number;
  readonly removed: Set<string>;
  /** Hashes in the rows of removals. */
  rowHashes: number;
  listed: number;
  fresh: number;
}

export class SetModel {
  base = 0;
  list: ListModel;
  /** Whether the cells of its list are known: not after a sync, whose list was filled in another order. */
  exact = true;
  sync: SyncModel | undefined;
  readonly ended = new Map<string, { readonly state: string; readonly at: number }>();
  readonly queue: QueueModel | undefined;
  readonly tally = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  /** How often it has been changed. */
  changes = 0;
  /** Numbers of layers that are gone. */
  readonly retired = new Set<number>();
  private nextLayer: number;
  /** How many layers its list may have. */
  planned: number;

  constructor(
    readonly filter: Filter,
    private readonly clock: { now: number },
    movesPerChange: number,
  ) {
    this.list = listOf(filter, clock);
    this.nextLayer = this.planned = plannedLayers(filter).length;
    if (filter.kind === 'visited-set') this.queue = new QueueModel(filter.maxAttempts, clock, movesPerChange);
  }

  /** A set with the contents of this one, as its export has them. */
  imported(filter: Filter, clock: { now: number }, movesPerChange: number): SetModel {
    const copy = new SetModel(filter, clock, movesPerChange);
    copy.list = this.list.copy(filter, clock);
    Object.assign(copy.tally, this.tally);
    if (this.queue) copy.queue?.restore(this.queue.exported, filter);
    return copy;
  }

  has(item: string): boolean {
    return this.list.has(item) || (this.sync?.list.has(item) ?? false);
  }

  count(item: string): number {
    return this.list.count(item) || (this.sync?.list.count(item) ?? 0);
  }

  add(items: readonly string[], ttlMs: number | undefined): number[] {
    const { list, sync } = this;
    const lasts = list instanceof AgedList ? list.lasts(ttlMs) : undefined;
    const listed = new Set(items.filter((item) => sync?.list.has(item)));
    const answers = items.map((item) => {
      if (sync) this.addBeside(sync, item, lasts, listed.has(item));
      if (!listed.has(item)) return list.add(item, lasts) ? Added.New : Added.Present;
      if (list instanceof AgedList && list.has(item)) list.add(item, lasts);
      return Added.Present;
    });
    const added = answers.filter((answer) => answer === Added.New).length;
    this.tally.added += added;
    this.tally.duplicate += items.length - added;
    for (const item of items) if (sync?.removed.delete(item)) sync.rowHashes++;
    return answers;
  }

  remove(items: readonly string[]): number[] {
    const { sync } = this;
    const answers = items.map((item) => this.list.remove(item));
    if (sync) {
      items.forEach((item, i) => {
        const second = sync.list.remove(item);
        if (answers[i] === Removed.Absent) answers[i] = second;
        if (sync.removed.has(item)) return;
        sync.removed.add(item);
        sync.rowHashes++;
      });
    }
    const removed = answers.filter((answer) => answer === Removed.Removed).length;
    this.tally.removed += removed;
    this.tally.refused += items.length - removed;
    this.queue?.forget(items.filter((_, i) => answers[i] === Removed.Removed));
    return answers;
  }

  openSync(id: string, spec: FilterSpec): void {
    const list = listOf({ ...spec, seed: this.filter.seed }, this.clock);
    const base = this.nextLayer;
    const planned = plannedLayers(spec).length;
    this.nextLayer += planned;
    const sync = { id, openedAt: this.clock.now, list, base, planned, removed: new Set<string>() };
    this.sync = { ...sync, rowHashes: 0, listed: 0, fresh: 0 };
    for (const { item } of this.queue?.entries ?? []) this.keepOne(this.sync, item, true);
  }

  keep(items: readonly string[]): number[] {
    const { sync } = this;
    if (!sync) return [];
    return items.map((item) => {
      if (sync.removed.has(item)) return Kept.Forgotten;
      sync.listed++;
      const isNew = this.keepOne(sync, item, false) && !this.list.has(item);
      if (isNew) sync.fresh++;
      return isNew ? Kept.New : Kept.Present;
    });
  }

  endSync({ id, state }: SyncEnd): void {
    const { sync } = this;
    if (!sync) return;
    this.changes++;
    this.ended.set(id, { state, at: this.clock.now });
    this.sync = undefined;
    if (state !== 'committed') {
      this.retire(sync);
      return;
    }
    this.retire(this);
    this.list = sync.list;
    this.base = sync.base;
    this.planned = sync.planned;
    this.exact = false;
  }

  private retire({ base, planned }: { readonly base: number; readonly planned: number }): void {
    for (let number = base; number < base + planned; number++) this.retired.add(number);
  }

  /** Whether the list of a sync takes the item anew. `queued`: items that have expired are not kept. */
  private keepOne({ list, openedAt }: SyncModel, item: string, queued: boolean): boolean {
    const own = this.list;
    if (!(own instanceof AgedList) || !(list instanceof AgedList))
      return list.has(item) ? false : list.add(item);
    const left = own.left(item);
    if (left !== undefined) return list.add(item, left);
    if (queued) return false;
    return list.add(item, list.has(item) ? own.lastsSince(openedAt) : own.lasts());
  }

  private addBeside({ list }: SyncModel, item: string, lasts: number | undefined, listed: boolean): void {
    if (!(this.list instanceof AgedList)) {
      if (!listed && !list.has(item)) list.add(item);
    } else list.add(item, Math.max(this.list.left(item) ?? 0, lasts ?? 0));
  }
}

function listOf(spec: FilterSpec, clock: { now: number }): ListModel {
  if (spec.maxAgeSeconds !== undefined) return new AgedList(spec, clock);
  return new CellList(spec, plannedLayers(spec), spec.layers !== undefined);
}

/** All sets, as the transactions that ran have left them. */
export class Model {
  readonly sets = new Map<string, SetModel>();
  /** What operations answered, and when. */
  readonly answers = new Map<string, { readonly at: number; readonly value: unknown }>();
  readonly clock = { now: 0 };

  constructor(private readonly movesPerChange: number) {}

  static of(events: readonly Event[], now: number, movesPerChange: number): Model {
    const model = new Model(movesPerChange);
    for (const event of events) model.apply(event);
    model.clock.now = now;
    return model;
  }

  /** The set that a handle names; undefined if the handle is outdated. */
  current({ set, generation, base }: Call): SetModel | undefined {
    const found = this.sets.get(set);
    return found?.filter.generation === generation && found.base === base ? found : undefined;
  }

  apply(event: Event): void {
    this.clock.now = event.at;
    if ('ended' in event) {
      for (const set of this.sets.values()) if (set.sync?.id === event.ended.id) set.endSync(event.ended);
      return;
    }
    if ('moved' in event) {
      for (const set of this.sets.values()) {
        if (set.filter.generation !== event.moved) continue;
        set.changes++;
        set.queue?.moveDue();
      }
      return;
    }
    const { call } = event;
    const value = this.execute(call, event.answer);
    this.answers.set(call.operation.id, { at: event.at, value });
    const set = this.sets.get(call.set);
    if (set) set.changes++;
  }

  private empty(filter: Filter): SetModel {
    return new SetModel(filter, this.clock, this.movesPerChange);
  }

  private execute(call: Call, answer: unknown): unknown {
    if (call.verb === 'create') {
      const { filter } = answer as { filter: Filter };
      const existing = this.sets.get(call.set);
      if (!existing) this.sets.set(call.set, this.empty(filter));
      return { generation: existing?.filter.generation ?? filter.generation, created: !existing };
    }
    if (call.verb === 'drop') return void this.sets.delete(call.set);
    if (call.verb === 'clear') {
      this.sets.set(call.set, this.empty(answer as Filter));
      return { generation: (answer as Filter).generation };
    }
    if (call.verb === 'import') {
      if (!call.source || this.sets.has(call.set)) return 'an import was executed that cannot be';
      const filter = answer as Filter;
      this.sets.set(call.set, call.source.set.imported(filter, this.clock, this.movesPerChange));
      return { generation: filter.generation };
    }
    const set = this.current(call);
    if (!set) return 'a call with an outdated handle was executed';
    return inSet(set, call, answer);
  }
}

function inSet(set: SetModel, call: Call, answer: unknown): unknown {
  const { queue } = set;
  switch (call.verb) {
    case 'add':
      return set.add(call.items, call.ttlMs);
    case 'discover': {
      const answers = set.add(call.items, call.ttlMs);
      queue?.push(call.items.filter((_, i) => answers[i] === Added.New));
      return answers;
    }
    case 'remove':
      return set.remove(call.items);
    case 'lease':
      return queue?.lease(call.max, call.ms);
    case 'ack':
      return settle(set, call, (entry) => queue?.remove(entry));
    case 'extend':
      return settle(set, call, ({ place }) => {
        if (place.in === 'lease') place.until = (queue?.now ?? 0) + call.ms;
      });
    case 'release': {
      queue?.moveDue();
      const given = new Set<NonNullable<ReturnType<QueueModel['at']>>>();
      const answers = settle(set, call, (entry) => given.add(entry), given);
      queue?.release([...given], call.ms, 'released', call.countAttempt);
      return answers;
    }
    case 'put-back':
    case 'purge': {
      if (call.verb === 'put-back') queue?.moveDue();
      const taken = call.letters.map(({ id, generation }) =>
        generation === call.generation ? queue?.letter(decodeEntryId(id)?.number ?? 0) : undefined,
      );
      const found = [...new Set(taken.flatMap((entry) => entry ?? []))];
      const seen = new Set<unknown>();
      const answers = taken.map((entry) => {
        if (!entry || seen.has(entry)) return Settled.Unknown;
        seen.add(entry);
        return Settled.Done;
      });
      if (call.verb === 'put-back') queue?.putBack(found);
      else for (const entry of found) queue?.remove(entry);
      return answers;
    }
    case 'open-sync':
      set.openSync(answer as string, call.spec);
      return { id: answer };
    case 'keep':
      return set.keep(call.items);
    default:
      return undefined;
  }
}

type Entries = NonNullable<ReturnType<QueueModel['at']>>;

/** `given`: entries that this call has settled already. */
function settle(
  { queue }: SetModel,
  { held, generation }: Call,
  change: (entry: Entries) => unknown,
  given = new Set<Entries>(),
): number[] {
  return held.map(({ lease, index, generation: own }) => {
    if (own !== generation) return FORGOTTEN;
    const entry = queue?.at(lease, index);
    if (entry && !given.has(entry)) {
      change(entry);
      return Settled.Done;
    }
    return queue?.isForgotten(lease, index) ? FORGOTTEN : Settled.Expired;
  });
}
