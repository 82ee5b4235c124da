import {
  ENTRY_STATES,
  MAX_LEASE_MS,
  PRIORITIES,
  type EntryState,
  type FilterSpec,
  type PerHost,
  type Priority,
} from '#store';
import { HOSTS, MOST_ITEMS } from './items.js';
import { DEFAULT_SIZES, type Sizes } from '../../libs/store/src/embedded/database/sizes.js';
import { Random } from '../support/random.js';
import type { Verb } from './calls.js';
import { FEATURES, type Feature } from './features.js';
import type { Limits } from './limits.js';
import { byHost, DELAYS_MS, limitsOf, specOf } from './specs.js';

export interface CallStep {
  readonly do: 'call';
  readonly verb: Verb;
  readonly set: number;
  readonly items: readonly number[];
  readonly number: number;
  readonly ms: number;
  readonly flag: boolean;
  readonly caller: boolean;
  readonly priority?: Priority | undefined;
  readonly laterMs?: number;
  /** A host, or all hosts if it isn't a host's number. */
  readonly host?: number;
  readonly hostDelayMs?: number;
  readonly maxPerHost?: number | undefined;
  readonly state?: EntryState | undefined;
  readonly own?: PerHost;
  readonly blockMs?: number | undefined;
}

/**
 * A history's next event. Its numbers choose among the things that exist at that time, so a step also makes sense
 * without the other steps.
 */
export type Step =
  | CallStep
  /**
   * Sends an earlier call again. With `alters`, sends another call under the same operation, once nothing is in
   * progress.
   */
  | { readonly do: 'repeat'; readonly number: number; readonly alters: boolean }
  /** Runs the waiting changes, and commits them if `commits` is true. `tell` tells the callers. */
  | { readonly do: 'run'; readonly commits: boolean; readonly full: boolean }
  | { readonly do: 'tell' }
  | { readonly do: 'turns'; readonly number: number }
  /** Lets all calls in progress end. */
  | { readonly do: 'settle' }
  | { readonly do: 'time'; readonly ms: number }
  /** Kills the process and starts another, or closes the store first. */
  | { readonly do: 'restart'; readonly kill: boolean }
  /** Does the same, and damages a row on a copy of the disk. */
  | { readonly do: 'damage'; readonly kill: boolean };

/** A history's plan: all its random choices. */
export interface Plan {
  readonly seed: number;
  readonly limits: Limits;
  readonly sets: readonly FilterSpec[];
  readonly steps: readonly Step[];
}

