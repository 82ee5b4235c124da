import { isDeepStrictEqual } from 'node:util';
import { Removed, type FilterSpec, type FilterStats, type HostView, type LeasedEntry } from '#store';
import { isCounting, OTHER_FINGERPRINT, type Call } from './calls.js';
import { HOSTS } from './items.js';
import { FORGOTTEN, type Model } from './model.js';
import { wrongView, type ExpectedView, type SetModel } from './set-model.js';
import { AgedLayers, CellLayers } from './layers.js';

/** A possible answer to a call: a text that identifies and describes it, and a comparison with an actual answer. */
export interface Expected {
  readonly text: string;
  matches(answer: unknown): boolean;
}

const DAY_MS = 86_400_000;

/** How a refusal's text starts. */
export const REFUSED = 'refused: ';

export const refused = (code: string): Expected => ({ text: `${REFUSED}${code}`, matches: () => false });

function equal(value: unknown): Expected {
  return {
    text: value === undefined ? 'nothing' : JSON.stringify(value),
    matches: (answer) => isDeepStrictEqual(answer, value),
  };
}

/**
 * The answer that a call would get now. Undefined if the call would have to run first. Once it has run, only a repeat
 * can be refused.
 */
export function expectedNow(
  model: Model,
  call: Call,
  { isRecorded = true, isRepeat = false } = {},
): Expected | undefined {
  const { verb, operation, spec } = call;
  const named = model.sets.get(call.set);
  const known = isRecorded ? model.answers.get(operation.id) : undefined;
  if (verb === 'tend') return equal(undefined);
  if (operation.fingerprint === OTHER_FINGERPRINT) return refused('IDEMPOTENCY_KEY_REUSED');
  if (verb === 'open-sync' && spec.semantics === 'multiset') return refused('SYNC_UNSUPPORTED');
  if (!isCounting(call)) return refused('NOT_COUNTING');
  if (verb === 'list') return listed(model, call);
  if (verb === 'open' && call.asOther) return refused('FILTER_NOT_FOUND');
  if (verb === 'create') {
    if (known) return asAnswered(call, known.value);
    return named && !isSame(named.filter, spec) ? refused('FILTER_EXISTS') : undefined;
  }
  if (verb === 'import')
    return known ? asAnswered(call, known.value) : named ? refused('FILTER_EXISTS') : undefined;
  if (verb === 'drop' || verb === 'clear')
    return known ? asAnswered(call, known.value) : named ? undefined : refused('FILTER_NOT_FOUND');
  // A sync is read after its opening, and may be gone by then. Dropping a host may take several changes.
  const isWhole =
    verb !== 'drop-host' && (verb !== 'open-sync' || named?.filter.generation === call.generation);
  const isSure = known && !isRepeat && isWhole;
  if (!named) return isSure ? asAnswered(call, known.value) : refused('FILTER_NOT_FOUND');
  if (verb === 'open') return equal({ generation: named.filter.generation, base: named.base });
  const set = model.current(call);
  if (!set) return isSure ? asAnswered(call, known.value) : refused('STALE');
  if (verb === 'lease' && known) {
    const { lease } = known.value as { lease: number };
    return leased(set.queue?.heldBy(lease).map(({ item, attempt }) => ({ item, attempt })) ?? []);
  }
  return known ? asAnswered(call, known.value) : inSet(model, set, call);
}

function isSame(one: FilterSpec, other: FilterSpec): boolean {
  return one.errorRate === other.errorRate && isDeepStrictEqual(one.urlProfile, other.urlProfile);
}

/** A page of names of one kind, and its last name if more follow. */
function listed({ sets }: Model, { spec, max, after = '' }: Call): Expected {
  const names = [...sets.values()].flatMap(({ filter }) => (filter.kind === spec.kind ? [filter.name] : []));
  const later = names.filter((name) => name > after).sort();
  const page = later.slice(0, max);
  return equal({ names: page, ...(later.length > max && { next: page.at(-1) }) });
}

/** The answer to a call that was executed. */
export function asAnswered({ verb }: Call, value: unknown): Expected {
  if (verb === 'lease') return leased((value as { held: { item: string; attempt: number }[] }).held);
  if (Array.isArray(value)) return answersOf(value as number[]);
  return equal(value);
}

function answersOf(values: readonly number[]): Expected {
  return {
    text: JSON.stringify(values),
    matches: (answer) =>
      Array.isArray(answer) &&
      answer.length === values.length &&
      values.every((value, i) =>
        value === FORGOTTEN ? answer[i] === 0 || answer[i] === 2 : answer[i] === value,
      ),
  };
}

function leased(held: readonly { item: string; attempt: number }[]): Expected {
  return {
    text: JSON.stringify(held),
    matches: (answer) =>
      isDeepStrictEqual(
        (answer as LeasedEntry[]).map(({ payload, attempt }) => ({ item: payload, attempt })),
        held,
      ),
  };
}

