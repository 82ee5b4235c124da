import { Added, Removed, Settled, type Filter, type HostView } from '#store';
import { emptyHost } from '../../libs/store/src/empty-host.js';
import { decodeEntryId } from '../../libs/store/src/entry-id.js';
import type { Call, SyncEnd } from './calls.js';
import type { Limits } from './limits.js';
import { Violation } from './notes.js';
import { placeKey, type Entry } from './entry.js';
import { SetModel, wrongView } from './set-model.js';

/** A transaction's effect, according to its record. */
export type Event = { readonly at: number } & (
  | { readonly call: Call; readonly answer: unknown }
  | { readonly ended: SyncEnd }
  /** Due entries moved in the set of this generation. */
  | { readonly moved: string }
);

/**
 * The result for an id whose entry was forgotten or belongs to another set. It is Settled.Unknown, or Settled.Expired
 * if nothing is held there.
 */
export const FORGOTTEN = 9;

/** A lease's record, and the items that its rows show. */
export interface Taken {
  readonly number: number;
  readonly items: readonly string[];
}

/** All sets, as the transactions so far have left them. */
export class Model {
  readonly sets = new Map<string, SetModel>();
  /** Operations' answers, with their times. */
  readonly answers = new Map<string, { readonly at: number; readonly value: unknown }>();
  readonly clock = { now: 0 };

  constructor(private readonly limits: Limits) {}

  static of(events: readonly Event[], now: number, limits: Limits): Model {
    const model = new Model(limits);
    for (const event of events) model.apply(event);
    model.clock.now = now;
    return model;
  }

  /** A handle's set. Undefined if the handle is stale. */
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
    set?.queue?.lanes.place();
  }

  private empty(filter: Filter): SetModel {
    return new SetModel(filter, this.clock, this.limits);
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
      if (!call.source || this.sets.has(call.set)) return 'an impossible import was executed';
      const filter = answer as Filter;
      this.sets.set(call.set, call.source.set.imported(filter, this.clock, this.limits));
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
      return set.add(call.items, call);
    case 'discover': {
      const answers = set.discover(call.items, call.ttlMs);
      const fresh = call.items.filter((_, i) => answers[i] === Added.New);
      queue?.push(fresh, call.priority, call.laterMs);
      return answers;
    }
    case 'remove':
      return set.remove(call.items);
    case 'lease': {
      const { number, items } = answer as Taken;
      return { lease: number, held: queue?.lease(call, number, items) ?? [] };
    }
    case 'ack':
      return acknowledge(set, call);
    case 'extend':
      return settle(set, call, ({ place }) => {
        if (place.in === 'lease') place.until = (queue?.now ?? 0) + call.ms;
      });
    case 'release': {
      queue?.moveDue();
      const given = new Set<Entry>();
      const answers = settle(set, call, (entry) => given.add(entry), given);
      queue?.release([...given], call, 'released');
      for (const [i, { item }] of call.held.entries())
        if (answers[i] === FORGOTTEN) queue?.releaseForgotten(item, call.hostDelayMs);
      return answers;
    }
    case 'put-back':
    case 'purge': {
      if (call.verb === 'put-back') queue?.moveDue();
      const taken = call.letters.map(({ id, generation }) =>
        generation === call.generation
          ? queue?.letter(decodeEntryId(generation, id)?.number ?? 0)
          : undefined,
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
    case 'drop-entries':
      return listedIn(set, call).map((entry) => {
        if (entry) queue?.drop(entry);
        return entry ? Settled.Done : Settled.Unknown;
      });
    case 'forget-entries': {
      const entries = listedIn(set, call);
      const answers = set.remove(entries.flatMap((entry) => entry?.item ?? []));
      return entries.map((entry) => (entry ? answers.shift() : Removed.Moved));
    }
    case 'drop-host': {
      const { least, most } = queue?.dropHost(call.host) ?? { least: 0, most: 0 };
      const dropped = answer as number;
      if (dropped < least || dropped > most)
        throw new Violation(`${dropped} entries of host ${call.host} are dropped, not ${least}`);
      return dropped;
    }
    case 'set-host': {
      queue?.setHost(call.host, call.settings);
      queue?.lanes.place();
      const { view = emptyHost(set.filter, call.host), ...expected } = set.viewOf(call.host);
      const wrong = wrongView([{ ...expected, view }], [answer as HostView]);
      if (wrong !== undefined) throw new Violation(wrong);
      return answer;
    }
    default:
      return undefined;
  }
}

/** The entries that are still where they were listed. The first of several ids of an item counts. */
function listedIn({ queue }: SetModel, { verb, listed, generation }: Call): (Entry | undefined)[] {
  const found = new Set<string>();
  return listed.map(({ item, place, ...one }) => {
    const entry = one.generation === generation && queue?.entries.find((other) => placeKey(other) === place);
    const name = verb === 'drop-entries' ? place : item;
    if (!entry || found.has(name)) return undefined;
    found.add(name);
    return entry;
  });
}

function acknowledge(set: SetModel, call: Call): number[] {
  const { queue } = set;
  if (call.laterMs === 0) return settle(set, call, (entry) => queue?.settle(entry));
  const again = new Set<Entry>();
  const answers = settle(set, call, (entry) => again.add(entry), again);
  queue?.again([...again], call.laterMs);
  return answers;
}

/** `given` contains entries that this call has already settled. */
function settle(
  { queue }: SetModel,
  { held, generation }: Call,
  change: (entry: Entry) => unknown,
  given = new Set<Entry>(),
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
