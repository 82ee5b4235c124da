import { isDeepStrictEqual } from 'node:util';
import { planLayers, type Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import type { Filter, FilterSpec, Operation } from '../../port/index.js';
import { EmbeddedStore } from '../embedded-store.js';
import { filterSpec, keys, operation, positions } from './fixtures.js';

/** Questions to a full store and its answers, as JSON. */
export interface Model {
  readonly facts: readonly Fact[];
}

interface Fact {
  readonly of: string;
  readonly expected: unknown;
}

const ITEMS = 1_500;
const BATCH = 300;
/** Number of hosts in the set with `perHost`. */
const HOSTS = 70;
const FILTERS = [
  { name: 'bits', type: 'standard' },
  { name: 'counted', semantics: 'multiset' },
  { name: 'late', semantics: 'multiset' },
  { name: 'visited', kind: 'visited-set', maxAttempts: 1 },
  { name: 'lanes', kind: 'visited-set', perHost: { maxUrls: 1_000_000 } },
] as const satisfies readonly Partial<FilterSpec>[];
/** All leases in the store end long after the test. */
const LEASE_MS = 80_000_000;
const CREDENTIALS = Array.from({ length: 40 }, (_, i) => ({ id: `key-${i + 10}`, value: `{"secret":${i}}` }));

const LEASE = 'repeat of lease';
/** How many of the visited set's items are leased. The first ACKED of them are acknowledged. */
const LEASED = 300;
const ACKED = 100;
/** The next OTHERS items become dead letters. Some items before, among and after these are forgotten. */
const OTHERS = 40;
const FORGOTTEN = 20;

const keyed = (id: string): Operation => operation({ id, origin: 'caller', repeat: true });
const batch = (filter: Filter, from: number, count = BATCH): Positions =>
  positions(filter, keysOf(filter, count, from));

/** Keys of many hosts if the filter has `perHost`. */
function keysOf({ perHost }: Filter, count: number, from: number): string[] {
  if (!perHost) return keys(count, from);
  return Array.from({ length: count }, (_, n) => `https://h${(from + n) % HOSTS}.example/${from + n}`);
}

function specOf(store: EmbeddedStore, changes: Partial<FilterSpec>): FilterSpec {
  const spec = filterSpec(store, changes);
  if (!changes.perHost) return spec;
  const layers = planLayers({ ...spec, cellBits: 4 }, { ...store.segmentation, spread: 1 }, Infinity);
  return { ...spec, geometry: layers[0].geometry, layers };
}

/** Fills an empty store with data of every kind. */
export async function fill(store: EmbeddedStore): Promise<void> {
  for (const credential of CREDENTIALS) await store.credentials.put(credential);
  for (const changes of [{ name: 'dropped', kind: 'visited-set' } as const, ...FILTERS]) {
    const { filter } = await store.create(specOf(store, changes), keyed(`create-${changes.name}`));
    for (let from = 0; from < ITEMS; from += BATCH) await add(store, filter, from);
  }
  await store.drop('dropped', 'visited-set', keyed('drop'));
  const visited = await store.open('visited', 'visited-set');
  const leased = await store.queue.lease(visited, LEASED, LEASE_MS, keyed('lease'));
  await store.queue.ack(
    visited,
    leased.slice(0, ACKED).map(({ id }) => id),
    keyed('ack'),
  );
  const others = (await store.queue.lease(visited, OTHERS, LEASE_MS, keyed('lease of others'))).map(
    ({ id }) => id,
  );
  await store.queue.release(visited, others, keyed('release'), { reason: 'a reason' });
  await store.counters.remove(visited, batch(visited, LEASED - FORGOTTEN, 3 * FORGOTTEN), keyed('forget'));
}

function add(store: EmbeddedStore, filter: Filter, from: number): Promise<Uint8Array> {
  const payloads = filter.kind === 'visited-set' ? keysOf(filter, BATCH, from) : undefined;
  const hosts = filter.perHost && payloads?.map((key) => new URL(key).hostname);
  return store.counters.add(filter, batch(filter, from), keyed(`add-${from}`), { payloads, hosts });
}

/**
 * Asks a filled store all questions. The last ones change it. `known` has the undamaged store's answers, for ids that
 * the store may no longer return.
 */
export async function facts(store: EmbeddedStore, known?: Model): Promise<Fact[]> {
  const found: Fact[] = [];
  const ask: Ask = async (of, call) => {
    found.push({ of, expected: plain(await call().catch(refusal)) });
  };
  await ask('names', async () => [
    await names(store, 'filter'),
    await names(store, 'visited-set'),
    await store.open('dropped', 'visited-set').catch(refusal),
  ]);
  await ask('credentials', () => store.credentials.list());
  await joinAll(FILTERS.map((filter) => askFilter(store, filter, ask)));
  await ask('repeat of drop', () => store.drop('dropped', 'visited-set', keyed('drop')));
  const visited = await store.open('visited', 'visited-set');
  const lanes = await store.open('lanes', 'visited-set');
  // The cursor of the next page contains the time.
  await ask('entries', async () => (await store.queue.entries(visited, {}, 1_000)).entries);
  await ask('entries of lanes', async () => (await store.queue.entries(lanes, {}, 1_000)).entries);
  await ask(LEASE, () => store.queue.lease(visited, LEASED, LEASE_MS, keyed('lease')));
  const leased = (known?.facts ?? found).find(({ of }) => of === LEASE)?.expected as { id: string }[];
  const ids = leased.map(({ id }) => id);
  await ask('repeat of ack', () => store.queue.ack(visited, ids.slice(0, ACKED), keyed('ack')));
  await ask('dead letters', () => store.queue.deadLetters(visited, 1_000));
  await ask('release', () => store.queue.release(visited, ids, operation()));
  await ask('more dead letters', () => store.queue.deadLetters(visited, 1_000));
  for (let turn = 0; turn < 2; turn++) {
    await ask(`lanes, turn ${turn}`, async () => {
      const leased = await store.queue.lease(lanes, 1_000, LEASE_MS, operation(), { maxPerHost: 3 });
      return leased.map(({ payload }) => payload);
    });
  }
  for (let turn = 0; turn < 2; turn++) {
    await ask(`queue, portion ${turn}`, async () =>
      (await store.queue.lease(visited, 1_000, LEASE_MS, operation())).map(({ payload, attempt }) => [
        payload,
        attempt,
      ]),
    );
  }
  return found;
}

type Ask = (of: string, call: () => Promise<unknown>) => Promise<void>;

async function askFilter(
  store: EmbeddedStore,
  { name, kind = 'filter', semantics }: Partial<FilterSpec> & { name: string },
  ask: Ask,
): Promise<void> {
  const filter = await store.open(name, kind);
  const all = batch(filter, 0, 2 * ITEMS);
  // Without the fields that depend on the time.
  const counts = async () => {
    const { recordWindowSeconds: _, queue, ...stats } = await store.describe(filter);
    return { ...stats, queue: { ...queue, oldestSeconds: 0 } };
  };
  await ask(`${name}: counts`, counts);
  await ask(`${name}: items`, () => store.counters.check(filter, all, Infinity));
  if (semantics === 'multiset') {
    await ask(`${name}: counters`, () => store.counters.count(filter, all, Infinity));
  }
  const batches = Array.from({ length: ITEMS / BATCH }, (_, i) => i * BATCH);
  await joinAll([
    ...batches.map((from) => ask(`${name}: repeat of add-${from}`, () => add(store, filter, from))),
    ask(`${name}: repeat of create`, async () => {
      const { filter: made } = await store.create(specOf(store, filter), keyed(`create-${name}`));
      return made.generation;
    }),
  ]);
  await ask(`${name}: counts after repeats`, counts);
}

async function names(store: EmbeddedStore, kind: Filter['kind']): Promise<unknown> {
  const { filters } = await store.list(kind, 100);
  return filters.map(({ name, seed, geometry }) => [name, [...seed], geometry]);
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return value === undefined ? 'done' : (JSON.parse(JSON.stringify(value)) as unknown);
}

function refusal(error: unknown): { refused: string } {
  if (error instanceof StoreError) return { refused: error.code };
  throw error;
}

/** The facts that have changed and were not refused with STORE_DATA_LOST, and how many were refused. */
export function compare(model: Model, now: readonly Fact[]): { wrong: string[]; refused: number } {
  const known = new Map(model.facts.map(({ of, expected }) => [of, expected]));
  let refused = 0;
  const wrong = now.filter(({ of, expected }) => {
    if (isDeepStrictEqual(expected, known.get(of))) return false;
    if (!isDeepStrictEqual(expected, { refused: 'STORE_DATA_LOST' })) return true;
    refused++;
    return false;
  });
  return {
    wrong: wrong.map(({ of, expected }) => `${of}: ${JSON.stringify(expected)}`.slice(0, 300)),
    refused,
  };
}
