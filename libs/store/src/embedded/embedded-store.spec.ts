import { chmodSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { filterBytes } from '#bloom';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { until } from '../../../../test/support/until.js';
import { Added, Settled } from '../port/index.js';
import { Database } from './database/database.js';
import { EmbeddedStore } from './embedded-store.js';
import {
  clockOf,
  createFilter,
  createGrowing,
  filterSpec,
  keys,
  operation,
  positions,
  Workbench,
} from './testing/fixtures.js';
import { generationKey, prefixRange } from './database/keys.js';
import { ONE_PAGE_BYTES } from './database/sizes.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

describe('a data directory', () => {
  it('is created if absent, with its parents', async () => {
    const dataDir = join(await bench.dataDir(), 'a', 'b');
    const store = await bench.open({ dataDir });
    expect(await store.readiness()).toEqual({ ready: true, warnings: [] });
  });

  it('is private to its owner if the store created it; an existing one keeps its mode', async () => {
    const parent = await bench.dataDir();
    mkdirSync(join(parent, 'there'), { recursive: true });
    chmodSync(join(parent, 'there'), 0o755);
    const modes: Record<string, number> = {};
    for (const name of ['made', 'there']) {
      const dataDir = join(parent, name);
      await (await bench.open({ dataDir })).close();
      modes[name] = statSync(dataDir).mode & 0o777;
    }
    expect(modes).toEqual({ made: 0o700, there: 0o755 });
  });

  it('has disk space for the lock file before LMDB maps it, so that a full disk causes an error', async () => {
    await bench.open();
    const { size, blocks } = statSync(join(await bench.dataDir(), 'data.mdb-lock'));
    expect(size).toBeGreaterThan(8_192);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
  });

  it('has one owner until that owner closes it, and the error for a second one names the directory', async () => {
    const first = await bench.open();
    const dataDir = await bench.dataDir();
    await expect(EmbeddedStore.open({ dataDir })).rejects.toThrow(dataDir);
    expect((await first.readiness()).ready).toBe(true);
    await first.close();
    await bench.open();
  });

  it('that cannot be created causes an error, and nothing stays open', async () => {
    const dataDir = await bench.dataDir();
    await expect(EmbeddedStore.open({ dataDir: '/dev/null/data' })).rejects.toThrow('/dev/null');
    await bench.open({ dataDir });
  });
});

describe('a restart', () => {
  it('keeps cells, counts, descriptions and queue', async () => {
    // The description contains the oldest entry's age.
    const start = Date.now();
    const options = { clock: clockOf(() => start) };
    const store = await bench.open(options);
    const filter = await createFilter(store, { urlProfile: { name: 'safe', version: 1 } });
    const bits = await createFilter(store, { name: 'bits', type: 'standard' });
    const visited = await createFilter(store, { name: 'visited', kind: 'visited-set' });
    const all = positions(filter, keys(3000));
    await store.counters.add(filter, all, operation());
    await store.counters.remove(filter, positions(filter, keys(1000)), operation());
    await store.counters.add(bits, positions(bits, keys(3000)), operation());
    await store.counters.add(visited, positions(visited, keys(5)), operation(), { payloads: keys(5) });
    const [leased] = await store.queue.lease(visited, 1, 60_000, operation());
    const before = await Promise.all([filter, bits, visited].map((each) => store.describe(each)));
    const answers = await store.counters.check(filter, all);
    await store.close();

    const again = await bench.open(options);
    expect(await again.open('seen', 'filter')).toEqual(filter);
    expect(await Promise.all([filter, bits, visited].map((each) => again.describe(each)))).toEqual(before);
    expect(await again.counters.check(filter, all)).toEqual(answers);
    expect(before[2]?.queue).toMatchObject({ waiting: 4, leased: 1 });
    expect(leased?.payload).toBe(keys(1)[0]);
    const acks = await again.queue.ack(visited, [leased?.id ?? ''], operation());
    expect([...acks]).toEqual([Settled.Done]);
    const rest = await again.queue.lease(visited, 10, 60_000, operation());
    expect(rest.map(({ payload }) => payload)).toEqual(keys(4, 1));
  });

  it('deletes the data of a dropped filter', async () => {
    const store = await bench.open();
    const filter = await createFilter(store, { kind: 'visited-set' });
    await store.counters.add(filter, positions(filter, keys(2000)), operation(), { payloads: keys(2000) });
    // The store closes immediately, which interrupts the deletion in the background.
    await Promise.all([store.drop('seen', 'visited-set', operation()), store.close()]);
    const again = await bench.open();
    await expect(again.open('seen', 'visited-set')).rejects.toMatchObject({ code: 'FILTER_NOT_FOUND' });
    expect((await again.list('visited-set', 10)).filters).toEqual([]);

    const database = Database.open(await bench.dataDir());
    const range = prefixRange(generationKey(filter.generation));
    const left = () => database.tablesByGeneration.flatMap((table) => [...table.getKeys(range)]).length;
    await until('the data of the filter is deleted', async () => left() === 0);
    await database.close();
  });

  it('with fsync keeps everything in a directory that was written without it', async () => {
    const store = await bench.open();
    const filter = await createFilter(store);
    await store.counters.add(filter, positions(filter, keys(100)), operation());
    await store.close();
    const again = await bench.open({ fsync: true });
    const answers = await again.counters.add(filter, positions(filter, keys(200)), operation());
    expect([...answers].filter((answer) => answer === Added.Present)).toHaveLength(100);
  });
});

describe('creation', () => {
  it('fails with STORE_FULL if memory is too small, and the store continues', async () => {
    const store = await bench.open();
    const huge = filterSpec(store, { capacity: 10 ** 13 });
    await expect(store.create(huge, operation())).rejects.toMatchObject({ code: 'STORE_FULL' });
    await createFilter(store);
  });

  it('creates one filter if parallel calls use the same name', async () => {
    const store = await bench.open();
    const spec = filterSpec(store);
    const made = await Promise.all(Array.from({ length: 8 }, () => store.create(spec, operation())));
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(made.map(({ filter }) => filter.generation)).size).toBe(1);
  });
});

