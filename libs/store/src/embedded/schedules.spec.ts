import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { until } from '../../../../test/support/until.js';
import type { Filter } from '../port/index.js';
import { SWEEP_AFTER_MS } from '../sweeping.js';
import { DEFAULT_SIZES } from './database/sizes.js';
import type { EmbeddedStore } from './embedded-store.js';
import { Sweeper } from './queue/sweeper.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const DAY_MS = 86_400_000;
/** So many entries that a commit removes them in several steps. */
const MANY = 8_000;

const bench = new Workbench();
afterEach(() => bench.tidy());

const countsOf = async (store: EmbeddedStore, filter: Filter) => (await store.describe(filter)).queue!;

const HOUR_MS = 3_600_000;

const planOf = ({ capacity, errorRate, geometry }: Filter) => ({ capacity, errorRate, geometry });

const schedule = (store: EmbeddedStore, filter: Filter, payloads: string[], delayMs: number) =>
  store.counters.add(filter, positions(filter, payloads), operation(), { payloads, delayMs });

/**
 * A set with scheduled entries, right after committing a sync that keeps the first two of them. Calls `meanwhile`
 * during the sync.
 */
async function committed(
  store: EmbeddedStore,
  meanwhile: (filter: Filter) => Promise<unknown> = () => Promise.resolve(),
): Promise<{ filter: Filter; end: Promise<unknown> }> {
  const filter = await createFilter(store, { kind: 'visited-set', errorRate: 1e-9 });
  await schedule(store, filter, keys(MANY), DAY_MS);
  const { id } = await store.syncs.open(filter, planOf(filter), operation());
  await store.syncs.keep(filter, id, positions(filter, keys(2)), operation());
  await meanwhile(filter);
  const end = store.syncs.commit(filter, id, 1, Infinity).catch(() => undefined);
  for (;;) {
    await setImmediate();
    const now = await store.open(filter.name, filter.kind);
    if (now.base !== filter.base) return { filter: now, end };
  }
}

/** The payloads in an export. */
async function exported(store: EmbeddedStore, filter: Filter): Promise<string[]> {
  const found: string[] = [];
  for await (const part of store.transfer.export(filter))
    if (part.type === 'queue') found.push(...part.entries.map(({ payload }) => String(payload)));
  return found.sort();
}

describe('the scheduled entries that a sync did not keep', () => {
  it('do not come back when their items are discovered before they are removed', async () => {
    const clock = new MovedClock();
    const store = await bench.open({ clock });
    const { filter, end } = await committed(store);
    // Items in the last row, which is removed last.
    const last = keys(2, MANY - 2);
    const added = store.counters.add(filter, positions(filter, last), operation(), { payloads: last });
    const { scheduled } = await countsOf(store, filter);
    expect([...(await added)]).toEqual([1, 1]);
    expect(scheduled).toBeGreaterThan(2);
    await end;
    expect((await countsOf(store, filter)).scheduled).toBe(2);
    const lease = async () =>
      (await store.queue.lease(filter, 100, DAY_MS, operation())).map(({ payload }) => payload);
    expect((await lease()).sort()).toEqual(last);
    clock.advance(DAY_MS / 2);
    expect(await lease()).toEqual([]);
    clock.advance(DAY_MS / 2);
    expect((await lease()).filter((payload) => !last.includes(payload)).sort()).toEqual(keys(2));
  });

  it('are also removed after a restart', async () => {
    const store = await bench.open();
    const { filter, end } = await committed(store);
    expect((await countsOf(store, filter)).scheduled).toBeGreaterThan(2);
    await store.close();
    await end;
    const removal = jest.spyOn(Sweeper.prototype, 'removeUnkept');
    const again = await bench.open();
    const reopened = await again.open(filter.name, filter.kind);
    // Wait for the removals that the start has begun.
    await Promise.all(removal.mock.results.map(({ value }) => value));
    removal.mockRestore();
    expect((await countsOf(again, reopened)).scheduled).toBe(2);
  });

  it('are not exported', async () => {
    const store = await bench.open();
    const { filter } = await committed(store);
    expect(await exported(store, filter)).toEqual(keys(2));
  });

  it('are not exported even if their removal is interrupted', async () => {
    const store = await bench.open();
    const { filter } = await committed(store);
    // Skips a removal, like a failed commit.
    const removal = jest.spyOn(Sweeper.prototype, 'removeUnkept').mockResolvedValueOnce(undefined);
    expect(await exported(store, filter)).toEqual(keys(2));
    expect(removal.mock.calls.length).toBeGreaterThan(1);
    removal.mockRestore();
  });

  it('are removed, and their set exported, during a sweep of another set’s queue', async () => {
    const clock = new MovedClock();
    const { store } = await bench.sized({ rowBytes: 100, sweptRowsPerSlice: 1 }, clock);
    const other = await createFilter(store, { kind: 'visited-set', name: 'other' });
    // The sweep takes a step for each row, and a row has one entry.
    const payloads = keys(2_000);
    await store.counters.add(other, positions(other, payloads), operation(), { payloads });
    await store.counters.remove(other, positions(other, keys(1)), operation());
    clock.advance(SWEEP_AFTER_MS);
    const { filter, end } = await committed(store);
    expect(await exported(store, filter)).toEqual(keys(2));
    await end;
    expect((await countsOf(store, filter)).scheduled).toBe(2);
    expect((await countsOf(store, other)).forgotten).toBe(1);
  });

  it('are removed before another sync opens, which might list their items', async () => {
    const store = await bench.open();
    const { filter, end } = await committed(store);
    expect((await countsOf(store, filter)).scheduled).toBeGreaterThan(2);
    const { id } = await store.syncs.open(filter, planOf(filter), operation());
    expect((await countsOf(store, filter)).scheduled).toBe(2);
    await end;
    await store.syncs.keep(filter, id, positions(filter, keys(4)), operation());
    await store.syncs.commit(filter, id, 1, Infinity);
    expect(await exported(store, await store.open(filter.name, filter.kind))).toEqual(keys(2));
  });
});

