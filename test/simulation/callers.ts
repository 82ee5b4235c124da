import type { Filter, FilterSpec, QueueEntry } from '#store';
import { decodeEntryId, decodeEntryName } from '../../libs/store/src/entry-id.js';
import { KEYLESS, MUTATIONS, type Call, type Exported, type Held, type Listed, type Verb } from './calls.js';
import { HOSTS, itemOf } from './items.js';
import type { Listing } from './listing.js';
import type { Refusal } from './judge.js';
import { TWIN, type CallStep, type Plan } from './plan.js';
import { syncSpecOf } from './specs.js';
import type { Answer } from './store-calls.js';
import type { Time } from './open-store.js';

/** The call whose answer provides the ids that another call needs. */
const NEEDED: Partial<Record<Verb, Verb>> = {
  ack: 'lease',
  release: 'lease',
  extend: 'lease',
  'put-back': 'dead-letters',
  purge: 'dead-letters',
  keep: 'open-sync',
  import: 'drop',
  'drop-entries': 'entries',
  'forget-entries': 'entries',
};

const PROFILE = { stripParameters: ['utm_source'] };
const RECORDED: ReadonlySet<Verb> = new Set(MUTATIONS);
/** These calls occur less often than others, so they are repeated more often. */
const SETTLING: ReadonlySet<Verb> = new Set([
  'ack',
  'release',
  'extend',
  'put-back',
  'purge',
  'keep',
  'import',
  'drop-entries',
  'forget-entries',
  'drop-host',
  'set-host',
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
  'entries',
  'drop-entries',
  'forget-entries',
]);
/** Verbs on ids of listed entries. */
const OF_LISTED: ReadonlySet<Verb> = new Set(['drop-entries', 'forget-entries']);
const OF_HOSTS: ReadonlySet<Verb> = new Set(['host', 'hosts', 'set-host', 'drop-host']);

/** Tracks the answers that callers have received, and chooses their next calls. */
export class Callers {
  held: (Held & { set: string })[] = [];
  private readonly calls: Call[] = [];
  /** Ids of operations that returned or were refused. */
  private readonly answered = new Set<string>();
  private readonly handles = new Map<string, Filter>();
  private readonly letters: (Call['letters'][number] & { set: string })[] = [];
  private readonly listed: Listed[] = [];
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

