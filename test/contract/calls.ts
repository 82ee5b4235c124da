import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { planGeometry, planLayers, positionsOf, SEED_BYTES, type Segmentation } from '#bloom';
import type { Filter, FilterSpec, Finding, Operation, Queued, Store, StoreErrorCode } from '#store';
import { clock } from '../support/clock.js';
import { TEST_SEED } from '../support/fixed-random.js';
import { patienceMs } from '../support/patience.js';
import { Random } from '../support/random.js';

/** Splits even small filters into several segments. */
export const SEGMENTED: Segmentation = { maxSegmentBytes: 4096, minSegments: 4, minSegmentBytes: 1 };
/** A few segments for a large filter. Each batch runs one script in each segment. */
export const FEW_SEGMENTS: Segmentation = { ...SEGMENTED, maxSegmentBytes: 32_768 };
const WHOLE: Segmentation = { maxSegmentBytes: 2 ** 24, minSegments: 1, minSegmentBytes: 1 };

/** The record windows in a description if no record had to be dropped. */
export const FULL_WINDOW_SECONDS = { caller: 86_400, made: 60 };

const BATCH = 5_000;

export interface FilterOptions extends Partial<Omit<FilterSpec, 'geometry' | 'layers'>> {
  readonly segmentation?: Segmentation;
  /** The limit on the bytes that all layers of a growing filter may use. */
  readonly growsTo?: number;
}

/** A spec with a new name. By default, a counting filter for 1,000 items at 1e-3 in one segment. */
export function filterSpec(options: FilterOptions = {}): FilterSpec {
  const { segmentation = WHOLE, growsTo, ...given } = options;
  const sizing = { capacity: given.capacity ?? 1_000, errorRate: given.errorRate ?? 1e-3 };
  const cellBits = given.type === 'standard' ? 1 : given.maxAgeSeconds === undefined ? 4 : 8;
  const layers = growsTo !== undefined && planLayers({ ...sizing, cellBits }, segmentation, growsTo);
  return {
    name: `f-${randomUUID()}`,
    kind: 'filter',
    type: 'counting',
    semantics: 'set',
    ...sizing,
    ...(layers
      ? { geometry: layers[0].geometry, layers }
      : { geometry: planGeometry({ ...sizing, cellBits }, segmentation) }),
    seed: TEST_SEED,
    ...given,
  };
}

export async function makeFilter(store: Store, options: FilterOptions = {}): Promise<Filter> {
  return (await store.create(filterSpec(options), made())).filter;
}

/** A filter's seed for tests that SEED must be able to repeat. */
export function seedOf(random: Random): Uint8Array {
  return random.bytes(SEED_BYTES);
}

/** An operation with an id that the service made and that no caller repeats. */
export function made(): Operation {
  return {
    id: randomUUID(),
    origin: 'made',
    fingerprint: 'request',
    repeat: false,
    madeAt: clock.now(),
    deadline: Date.now() + patienceMs(),
  };
}

/** An operation with a caller's Idempotency-Key, which may be repeated. */
export function keyed(id: string = randomUUID()): Operation {
  return {
    id,
    origin: 'caller',
    fingerprint: 'request',
    repeat: true,
    deadline: Date.now() + patienceMs(),
  };
}

export function items(count: number, prefix = 'item'): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix} ${i}`);
}

export const deadline = (): number => Date.now() + patienceMs();

function positions(filter: Filter, keys: readonly string[]) {
  return positionsOf(keys, filter.seed, filter.geometry);
}

export async function add(
  store: Store,
  filter: Filter,
  keys: readonly string[],
  operation = made(),
  ttlMs?: number,
): Promise<number[]> {
  return [...(await store.counters.add(filter, positions(filter, keys), operation, { ttlMs }))];
}

/** Adds the items that aren't present, and counts no others. */
export async function addAbsent(
  store: Store,
  filter: Filter,
  keys: readonly string[],
  operation = made(),
): Promise<number[]> {
  const options = { onlyAbsent: true };
  return [...(await store.counters.add(filter, positions(filter, keys), operation, options))];
}

/** Priority and time for new entries. */
export type Order = Pick<Queued, 'priority' | 'delayMs'>;

const hostOf = (key: string): string => new URL(key).hostname;

/** Adds to a visited set, with the keys themselves as payloads. With `perHost`, they must be URLs. */
export async function discover(
  store: Store,
  filter: Filter,
  keys: readonly string[],
  operation = made(),
  how: Order = {},
): Promise<number[]> {
  const hosts = filter.perHost && keys.map(hostOf);
  const queued = { payloads: keys, hosts, ...how };
  return [...(await store.counters.add(filter, positions(filter, keys), operation, queued))];
}

export async function check(store: Store, filter: Filter, keys: readonly string[]): Promise<number[]> {
  return [...(await store.counters.check(filter, positions(filter, keys), deadline()))];
}

export async function remove(
  store: Store,
  filter: Filter,
  keys: readonly string[],
  operation = made(),
): Promise<number[]> {
  return [...(await store.counters.remove(filter, positions(filter, keys), operation))];
}

export async function count(store: Store, filter: Filter, keys: readonly string[]): Promise<number[]> {
  return [...(await store.counters.count(filter, positions(filter, keys), deadline()))];
}

export function explain(store: Store, filter: Filter, keys: readonly string[]): Promise<Finding[]> {
  return store.inspection.explain(filter, positions(filter, keys), deadline());
}

type Call = (store: Store, filter: Filter, keys: readonly string[]) => Promise<number[]>;

/** Makes calls over any number of keys, in sequential batches. */
export async function inBatches(
  call: Call,
  store: Store,
  filter: Filter,
  keys: readonly string[],
): Promise<number[]> {
  const answers: number[] = [];
  for (let at = 0; at < keys.length; at += BATCH) {
    answers.push(...(await call(store, filter, keys.slice(at, at + BATCH))));
  }
  return answers;
}

/** How many results equal `answer`. */
export function tally(answers: readonly number[], answer: number): number {
  return answers.filter((one) => one === answer).length;
}

export async function expectRefusal(call: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  await expect(call).rejects.toMatchObject({ name: 'StoreError', code });
}

export async function expectStale(call: Promise<unknown>): Promise<void> {
  await expect(call).rejects.toMatchObject({ name: 'StaleFilterError' });
}