/** A set like the first one, which exists only once it is created or imported. */
export const TWIN = 'twin';
const SHORT_TIMES = [1, 499, 1_000, 5_000, 10_001, 10_001, 31_000];
const TIMES = [1, 499, 1_000, 5_000, 10_001, 31_000, 61_000, 140_000, 3_600_000];
const HOSTS_SEED = 1_000_000;
const ORDER_SEED = 2_000_000;
const BACK_SEED = 3_000_000;
const SCHEDULES_MS = [1, 500, 5_000, 30_000, 150_000];
/** Longer than a history, because the model doesn't know which entries come due while a sync opens. */
export const LONGEST_MS = 10 * 86_400_000;
/** Verbs of per-host queues, and verbs that list and drop entries. */
const OF_HOSTS: readonly Verb[] = ['set-host', 'set-host', 'host', 'hosts', 'lease', 'lease'];
const DROPS: readonly Verb[] = [
  'entries',
  'entries',
  'drop-entries',
  'forget-entries',
  'drop-host',
  'drop-host',
];
const TIMES_BACK = [-1, -5_000, -140_000];

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const features = new Set(
    FEATURES.filter((feature) => random.below(100) < (feature === 'clock set back' ? 20 : 55)),
  );
  // Most sets that age share cells and hide items. Hiding needs removals, and the model for syncs doesn't support
  // collisions.
  if (features.has('age') && random.below(3) > 0) {
    for (const feature of ['syncs', 'clock set back', 'names'] as const) features.delete(feature);
    features.add('remove');
  }
  const hosts = new Random(seed + HOSTS_SEED);
  // If the clock goes back, the queue keeps its last call's time, which the model doesn't know.
  const hasHosts = hosts.below(2) === 0 && !features.has('clock set back');
  if (hasHosts) {
    features.add('queue');
    features.delete('age');
  }
  const count = 1 + random.below(2);
  const sets = Array.from({ length: count }, (_, n) => specOf(random, features, `set-${n}`));
  if (hasHosts) for (const [n, spec] of sets.entries()) sets[n] = byHost(hosts, spec);
  const drops = features.has('queue') && hosts.below(2) === 0;
  if (features.has('transfer')) sets[1] = { ...(sets[0] as FilterSpec), name: TWIN };
  const limits = {
    checkpointBytes: random.pick([0, 200, 1_000, 2 ** 20]),
    maxMarks: random.pick([0, 1, 3, 100]),
    maxSyncForgets: random.pick([1, 3, 100]),
    maxHidden: random.pick([2, 100, 100]),
    syncIdleMs: 60_000,
    maxRecordBytes: random.below(8) === 0 ? 300 : undefined,
    sizes: sizesOf(random, features, drops),
  };
  const weights = [...verbsOf(features), ...(hasHosts ? OF_HOSTS : []), ...(drops ? DROPS : [])];
  const items = 3 + random.below(MOST_ITEMS - 3);
  const length = 40 + random.below(60);
  const drawn: Step[] = [];
  while (drawn.length < length) drawn.push(stepOf(random, features, weights, sets.length, items));
  const steps =
    features.has('clock set back') && features.has('queue')
      ? aroundSetBacks(new Random(BACK_SEED + seed), sets.length, drawn)
      : drawn;
  const order = new Random(ORDER_SEED + seed);
  if (order.below(3) === 0) return { seed, limits, sets, steps };
  return { seed, limits, sets, steps: steps.map((step) => inOrder(order, features, step)) };
}

/**
 * Before the clock is set back, starts a lease or a delay of the longest possible time. Its end is then too far ahead.
 * Lists the entries afterwards.
 */
function aroundSetBacks(random: Random, sets: number, steps: readonly Step[]): Step[] {
  return steps.flatMap((step): Step[] => {
    if (step.do !== 'time' || step.ms >= 0) return [step];
    const set = random.below(sets);
    const call = (verb: Verb): Step => ({
      ...{ do: 'call', verb, set, items: [random.below(MOST_ITEMS)], number: random.below(2 ** 16) },
      ...{ ms: MAX_LEASE_MS, flag: random.below(2) === 0, caller: false },
    });
    const begins: Verb[] = ['discover', 'lease', ...random.pick<Verb[]>([[], ['extend'], ['release']])];
    const settle = { do: 'settle' } as const;
    return [...begins.flatMap((verb) => [call(verb), settle]), step, call('entries')];
  });
}

/** Gives new entries a priority, schedules some of them, and chooses hosts and their limits. */
function inOrder(random: Random, features: ReadonlySet<Feature>, step: Step): Step {
  if (step.do !== 'call') return step;
  const times = features.has('syncs') ? [LONGEST_MS] : SCHEDULES_MS;
  const [priority, laterMs] = [random.pick([undefined, ...PRIORITIES]), random.pick(times)];
  const sometimes = <T>(value: T): T | undefined => (random.below(3) === 0 ? value : undefined);
  return {
    ...{ ...step, priority, laterMs: random.below(3) === 0 ? laterMs : 0 },
    host: random.below(2 * HOSTS.length),
    hostDelayMs: sometimes(random.pick(DELAYS_MS)) ?? 0,
    maxPerHost: sometimes(1 + random.below(2)),
    state: sometimes(random.pick(ENTRY_STATES)),
    own: limitsOf(random, 0),
    blockMs: sometimes(random.pick(DELAYS_MS)),
  };
}