describe('a closed store', () => {
  it('refuses every call after completing those in progress', async () => {
    const store = await bench.open();
    const filter = await createFilter(store);
    const adding = store.counters.add(filter, positions(filter, keys(1000)), operation());
    await Promise.all([store.close(), store.close()]);
    expect([...(await adding)].every((answer) => answer === Added.New)).toBe(true);
    await expect(store.open('seen', 'filter')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await store.readiness()).toMatchObject({ ready: false });
    await store.close();
  });

  it('leaves a directory that can be deleted', async () => {
    const dataDir = join(await bench.dataDir(), 'gone');
    mkdirSync(dataDir);
    const store = await bench.open({ dataDir });
    await store.close();
    rmSync(dataDir, { recursive: true });
  });
});

it('rows of entries and marks fit in a page, unless one URL is longer', async () => {
  const store = await bench.open();
  const filter = await createFilter(store, { kind: 'visited-set', capacity: 10_000 });
  const long = `https://example.org/${'x'.repeat(6_000)}`;
  const cyrillic = keys(1_000, 1_000).map((key) => `${key}/${'путь'.repeat(10)}`);
  const urls = [...keys(1_000), long, ...cyrillic];
  await store.counters.add(filter, positions(filter, urls), operation(), { payloads: urls });
  await store.counters.remove(filter, positions(filter, keys(900)), operation());
  await store.close();
  const database = Database.open(await bench.dataDir(), undefined, { readOnly: true });
  const sizes = [database.log, database.marks].map((table) =>
    [...table.all()].map(({ value }) => value!.length),
  );
  await database.close();
  for (const [table, longer] of [1, 0].entries()) {
    expect(sizes[table]!.length).toBeGreaterThan(3);
    expect(sizes[table]!.filter((bytes) => bytes > ONE_PAGE_BYTES)).toHaveLength(longer);
  }
});

it('all items that one call forgot stay forgotten after a restart', async () => {
  const store = await bench.open();
  const filter = await createFilter(store, { kind: 'visited-set', capacity: 10_000, errorRate: 1e-9 });
  const urls = keys(1_000);
  await store.counters.add(filter, positions(filter, urls), operation(), { payloads: urls });
  await store.counters.remove(filter, positions(filter, keys(900)), operation());
  await store.close();
  const again = await bench.open();
  const leased = await again.queue.lease(
    await again.open(filter.name, filter.kind),
    1_000,
    60_000,
    operation(),
  );
  expect(leased.map(({ payload }) => payload)).toEqual(urls.slice(900));
});

it('a waiting caller wakes for a lease that ended before its timer was set', async () => {
  let ahead = 0;
  const store = await bench.open({ clock: clockOf(() => Date.now() + ahead) });
  const filter = await createFilter(store, { kind: 'visited-set' });
  await store.counters.add(filter, positions(filter, keys(1)), operation(), { payloads: keys(1) });
  let calls = 0;
  const called = new Promise<void>((resolve) => {
    store.queue.watch(filter, () => {
      if (++calls > 0 && ahead > 0) resolve();
    });
  });
  // Simulates a machine that stalls after committing the lease.
  await store.queue.lease(filter, 1, 1_000, operation()).then(() => (ahead = 5_000));
  await called;
  expect(await store.queue.lease(filter, 1, 1_000, operation())).toMatchObject([{ attempt: 2 }]);
  const before = calls;
  await setTimeout(200);
  expect(calls - before).toBeLessThan(3);
});

