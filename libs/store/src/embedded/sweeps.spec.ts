import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { SlowClock } from '../../../../test/support/slow-clock.js';
import { until } from '../../../../test/support/until.js';
import type { Filter } from '../port/index.js';
import { REST_FACTOR, SWEEP_AFTER_MS } from '../sweeping.js';
import type { EmbeddedStore } from './embedded-store.js';
import { createFilter, keys, operation, positions } from './testing/fixtures.js';
import { create, discover, HostBench, urls } from './testing/host-sets.js';

const bench = new HostBench();
afterEach(() => bench.tidy());

const queued = async (store: EmbeddedStore, name = 'seen'): Promise<Filter> => {
  const filter = await createFilter(store, { kind: 'visited-set', name });
  await store.counters.add(filter, positions(filter, keys(20)), operation(), { payloads: keys(20) });
  return filter;
};
const forget = (store: EmbeddedStore, filter: Filter, item: number) =>
  store.counters.remove(filter, positions(filter, keys(1, item)), operation());
const countsOf = async (store: EmbeddedStore, filter: Filter) => (await store.describe(filter)).queue!;
/** Changes run in order, so a sweep that has begun takes a step with each of these. */
const swept = async (store: EmbeddedStore, filter: Filter): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) {
    if ((await countsOf(store, filter)).forgotten === 0) return;
    await forget(store, filter, 1_000);
  }
  throw new Error('the queue is not swept');
};

it('a restart does not keep forgotten entries for longer than a minute', async () => {
  const clock = new MovedClock();
  const store = await bench.open({ clock });
  const { name, kind } = await queued(store);
  await forget(store, await store.open(name, kind), 3);
  await store.close();
  const reopened = await bench.open({ clock });
  const filter = await reopened.open(name, kind);
  expect(await countsOf(reopened, filter)).toMatchObject({ waiting: 20, forgotten: 1 });
  clock.advance(SWEEP_AFTER_MS);
  await swept(reopened, filter);
  expect(await countsOf(reopened, filter)).toMatchObject({ waiting: 19 });
});

it('a queue rests after a sweep in proportion to the time that it took', async () => {
  const clock = new SlowClock();
  const store = await bench.open({ clock });
  const filter = await queued(store);
  await forget(store, filter, 3);
  clock.advance(SWEEP_AFTER_MS);
  clock.isSlow = true;
  await swept(store, filter);
  clock.isSlow = false;
  await forget(store, filter, 4);
  clock.advance(SWEEP_AFTER_MS);
  // Enough turns for a whole sweep.
  for (let turn = 0; turn < 20; turn++) {
    await setImmediate();
    expect(await countsOf(store, filter)).toMatchObject({ waiting: 19, forgotten: 1 });
  }
  clock.advance(REST_FACTOR * clock.passedMs);
  await swept(store, filter);
});

it('several sets’ queues are swept one slice at a time', async () => {
  const clock = new MovedClock();
  const { store, database } = await bench.sized({ rowBytes: 100, sweptRowsPerSlice: 1 }, clock);
  const filters: Filter[] = [];
  for (let n = 0; n < 8; n++) {
    const filter = await queued(store, `seen${n}`);
    await forget(store, filter, 3);
    filters.push(filter);
  }
  const transaction = database.transaction.bind(database);
  let running = 0;
  let most = 0;
  database.transaction = async (...given) => {
    most = Math.max(most, ++running);
    try {
      await transaction(...given);
    } finally {
      running--;
    }
  };
  clock.advance(SWEEP_AFTER_MS);
  for (const filter of filters)
    await until('it is swept', async () => (await countsOf(store, filter)).forgotten === 0);
  // One slice of a sweep, and one that deletes marks.
  expect(most).toBeLessThanOrEqual(2);
});

it('a sweep reads the lanes of entries that aren’t waiting only if a host was dropped', async () => {
  const clock = new MovedClock();
  const store = await bench.hosts({}, clock);
  const filter = await create(store, {}, 10_000, { maxAttempts: 1 });
  const heldMs = 10 * SWEEP_AFTER_MS;
  const take = () => store.queue.lease(filter, 50, heldMs, operation());
  await discover(store, filter, urls(50));
  const dead = (await take()).map(({ id }) => id);
  await store.queue.release(filter, dead, operation());
  await discover(store, filter, urls(50, 50));
  expect(await take()).toHaveLength(50);
  await discover(store, filter, urls(50, 100), operation(), { delayMs: heldMs });
  await store.counters.remove(filter, positions(filter, urls(3, 49)), operation());
  const { lanes, marks } = bench.databaseOf(store);
  const reads = jest.spyOn(lanes, 'get');
  clock.advance(SWEEP_AFTER_MS);
  await until('it is swept', () => Promise.resolve([...marks.getKeys({})].length === 0));
  // The sweep walks over 150 lanes, then writes the lanes of the removed entries.
  expect(reads.mock.calls.length).toBe(150 + 3);
  reads.mockRestore();
  expect(await countsOf(store, filter)).toMatchObject({ dead: 49, leased: 48, scheduled: 50, forgotten: 0 });
});
