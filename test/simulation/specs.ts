import { planGeometry, planLayers, SEED_BYTES } from '#bloom';
import type { FilterSpec, PerHost } from '#store';
import type { Random } from '../support/random.js';
import type { Feature } from './features.js';
import { CROWDED, CROWDED_SEED, ONE_SEGMENT } from './items.js';

const MANY_SEGMENTS = { maxSegmentBytes: 2 ** 16, minSegments: 3, minSegmentBytes: 1 };
/** At the first rate no two items collide. At the second some do. */
const RATES = { exact: 1e-9, colliding: 0.05 } as const;
/** A host's longest delay. */
export const MOST_DELAY_MS = 10_000;
/** Hosts' delays. */
export const DELAYS_MS = [1, 5_000, MOST_DELAY_MS];

/** A random set. */
export function specOf(random: Random, features: ReadonlySet<Feature>, name: string): FilterSpec {
  // If the clock goes back, a set that ages keeps its last call's time, which the model doesn't know.
  const ages = features.has('age') && !features.has('clock set back') && random.below(3) > 0;
  // Only visited sets age.
  const kind = ages || (features.has('queue') && random.below(4) > 0) ? 'visited-set' : 'filter';
  const syncs = features.has('syncs');
  const standard = kind === 'filter' && !ages && random.below(6) === 0;
  const multiset = kind === 'filter' && !ages && !standard && random.below(3) === 0;
  const collides = !syncs && random.below(2) === 0;
  const crowded = ages && !syncs;
  const errorRate = crowded ? CROWDED.errorRate : collides ? RATES.colliding : RATES.exact;
  // Sets that age estimate their items, so they stay far from their capacity.
  const capacity = (ages ? 40 : 2) + random.below(12);
  const cellBits = ages ? 8 : standard ? 1 : 4;
  const segmentation = random.below(3) === 0 && !crowded ? MANY_SEGMENTS : ONE_SEGMENT;
  const sizing = crowded ? CROWDED : ({ capacity, errorRate, cellBits } as const);
  const layers = features.has('growth') && random.below(3) > 0 && planLayers(sizing, segmentation, Infinity);
  return {
    name,
    kind,
    type: standard ? 'standard' : 'counting',
    semantics: multiset ? 'multiset' : 'set',
    capacity: sizing.capacity,
    errorRate,
    ...(layers ? { geometry: layers[0].geometry, layers } : { geometry: planGeometry(sizing, segmentation) }),
    seed: crowded ? CROWDED_SEED : random.bytes(SEED_BYTES),
    ...(kind === 'visited-set' && features.has('dead-letters') && { maxAttempts: 1 + random.below(2) }),
    ...(ages && { maxAgeSeconds: 130 }),
  };
}

/** A visited set that grows, with a per-host queue. */
export function byHost(random: Random, spec: FilterSpec): FilterSpec {
  const { kind, maxAgeSeconds } = spec;
  if (kind !== 'visited-set' || maxAgeSeconds !== undefined) return spec;
  return withHosts(spec, limitsOf(random, 1));
}

function withHosts(spec: FilterSpec, perHost: PerHost): FilterSpec {
  const sizing = { ...spec, cellBits: spec.geometry.cellBits };
  const planned = planLayers(sizing, { ...ONE_SEGMENT, spread: 1 }, Infinity);
  return { ...spec, geometry: planned[0].geometry, layers: planned, perHost };
}

/** A set for tens of items that don't collide. */
export function specFor(name: string, kind: FilterSpec['kind'], more: Partial<FilterSpec> = {}): FilterSpec {
  const sizing = { capacity: 40, errorRate: RATES.exact };
  const geometry = planGeometry({ ...sizing, cellBits: 4 }, ONE_SEGMENT);
  const seed = Buffer.alloc(SEED_BYTES, 'unseen');
  return { name, kind, type: 'counting', semantics: 'set', ...sizing, geometry, seed, ...more };
}

/** A visited set for tens of items, with a per-host queue. */
export const hostsFor = (name: string, perHost: PerHost): FilterSpec =>
  withHosts(specFor(name, 'visited-set'), perHost);

/** A sync's spec for a set, with room for all of a history's items. */
export function syncSpecOf(spec: FilterSpec): FilterSpec {
  const { errorRate, layers, geometry } = spec;
  const sizing = { capacity: 60, errorRate, cellBits: geometry.cellBits };
  const { segments, spread } = geometry;
  const segmentation = { ...ONE_SEGMENT, minSegments: segments, spread };
  const planned = layers && planLayers(sizing, segmentation, Infinity);
  const { layers: _layers, ...rest } = spec;
  return {
    ...{ ...rest, capacity: sizing.capacity },
    ...(planned
      ? { geometry: planned[0].geometry, layers: planned }
      : { geometry: planGeometry(sizing, segmentation) }),
  };
}

export function limitsOf(random: Random, leastDelayMs: number): PerHost {
  const some = () => random.below(2) === 0;
  return {
    ...(some() && { delayMs: random.pick([leastDelayMs, ...DELAYS_MS]) }),
    ...(some() && { maxLeased: 1 + random.below(3) }),
    ...(some() && { maxUrls: 2 + random.below(3) }),
  };
}