it('a waiting caller wakes for a lease that ends while its timer is being set', async () => {
  const HOUR_MS = 3_600_000;
  const moved = new MovedClock();
  let isArmed = false;
  const now = (): number => {
    const before = moved.now();
    if (isArmed) queueMicrotask(() => moved.advance(HOUR_MS));
    isArmed = false;
    return before;
  };
  const store = await bench.open({ clock: { now, monotonic: moved.monotonic, shift: moved } });
  const filter = await createFilter(store, { kind: 'visited-set' });
  await store.counters.add(filter, positions(filter, keys(1)), operation(), { payloads: keys(1) });
  let calls = 0;
  store.queue.watch(filter, () => calls++);
  await store.queue.lease(filter, 1, HOUR_MS, operation());
  const before = calls;
  isArmed = true;
  await until('the waiting caller is called', async () => calls > before);
  expect(isArmed).toBe(false);
});

it('space is reused after entries leave a queue', async () => {
  // A queue also leaves journal and operation records behind, up to these limits.
  const store = await bench.open({ checkpointBytes: 200_000, maxRecordBytes: 50_000 });
  const filter = await createFilter(store, { kind: 'visited-set', capacity: 10_000 });
  const size = async (): Promise<number> => statSync(join(await bench.dataDir(), 'data.mdb')).size;
  const sizes: number[] = [];
  for (let round = 0; round < 8; round++) {
    for (let from = 0; from < 4_000; from += 1_000) {
      const urls = keys(1_000, from);
      await store.counters.add(filter, positions(filter, urls), operation(), { payloads: urls });
    }
    let left = 0;
    for (let leased = -1; leased !== 0; left += leased) {
      const entries = await store.queue.lease(filter, 1_000, 60_000, operation());
      await store.queue.ack(
        filter,
        entries.map(({ id }) => id),
        operation(),
      );
      leased = entries.length;
    }
    expect(left).toBeGreaterThan(3_900);
    await store.counters.remove(filter, positions(filter, keys(4_000)), operation());
    sizes.push(await size());
  }
  // If entries stayed behind, five rounds would more than double the size.
  expect(sizes[7]).toBeLessThanOrEqual(1.5 * (sizes[2] as number));
});

it('warns of a nearly full filter without memory for its next layer, and refuses items that need the layer', async () => {
  const store = await bench.open();
  const spec = filterSpec(store, { capacity: 100 });
  const first = { capacity: 100, errorRate: 0.001, geometry: spec.geometry };
  // Sixteen TiB.
  const geometry = { ...spec.geometry, segments: 2 ** 16, pagesPerSegment: 2 ** 20 };
  const second = { capacity: 2 ** 40, errorRate: 0.001, geometry };
  const { filter } = await store.create({ ...spec, layers: [first, second] }, operation());
  await store.counters.add(filter, positions(filter, keys(80)), operation());
  expect((await store.readiness()).warnings).toEqual([]);
  await store.counters.add(filter, positions(filter, keys(15, 80)), operation());
  expect((await store.readiness()).warnings).toEqual([
    'a filter is nearly full, and the store has no memory for another layer',
  ]);
  const before = await store.describe(filter);
  await expect(
    store.counters.add(filter, positions(filter, keys(20, 90)), operation()),
  ).rejects.toMatchObject({
    code: 'STORE_FULL',
  });
  expect(await store.describe(filter)).toEqual(before);
  expect([...(await store.counters.check(filter, positions(filter, keys(95))))]).toEqual(
    keys(95).map(() => 1),
  );
  await store.drop(filter.name, filter.kind, operation());
  expect((await store.readiness()).warnings).toEqual([]);
});

it('memory reserved for a layer counts towards the quota, and is never reserved beyond it', async () => {
  const clock = new MovedClock();
  const store = await bench.open({ clock });
  const filter = await createGrowing(store, { name: 'a.seen', capacity: 200, errorRate: 1e-9 });
  const [first = 0, second = 0] = filter.layers?.map(({ geometry }) => filterBytes(geometry)) ?? [];
  const usage = async () => (await store.usage(['a.']))[0]?.bytes;
  const addWithin = (count: number, maxBytes: number) =>
    store.counters.add(
      filter,
      positions(filter, keys(count)),
      operation({ quota: { prefix: 'a.', maxBytes } }),
    );
  // An add decides about the next layer before it returns.
  await addWithin(190, first + second - 1);
  expect(await usage()).toBe(first);
  await expect(addWithin(300, first + second - 1)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
  // The store does not try again within a second.
  clock.advance(1_100);
  await addWithin(190, first + second);
  expect(await usage()).toBe(first + second);
  expect((await store.describe(filter)).layers).toHaveLength(1);
  await addWithin(300, first + second);
  expect((await store.describe(filter)).layers).toHaveLength(2);
  expect(await usage()).toBe(first + second);
});
