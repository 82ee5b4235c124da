import type { Filter, FilterSpec } from '#store';
import { decodeEntryId } from '../../libs/store/src/entry-id.js';
import { KEYLESS, MUTATIONS, type Call, type Exported, type Held, type Verb } from './calls.js';
import { itemOf } from './items.js';
import type { Refusal } from './judge.js';
import { syncSpecOf, TWIN, type Plan, type Step } from './plan.js';
import type { Answer } from './store-calls.js';
import type { Time } from './open-store.js';

/** The call that answers with the ids that another one needs. */
const NEEDED: Partial<Record<Verb, Verb>> = {
  ack: 'lease',
  release: 'lease',
  extend: 'lease',
  'put-back': 'dead-letters',
  purge: 'dead-letters',
  keep: 'open-sync',
  import: 'drop',
};

const PROFILE = { stripParameters: ['utm_source'] };
const RECORDED: ReadonlySet<Verb> = new Set(MUTATIONS);
/** Less often called than others, and so repeated more often. */
const SETTLING: ReadonlySet<Verb> = new Set([
  'ack',
  'release',
  'extend',
  'put-back',
  'purge',
  'keep',
  'import',
]);
const OF_QUEUE: ReadonlySet<Verb> = new Set([
  'discover',
  'lease',
  'ack',
  'release',
  'extend',
  'dead-letters',
  'put-back',
  'purge',
]);

/** What callers have been answered, and what they call next. */
export class Callers {
  held: (Held & { set: string })[] = [];
  private readonly calls: Call[] = [];
  private readonly handles = new Map<string, Filter>();
  private readonly letters: (Call['letters'][number] & { set: string })[] = [];
  private readonly syncs: { set: string; id: string }[] = [];
  private readonly exports: Exported[] = [];
  /** Handles by generation and base, for repeats. */
  private readonly filters = new Map<string, Filter>();

  constructor(
    private readonly plan: Plan,
    private readonly time: Time,
  ) {}

  handle(set: string): Filter | undefined {
    return this.handles.get(set);
  }

  /** The handle that a call uses. */
  filterOf({ generation, base }: Call): Filter | undefined {
    return this.filters.get(`${generation} ${base}`);
  }

  /** The call of a step; undefined if its set has no such call. */
  next({ verb, set: n, items, number, ms, flag, caller }: Extract<Step, { do: 'call' }>): Call | undefined {
    const spec = this.plan.sets[n];
    if (!spec) return undefined;
    const { name: set, kind, semantics, maxAgeSeconds } = spec;
    if (OF_QUEUE.has(verb) && kind !== 'visited-set') return undefined;
    if (semantics === 'multiset' && (verb.endsWith('sync') || verb === 'keep')) return undefined;
    // A set that is dropped and made again has the same seed here: ids of its old entries may fit its new ones.
    const generation = this.handles.get(set)?.generation;
    const held = this.held.filter((one) => one.generation === generation);
    const letters = this.letters.filter((one) => one.generation === generation);
    const syncs = this.syncs.filter((one) => one.set === set);
    const sync = syncs.at(number % 8 === 0 ? number % syncs.length : -1)?.id;
    if (['get-sync', 'commit-sync', 'abandon-sync'].includes(verb) && sync === undefined) return undefined;
    const source = this.exports.findLast(({ filter }) => fits(spec, filter));
    if (verb === 'import' && !source) return undefined;
    // What a call needs is fetched first.
    const isLacking =
      (['ack', 'release', 'extend'].includes(verb) && held.length === 0) ||
      (['put-back', 'purge'].includes(verb) && letters.length === 0) ||
      (verb === 'keep' && sync === undefined) ||
      // The name of an import is to be free, mostly.
      (verb === 'import' && generation !== undefined && number % 4 > 0);
    // A set that is not there is mostly made first.
    const isGone = generation === undefined && !KEYLESS.has(verb) && number % 4 > 0;
    const makes = source ? 'import' : set === TWIN ? 'open' : 'create';
    return this.callOf(
      {
        ...{
          verb: isGone ? makes : isLacking ? (NEEDED[verb] ?? verb) : verb,
          set,
          ms,
          sync: sync ?? '',
          countAttempt: flag,
          max: 1 + (number % 4),
        },
        // A multiset also has counters that overflow.
        items:
          semantics === 'multiset' && flag
            ? items.flatMap((n) => Array<string>(number % 3 === 0 ? 17 : 6).fill(itemOf(n)))
            : items.map(itemOf),
        ttlMs: maxAgeSeconds !== undefined && flag ? ms : undefined,
        held: some(held, number),
        letters: some(letters, number),
        source,
        ...(verb === 'create' && number % 8 === 0 && { spec: otherThan(spec, flag) }),
        asOther: verb === 'open' && number % 8 === 0,
        after: number % 3 === 0 ? set : undefined,
        tear: source && number % 3 === 0 ? number % source.parts.length : undefined,
      },
      caller,
    );
  }