describe('entries that came due during a sync that did not keep them', () => {
  /** Makes all entries come due, and leases some of them. */
  const due = (clock: MovedClock, store: EmbeddedStore) => async (filter: Filter) => {
    clock.advance(DAY_MS);
    for (let moved = 0; moved <= MANY; moved += DEFAULT_SIZES.movesPerChange)
      await store.queue.lease(filter, 1, HOUR_MS, operation());
  };

  it('are voided in steps, also after a restart', async () => {
    const clock = new MovedClock();
    const store = await bench.open({ clock });
    const { filter, end } = await committed(store, due(clock, store));
    const { forgotten } = await countsOf(store, filter);
    expect(forgotten).toBeLessThan(MANY - 2);
    await store.close();
    await end;
    const again = await bench.open({ clock, maxMarks: 0 });
    const reopened = await again.open(filter.name, filter.kind);
    expect(await exported(again, reopened)).toEqual(keys(2));
    await until('they are swept', async () => {
      const { waiting, leased } = await countsOf(again, reopened);
      return waiting + leased === 2;
    });
  });

  it('do not take their items’ later entries with them in a set that ages', async () => {
    const clock = new MovedClock();
    const store = await bench.open({ clock });
    const made = await createFilter(store, {
      ...{ kind: 'visited-set', errorRate: 1e-9, maxAgeSeconds: DAY_MS / 1_000 },
    });
    await schedule(store, made, keys(2), HOUR_MS);
    const { id } = await store.syncs.open(made, planOf(made), operation());
    clock.advance(HOUR_MS);
    const leased = await store.queue.lease(made, 2, HOUR_MS, operation());
    await store.queue.ack(made, [leased[0]!.id], operation());
    clock.advance(2 * DAY_MS);
    // The items have expired, so this add queues a second entry. Its item also expires before the commit.
    const again = leased[0]!.payload;
    const added = store.counters.add(made, positions(made, [again]), operation(), { payloads: [again] });
    expect([...(await added)]).toEqual([1]);
    clock.advance(2 * DAY_MS);
    await store.syncs.commit(made, id, 1, Infinity);
    expect(await exported(store, await store.open(made.name, made.kind))).toEqual([again]);
  });

  it('are noted once each, however often they come due, and others are not noted', async () => {
    const clock = new MovedClock();
    const { store, database } = await bench.sized({}, clock);
    const filter = await createFilter(store, { kind: 'visited-set', errorRate: 1e-9 });
    await schedule(store, filter, keys(20), HOUR_MS);
    const { id } = await store.syncs.open(filter, planOf(filter), operation());
    const noted = () => {
      let bytes = 0;
      for (const { value } of database.removed.getRange({})) bytes += value.length;
      return bytes;
    };
    const comeBack = async (count: number) => {
      clock.advance(HOUR_MS);
      const leased = await store.queue.lease(filter, 100, HOUR_MS, operation());
      expect(leased).toHaveLength(count);
      const ids = leased.map(({ id: entry }) => entry);
      await store.queue.ack(filter, ids, operation(), HOUR_MS);
    };
    await comeBack(20);
    const once = noted();
    expect(once).toBeGreaterThan(0);
    await schedule(store, filter, keys(20, 20), HOUR_MS);
    for (let time = 0; time < 3; time++) await comeBack(40);
    expect(noted()).toBe(once);
    await store.syncs.keep(filter, id, positions(filter, keys(2)), operation());
    await store.syncs.commit(filter, id, 1, Infinity);
    expect(noted()).toBe(0);
    const kept = [...keys(2), ...keys(20, 20)].sort();
    expect(await exported(store, await store.open(filter.name, filter.kind))).toEqual(kept);
  });
});