  /** A step's call. Undefined if its set has no such call. */
  next({ verb, set: n, items, number, ms, flag, caller, ...order }: CallStep): Call | undefined {
    const spec = this.plan.sets[n];
    if (!spec) return undefined;
    const { name: set, kind, semantics, maxAgeSeconds, perHost } = spec;
    if (OF_QUEUE.has(verb) && kind !== 'visited-set') return undefined;
    if (OF_HOSTS.has(verb) && !perHost) return undefined;
    if (semantics === 'multiset' && (verb.endsWith('sync') || verb === 'keep')) return undefined;
    // Here a set that is dropped and created again has the same seed, so its old entries' ids may match its new ones.
    const generation = this.handles.get(set)?.generation;
    const held = this.held.filter((one) => one.generation === generation);
    const letters = this.letters.filter((one) => one.generation === generation);
    const listed = this.listed.filter((one) => one.generation === generation);
    const syncs = this.syncs.filter((one) => one.set === set);
    const sync = syncs.at(number % 8 === 0 ? number % syncs.length : -1)?.id;
    if (['get-sync', 'commit-sync', 'abandon-sync'].includes(verb) && sync === undefined) return undefined;
    const source = this.exports.findLast(({ filter }) => fits(spec, filter));
    if (verb === 'import' && !source) return undefined;
    // First makes the call whose answer this one needs.
    const isLacking =
      (['ack', 'release', 'extend'].includes(verb) && held.length === 0) ||
      (['put-back', 'purge'].includes(verb) && letters.length === 0) ||
      (['drop-entries', 'forget-entries'].includes(verb) && listed.length === 0) ||
      (verb === 'keep' && sync === undefined) ||
      // An import's name should usually be free.
      (verb === 'import' && generation !== undefined && number % 4 > 0);
    // A missing set is usually created first.
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
          priority: order.priority,
          // Entries in sets that age can't come back.
          laterMs: maxAgeSeconds === undefined ? (order.laterMs ?? 0) : 0,
          max: 1 + (number % 4),
          ...(perHost && { maxPerHost: order.maxPerHost, hostDelayMs: order.hostDelayMs ?? 0 }),
          ...this.ofHost(spec, order),
        },
        // For a multiset, sometimes enough copies to overflow counters.
        items:
          semantics === 'multiset' && flag
            ? items.flatMap((n) => Array<string>(number % 3 === 0 ? 17 : 6).fill(itemOf(n)))
            : items.map(itemOf),
        ttlMs: maxAgeSeconds !== undefined && flag ? ms : undefined,
        onlyAbsent: semantics === 'multiset' && number % 5 < 2,
        held: some(held, number),
        letters: some(letters, number),
        ...(OF_LISTED.has(verb) && ofListed(some(listed, number))),
        source,
        ...(verb === 'create' && number % 8 === 0 && { spec: otherThan(spec, flag) }),
        asOther: verb === 'open' && number % 8 === 0,
        after: number % 3 === 0 ? set : undefined,
        tear: source && number % 3 === 0 ? number % source.parts.length : undefined,
      },
      caller,
    );
  }

  /** A call's host, and what the call does to it. */
  private ofHost(
    { perHost }: FilterSpec,
    { host = 0, state, own, blockMs }: Partial<CallStep>,
  ): Pick<Call, 'host' | 'query' | 'settings'> {
    const name = HOSTS[host % HOSTS.length] as string;
    const { maxUrls, ...limits } = own ?? {};
    return {
      host: name,
      query: { ...(state && { state }), ...(perHost && host >= HOSTS.length && { host: name }) },
      settings: {
        own: { ...limits, ...(maxUrls !== undefined && perHost?.maxUrls !== undefined && { maxUrls }) },
        ...(blockMs !== undefined && { blockedUntil: this.time.now + blockMs }),
      },
    };
  }

  callOf(given: Partial<Call> & Pick<Call, 'verb' | 'set'>, caller = false): Call {
    const { set } = given;
    const spec = this.plan.sets.find(({ name }) => name === set);
    if (!spec) throw new RangeError(`there is no set ${set}`);
    const filter = this.handles.get(set);
    const verb = filter || KEYLESS.has(given.verb) ? given.verb : 'open';
    const call: Call = {
      ...{ spec, generation: filter?.generation ?? '', base: filter?.base ?? 0 },
      ...{ items: [], max: 1, ms: 1_000, countAttempt: true, laterMs: 0, held: [], letters: [], sync: '' },
      ...{ listed: [], hostDelayMs: 0, host: '', settings: {}, query: {} },
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

  /** An earlier call to send again. */
  earlier(number: number): Call | undefined {
    // Callers learn an id that was made for them from the answer.
    const known = this.calls.filter(
      ({ operation: { id, origin } }) => origin === 'caller' || this.answered.has(id),
    );
    const settling = known.filter(({ verb }) => SETTLING.has(verb));
    const isSettling = number % 3 === 0 && settling.length > 0;
    const recorded = isSettling ? settling : known.filter(({ verb }) => RECORDED.has(verb));
    // Usually one of the last calls, because other calls' records may be gone.
    const call = number % 4 === 0 ? recorded[number % recorded.length] : recorded.at(-1 - (number % 5));
    return call && { ...call, tear: undefined, operation: { ...call.operation, repeat: true } };
  }

  learn({ set, verb, generation, operation }: Call, { filter, leased, letters, sync, value }: Answer): void {
    this.answered.add(operation.id);
    if (filter) {
      this.handles.set(set, filter);
      this.filters.set(`${filter.generation} ${filter.base}`, filter);
    }
    for (const { id, payload } of leased ?? []) {
      const { number = 0, index = 0 } = decodeEntryId(generation, id) ?? {};
      this.held.push({ set, id, generation, lease: number, index, item: payload });
    }
    for (const { id, payload } of letters ?? []) this.letters.push({ set, id, generation, item: payload });
    if (sync !== undefined && !this.syncs.some(({ id }) => id === sync)) this.syncs.push({ set, id: sync });
    if (verb === 'drop' || (verb === 'commit-sync' && value === 'committed')) this.handles.delete(set);
  }

  /** Learns the ids of listed entries whose places are known. */
  learnEntries({ generation }: Call, listed: readonly QueueEntry[], listing: Listing): void {
    for (const { id, payload: item, state } of listed) {
      const { birth = 0 } = decodeEntryName(generation, id) ?? {};
      const place = listing.placeOf(item, birth, state);
      if (place !== undefined) this.listed.push({ id, generation, item, birth, place });
    }
  }

  learnExport(exported: Exported): void {
    // After a sync, a set has a different geometry, and the model doesn't know the order in which its layers were
    // filled.
    if (exported.filter.base === 0 && exported.set.exact) this.exports.push(exported);
  }

  /** Handles a call's refusal. */
  learnRefusal({ set, operation }: Call, code: Refusal | undefined): void {
    this.answered.add(operation.id);
    if (code === 'STALE' || code === 'FILTER_NOT_FOUND') this.handles.delete(set);
  }
}

/** Whether a set can be imported under this one's name. */
function fits({ kind, type, semantics, layers, maxAgeSeconds }: FilterSpec, filter: Filter): boolean {
  const same = filter.kind === kind && filter.type === type && filter.semantics === semantics;
  return same && !filter.layers === !layers && filter.maxAgeSeconds === maxAgeSeconds;
}

/** A different set with the same name and cells. */
function otherThan(spec: FilterSpec, byProfile: boolean): FilterSpec {
  return byProfile && spec.kind === 'visited-set'
    ? { ...spec, urlProfile: PROFILE }
    : { ...spec, errorRate: spec.errorRate * 2 };
}

/** A call's entries, and their items. */
const ofListed = (listed: readonly Listed[]): Pick<Call, 'listed' | 'items'> => ({
  listed,
  items: listed.map(({ item }) => item),
});

/** A few values, chosen by a number. */
function some<T>(values: readonly T[], number: number): T[] {
  if (values.length === 0) return [];
  const from = number % 3 === 0 ? number % values.length : Math.max(0, values.length - 1 - (number % 4));
  return values.slice(from, from + 1 + (number % 3));
}