  callOf(given: Partial<Call> & Pick<Call, 'verb' | 'set'>, caller = false): Call {
    const { set } = given;
    const spec = this.plan.sets.find(({ name }) => name === set);
    if (!spec) throw new RangeError(`there is no set ${set}`);
    const filter = this.handles.get(set);
    const verb = filter || KEYLESS.has(given.verb) ? given.verb : 'open';
    const call: Call = {
      ...{ spec, generation: filter?.generation ?? '', base: filter?.base ?? 0 },
      ...{ items: [], max: 1, ms: 1_000, countAttempt: true, held: [], letters: [], sync: '' },
      ...given,
      verb,
      ...(verb === 'open-sync' && { spec: syncSpecOf(spec) }),
      operation: {
        id: `operation-${this.calls.length}`,
        fingerprint: 'f',
        deadline: Infinity,
        ...(caller
          ? { origin: 'caller', repeat: true }
          : { origin: 'made', repeat: false, madeAt: this.time.now }),
      },
    };
    this.calls.push(call);
    return call;
  }

  /** An earlier call, to be sent again. */
  earlier(number: number): Call | undefined {
    const settling = this.calls.filter(({ verb }) => SETTLING.has(verb));
    const isSettling = number % 3 === 0 && settling.length > 0;
    const recorded = isSettling ? settling : this.calls.filter(({ verb }) => RECORDED.has(verb));
    // Mostly one of the last: the records of others may be gone.
    const call = number % 4 === 0 ? recorded[number % recorded.length] : recorded.at(-1 - (number % 5));
    return call && { ...call, tear: undefined, operation: { ...call.operation, repeat: true } };
  }

  learn({ set, verb, generation }: Call, { filter, leased, letters, sync, value }: Answer): void {
    if (filter) {
      this.handles.set(set, filter);
      this.filters.set(`${filter.generation} ${filter.base}`, filter);
    }
    for (const { id, payload } of leased ?? []) {
      const { number = 0, index = 0 } = decodeEntryId(id) ?? {};
      this.held.push({ set, id, generation, lease: number, index, item: payload });
    }
    for (const { id, payload } of letters ?? []) this.letters.push({ set, id, generation, item: payload });
    if (sync !== undefined && !this.syncs.some(({ id }) => id === sync)) this.syncs.push({ set, id: sync });
    if (verb === 'drop' || (verb === 'commit-sync' && value === 'committed')) this.handles.delete(set);
  }

  learnExport(exported: Exported): void {
    // A sync gives a set another geometry, and its list is in an order that the model does not know.
    if (exported.filter.base === 0 && exported.set.exact) this.exports.push(exported);
  }

  /** A call was refused. */
  learnRefusal({ set }: Call, code: Refusal | undefined): void {
    if (code === 'STALE' || code === 'FILTER_NOT_FOUND') this.handles.delete(set);
  }
}

/** Whether a set can be imported under the name of this one. */
function fits({ kind, type, semantics, layers, maxAgeSeconds }: FilterSpec, filter: Filter): boolean {
  const same = filter.kind === kind && filter.type === type && filter.semantics === semantics;
  return same && !filter.layers === !layers && filter.maxAgeSeconds === maxAgeSeconds;
}

/** Another set of the same name and cells. */
function otherThan(spec: FilterSpec, byProfile: boolean): FilterSpec {
  return byProfile && spec.kind === 'visited-set'
    ? { ...spec, urlProfile: PROFILE }
    : { ...spec, errorRate: spec.errorRate * 2 };
}

/** A few of the values, chosen by a number. */
function some<T>(values: readonly T[], number: number): T[] {
  if (values.length === 0) return [];
  const from = number % 3 === 0 ? number % values.length : Math.max(0, values.length - 1 - (number % 4));
  return values.slice(from, from + 1 + (number % 3));
}