function inSet(model: Model, set: SetModel, call: Call): Expected | undefined {
  const { items, sync: id } = call;
  const { layers, sync, queue } = set;
  const ended = set.ended.get(id);
  const isOld = ended !== undefined && model.clock.now - ended.at > DAY_MS;
  const notThere = refused(ended && !isOld ? 'SYNC_ENDED' : 'SYNC_NOT_FOUND');
  switch (call.verb) {
    case 'add':
      return layers.fits(items) ? undefined : refused('FILTER_FULL');
    case 'discover': {
      const limited = set.limited(items);
      return layers.fits(items.filter((item) => !limited.has(item))) ? undefined : refused('FILTER_FULL');
    }
    case 'remove':
    case 'forget-entries':
      // Items are hidden in all layers that claim them, including a sync's layers.
      return [layers, sync?.layers].some((one) => one instanceof AgedLayers && one.hidesTooMany(items))
        ? refused('STORE_FULL')
        : undefined;
    case 'check':
      return equal(items.map((item) => (set.has(item) ? 1 : 0)));
    case 'count':
      return equal(items.map((item) => set.count(item)));
    case 'describe':
      return described(set);
    case 'export':
      // The parts are checked when they are imported.
      return { text: 'exported', matches: () => true };
    case 'lease':
      return queue?.isEmpty ? leased([]) : undefined;
    case 'host':
      return hostViews([set.viewOf(call.host)]);
    case 'hosts':
      return hostViews(HOSTS.map((host) => set.viewOf(host)));
    case 'entries':
      // The pages are checked against all states during the call.
      return { text: 'listed', matches: () => true };
    case 'dead-letters':
      return deadLetters(set);
    case 'open-sync':
      return sync ? refused('SYNC_EXISTS') : undefined;
    case 'keep':
      return sync?.id === id ? undefined : notThere;
    case 'get-sync':
      if (sync?.id === id) return equal('open');
      return ended ? equal(ended.state) : notThere;
    case 'commit-sync':
    case 'abandon-sync': {
      if (sync?.id === id) return undefined;
      const wanted = call.verb === 'commit-sync' ? 'committed' : 'abandoned';
      return ended?.state === wanted ? equal(wanted) : notThere;
    }
    default:
      return undefined;
  }
}

function hostViews(expected: readonly ExpectedView[]): Expected {
  return {
    text: JSON.stringify(expected),
    matches: (answer) => wrongView(expected, answer as HostView[]) === undefined,
  };
}

/** All certain dead letters, and entries that may be about to become dead. */
function deadLetters({ queue }: SetModel): Expected {
  const dead = (queue?.dead ?? []).map(({ entry: { item, attempt }, surely, reason }) => ({
    surely,
    letter: { item, attempt, reason },
  }));
  return {
    text: JSON.stringify(dead),
    matches: (answer) => {
      const found = [...(answer as { payload: string; attempt: number; reason: string }[])];
      // Matches certain ones first, because an uncertain entry could take an equal certain one's place.
      for (const { surely, letter } of dead.toSorted((a, b) => Number(b.surely) - Number(a.surely))) {
        const at = found.findIndex(({ payload: item, attempt, reason }) =>
          isDeepStrictEqual({ item, attempt, reason }, letter),
        );
        if (at >= 0) found.splice(at, 1);
        else if (surely) return false;
      }
      return found.length === 0;
    },
  };
}

function described({ base, layers: own, tally, exact, sync, queue }: SetModel): Expected {
  const counts = { ...tally, sync: sync && { listed: sync.listed, new: sync.fresh } };
  const cells = exact && own instanceof CellLayers ? { items: own.items, layers: own.layerStats } : undefined;
  const hidden = own instanceof AgedLayers ? own.hiddenItems : undefined;
  const entries = queue?.entries.length;
  const states = queue?.states;
  const hasDropped = queue?.hasDropped;
  return {
    text: JSON.stringify({ ...counts, ...cells, hidden, states }),
    matches: (answer) => {
      const {
        added,
        duplicate,
        removed,
        refused,
        items,
        layers,
        sync: view,
        queue: held,
        age,
      } = answer as FilterStats;
      const seen = {
        added,
        duplicate,
        removed,
        refused,
        sync: view && { listed: view.listed, new: view.new },
      };
      if (!isDeepStrictEqual(seen, counts)) return false;
      if (age?.hidden !== hidden) return false;
      if (cells && !isDeepStrictEqual({ items, layers }, cells)) return false;
      if (entries === undefined || !held) return held === undefined;
      const all = held.waiting + held.leased + held.delayed + held.scheduled + held.dead;
      // The store counts void entries until it removes them, or until they are due.
      if (held.forgotten > 0 || (base > 0 && held.scheduled > 0)) return all >= entries;
      if (hasDropped) return all === entries;
      return isDeepStrictEqual({ ...held, ...states }, { ...held });
    },
  };
}

export const removedSome = (answer: unknown): boolean =>
  Array.isArray(answer) && answer.includes(Removed.Removed);