/** So small that even a history's few items need a second row, slice or page. */
function sizesOf(random: Random, features: ReadonlySet<Feature>, drops: boolean): Sizes {
  const small = {
    ...{ rowBytes: random.pick([30, 100]), leasePortion: 1 + random.below(3), blockBytes: 1, headRows: 1 },
    ...{ blocksPerSlice: 1, blocksPerIdleSlice: 2, recordsPerSlice: 1 + random.below(4), purgedPerSlice: 2 },
    ...{ entriesPerSlice: 2, entriesPerPage: 1 + random.below(2), lettersPerPage: 1 + random.below(2) },
    ...{ sweptPerSlice: 1 + random.below(2), sweptRowsPerSlice: 1, itemsPerTurn: 2, shownPerTable: 1 },
    // Void entries count until a sweep removes them, and the model doesn't know when.
    ...(!features.has('remove') && !features.has('age') && !drops && { movesPerChange: 1 + random.below(3) }),
  };
  const drawn = Object.entries(small).filter(() => random.below(2) === 0);
  return { ...DEFAULT_SIZES, ...Object.fromEntries(drawn) };
}

/** Each verb as often as its weight. */
function verbsOf(features: ReadonlySet<Feature>): Verb[] {
  const verbs: Verb[] = ['create', 'create', 'add', 'add', 'add', 'check'];
  if (features.has('remove')) verbs.push('remove', 'remove', 'remove');
  if (features.has('age')) verbs.push('add', 'add', 'add', 'remove', 'remove', 'remove', 'check', 'check');
  if (features.has('queue'))
    verbs.push(
      ...([
        'discover',
        'discover',
        'discover',
        'lease',
        'lease',
        'lease',
        'ack',
        'release',
        'release',
      ] as const),
      ...(['extend', 'extend', 'extend', 'dead-letters', 'put-back', 'purge'] as const),
    );
  if (features.has('dead-letters') && features.has('queue'))
    verbs.push(
      'discover',
      'lease',
      'lease',
      'dead-letters',
      ...(['release', 'release', 'put-back', 'put-back', 'put-back', 'purge', 'purge', 'purge'] as const),
    );
  if (features.has('syncs'))
    verbs.push(
      'open-sync',
      'open-sync',
      'keep',
      'keep',
      'keep',
      'commit-sync',
      'abandon-sync',
      'get-sync',
      'tend',
    );
  if (features.has('transfer')) verbs.push('export', 'export', 'export', ...Array<Verb>(5).fill('import'));
  if (features.has('names')) verbs.push('open', 'clear', 'drop', 'create', 'list', 'list');
  if (features.has('reads')) verbs.push('check', 'count', 'describe');
  return verbs;
}

function stepOf(
  random: Random,
  features: ReadonlySet<Feature>,
  verbs: readonly Verb[],
  sets: number,
  items: number,
): Step {
  const drawn = random.below(100);
  if (drawn < 52) {
    return {
      do: 'call',
      verb: random.pick(verbs),
      set: random.below(sets),
      items: Array.from({ length: random.pick([1, 1, 2, 3, 5]) }, () => random.below(items)),
      number: random.below(2 ** 16),
      ms: random.pick([1, 500, 5_000, 30_000]),
      flag: random.below(2) === 0,
      caller: random.below(2) === 0,
    };
  }
  if (drawn < 57)
    return features.has('repeats')
      ? { do: 'repeat', number: random.below(2 ** 16), alters: random.below(5) === 0 }
      : { do: 'settle' };
  if (drawn < 64) return { do: 'settle' };
  if (drawn < 74) {
    const fails = features.has('faults') && random.below(6) === 0;
    return { do: 'run', commits: !fails, full: fails && random.below(2) === 0 };
  }
  if (drawn < 82) return { do: 'tell' };
  if (drawn < 87) return { do: 'turns', number: 1 + random.below(6) };
  if (drawn < 96) {
    const isBack = features.has('clock set back') && random.below(4) === 0;
    // Items should not expire at each step.
    const ahead = features.has('age') && random.below(8) > 0 ? SHORT_TIMES : TIMES;
    return { do: 'time', ms: random.pick(isBack ? TIMES_BACK : ahead) };
  }
  if (features.has('damage') && random.below(2) === 0) return { do: 'damage', kill: random.below(2) === 0 };
  return features.has('kills') ? { do: 'restart', kill: random.below(4) > 0 } : { do: 'settle' };
}
