import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { filterBytes, positionsOf } from '#bloom';
import { StoreError, type Filter, type FilterStats, type Store } from '#store';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { LayeredModel } from '../support/layered-model.js';
import { Random, SEED } from '../support/random.js';
import { REDIS_STORES, type RedisHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  count,
  discover,
  expectRefusal,
  type FilterOptions,
  inBatches,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  seedOf,
  SEGMENTED,
  tally,
} from './calls.js';
import { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const GROWS = { growsTo: Infinity };
const STEPS = 150;
/** Layers have several pieces per segment. */
const SPLIT: FilterOptions = { ...GROWS, segmentation: { ...SEGMENTED, maxSegmentBytes: 2048 } };

describe.each(REDIS_STORES)('growth: $name store', (fixture) => {
  const subject = new Subject<RedisHarness>(fixture);
  beforeAll(() => subject.setUp());
  afterAll(() => subject.tearDown());

  const layersOf = async (filter: Filter): Promise<number[]> =>
    (await subject.store.describe(filter)).layers.map((layer) => layer.items);

  describe.each([
    ['in one piece', GROWS],
    ['in segments and pieces', SPLIT],
  ])('%s', (_, grows) => {
    it.each(['set', 'multiset'] as const)(
      `random calls match the model of a %s, SEED=${SEED}`,
      async (semantics) => {
        const { store } = subject;
        const random = new Random();
        const options = { ...grows, semantics, capacity: 150, errorRate: 1e-1, seed: seedOf(random) };
        const filter = await makeFilter(store, options);
        const model = new LayeredModel(filter);
        const exact = new Map<string, number>();
        for (let step = 0; step < STEPS; step++) {
          const keys = Array.from({ length: 1 + random.below(120) }, () => `key ${random.below(4_000)}`);
          const chance = random.below(100);
          if (chance < 45) {
            const answers = await add(store, filter, keys);
            expect(answers).toEqual(model.add(keys));
            keys.forEach((key, i) => {
              const more = semantics === 'multiset' || answers[i] === 1 ? 1 : 0;
              exact.set(key, Math.min(more + (exact.get(key) ?? 0), semantics === 'set' ? 1 : Infinity));
            });
          } else if (chance < 70) {
            const stored = keys.filter((key, i) => exact.get(key) && keys.indexOf(key) === i);
            expect(await remove(store, filter, stored)).toEqual(model.remove(stored));
            for (const key of stored) exact.set(key, (exact.get(key) as number) - 1);
          } else {
            expect(await check(store, filter, keys)).toEqual(model.check(keys));
            expect(await count(store, filter, keys)).toEqual(model.count(keys));
          }
          if (step % 25 === 0) {
            const stored = [...exact].filter(([, copies]) => copies > 0).map(([key]) => key);
            expect(tally(await check(store, filter, stored), 0)).toBe(0);
          }
        }
        const { layers, ...stats } = await store.describe(filter);
        expect(layers.length).toBeGreaterThanOrEqual(3);
        expect(layers).toEqual(model.stats().slice(0, layers.length));
        expect(stats.items).toBe(layers.reduce((sum, layer) => sum + layer.items, 0));
      },
    );

    it('a batch far larger than a layer closes it halfway and keeps the error rate', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { ...grows, capacity: 500, errorRate: 1e-2 });
      const keys = items(10_000);
      const answers = await add(store, filter, keys);
      expect(tally(answers, 1)).toBeGreaterThan(9_900);
      expect(tally(await inBatches(check, store, filter, keys), 0)).toBe(0);
      const wrong = tally(await inBatches(check, store, filter, items(20_000, 'absent')), 1);
      expect(wrong / 20_000).toBeLessThan(1.2e-2);
      const stored = await layersOf(filter);
      const { layers = [], geometry } = filter;
      stored.slice(0, -1).forEach((one, n) => {
        const share = Math.ceil((layers[n]?.capacity ?? 0) / geometry.segments);
        expect(one).toBe(share * geometry.segments);
      });
      expect(stored.reduce((sum, one) => sum + one, 0)).toBe(tally(answers, 1));
    });

    it('drop and clear free all layers’ Redis keys', async () => {
      const { store, harness } = subject;
      const before = await harness.kept();
      const spec = { ...grows, capacity: 100, kind: 'visited-set' } as const;
      const first = await makeFilter(store, spec);
      const fresh = await harness.kept();
      await discover(store, first, items(2_000));
      expect((await layersOf(first)).length).toBeGreaterThanOrEqual(4);
      expect((await harness.kept()).length).toBeGreaterThan(fresh.length);
      const second = await store.clear(first.name, first.kind, made());
      expect(await layersOf(second)).toEqual([0]);
      expect((await harness.kept()).length).toBe(fresh.length);
      await discover(store, second, items(500));
      await store.drop(second.name, second.kind, made());
      expect(await harness.kept()).toEqual(before);
    });
  });

  it('a visited set hands out all new items, in any layer, and no forgotten ones', async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 100, errorRate: 1e-6, kind: 'visited-set' });
    const [before, keys] = [items(200, 'before'), items(1_500)];
    expect(tally(await discover(store, filter, before), 1)).toBe(200);
    const both = keys.flatMap((key, i) => (i < 400 && i % 2 === 0 ? [key, before[i / 2]!] : [key]));
    const found = await discover(store, filter, both);
    const answers = keys.map((key) => found[both.indexOf(key)]);
    const forgotten = keys.filter((_, i) => answers[i] === 1 && i % 3 === 0);
    expect(await remove(store, filter, forgotten)).toEqual(forgotten.map(() => 1));
    const leased: string[] = [];
    for (;;) {
      const entries = await store.queue.lease(filter, 1_000, 60_000, made());
      if (entries.length === 0) break;
      leased.push(...entries.map(({ payload }) => payload));
    }
    const expected = [...before, ...keys.filter((_, i) => answers[i] === 1 && i % 3 !== 0)];
    expect(leased.sort()).toEqual(expected.sort());
  });

  it('a standard filter grows', async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { ...GROWS, capacity: 100, type: 'standard' });
    const keys = items(1_200);
    await add(store, filter, keys);
    expect(await check(store, filter, keys)).toEqual(keys.map(() => 1));
    const { layers, saturatedCells } = await store.describe(filter);
    expect(layers.length).toBeGreaterThanOrEqual(4);
    expect(saturatedCells).toBe(0);
  });

  it('a store that knows fewer layers can still make all calls', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 100 });
    const model = new LayeredModel(filter);
    const others = await Promise.all(Array.from({ length: 4 }, () => outdated(harness, filter)));
    const [first, second, third, fourth] = others as [Outdated, Outdated, Outdated, Outdated];
    const keys = items(1_000);
    expect(await add(store, filter, keys)).toEqual(model.add(keys));
    expect(await check(first.store, first.filter, keys)).toEqual(model.check(keys));
    expect(await count(second.store, second.filter, keys)).toEqual(model.count(keys));
    const gone = keys.filter((_, i) => i % 4 === 0);
    expect(await remove(third.store, third.filter, gone)).toEqual(model.remove(gone));
    const more = items(2_000, 'more');
    expect(await add(fourth.store, fourth.filter, more)).toEqual(model.add(more));
    expect(await check(store, filter, [...keys, ...more])).toEqual(model.check([...keys, ...more]));
    // The store may be making another, empty layer in advance.
    const { layers } = await fourth.store.describe(fourth.filter);
    expect(layers).toEqual(model.stats().slice(0, layers.length));
    expect(
      model
        .stats()
        .slice(layers.length)
        .filter(({ items }) => items > 0),
    ).toEqual([]);
  });

  it('stores that add at the same time grow the filter together', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 100 });
    const others = await Promise.all(Array.from({ length: 3 }, () => outdated(harness, filter)));
    const handles = [{ store, filter }, ...others];
    const batches = handles.map((_, n) => items(800, `of ${n}`));
    const answers = await Promise.all(handles.map((one, n) => add(one.store, one.filter, batches[n]!)));
    const stored = await layersOf(filter);
    expect(stored.reduce((sum, one) => sum + one, 0)).toBe(tally(answers.flat(), 1));
    expect(tally(await check(store, filter, batches.flat()), 0)).toBe(0);
  });

  it('a filter whose last layer is full finds present items, and refuses new ones without a change', async () => {
    const { store, harness } = subject;
    const sizing = { capacity: 100, errorRate: 1e-6 };
    const [first, second] = (await makeFilter(store, { ...GROWS, ...sizing })).layers!;
    const growsTo = filterBytes(first!.geometry) + filterBytes(second!.geometry);
    const filter = await makeFilter(store, { growsTo, ...sizing });
    expect(filter.layers).toHaveLength(2);
    const keys = await fill(store, filter, first!.capacity + second!.capacity);
    const stats = await store.describe(filter);
    expect(stats.layers.map((layer) => layer.items)).toEqual([first!.capacity, second!.capacity]);
    expect(await add(store, filter, keys)).toEqual(keys.map(() => 0));
    const unseen = items(200, 'unseen');
    const absent = unseen.filter((_, i) => i % 2 === 0);
    await expectRefusal(add(store, filter, [...keys.slice(0, 50), ...absent]), 'FILTER_FULL');
    expect(await contentsOf(store, filter)).toEqual({
      ...contents(stats),
      duplicate: stats.duplicate + keys.length,
    });
    await expectRefusal(add((await outdated(harness, filter)).store, filter, absent), 'FILTER_FULL');
    expect(await remove(store, filter, keys.slice(-10))).toEqual(Array.from({ length: 10 }, () => 1));
    expect(tally(await add(store, filter, items(10, 'instead')), 1)).toBe(10);
  });

  it('doesn’t grow beyond a quota: new items are refused, and present ones found', async () => {
    const { store } = subject;
    const prefix = `t${randomUUID()}-`;
    const filter = await makeFilter(store, { ...GROWS, capacity: 100, name: `${prefix}a` });
    const [first, second] = filter.layers!.map(({ geometry }) => filterBytes(geometry));
    const few = { prefix, maxBytes: first! + second! - 1 };
    const to = (keys: readonly string[], maxBytes: number) =>
      store.counters.add(filter, positionsOf(keys, filter.seed, filter.geometry), {
        ...made(),
        quota: { prefix, maxBytes },
      });
    const keys = items(100);
    await to(keys, few.maxBytes);
    await expectRefusal(to([...keys, ...items(50, 'new')], few.maxBytes), 'QUOTA_EXCEEDED');
    expect([...(await to(keys, few.maxBytes))]).toEqual(keys.map(() => 0));
    expect(await store.usage([prefix])).toEqual([{ filters: 1, bytes: first }]);
    expect(await layersOf(filter)).toHaveLength(1);
    await to(items(50, 'new'), few.maxBytes + 1);
    expect(await store.usage([prefix])).toEqual([{ filters: 1, bytes: first! + second! }]);
    await store.drop(filter.name, filter.kind, made());
    expect(await store.usage([prefix])).toEqual([{ filters: 0, bytes: 0 }]);
  });

  it('a repeated operation has its first result, even if the filter has grown in it and since', async () => {
    const { store, harness } = subject;
    for (const grows of [GROWS, SPLIT]) {
      const filter = await makeFilter(store, { ...grows, semantics: 'multiset', capacity: 100 });
      const old = await outdated(harness, filter);
      const [adding, removing] = [keyed(), keyed()];
      const keys = [...items(400), ...items(100)];
      const added = await add(store, filter, keys, adding);
      const removed = await remove(store, filter, keys.slice(0, 50), removing);
      await add(store, filter, items(1_000, 'more'));
      const stats = await store.describe(filter);
      for (const one of [{ store, filter }, old]) {
        expect(await add(one.store, one.filter, keys, { ...adding })).toEqual(added);
        expect(await remove(one.store, one.filter, keys.slice(0, 50), { ...removing })).toEqual(removed);
      }
      expect(await contentsOf(store, filter)).toEqual(contents(stats));
    }
  });

  it('the next layer is created in advance', async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { ...GROWS, capacity: 200, errorRate: 1e-6 });
    await add(store, filter, items(170));
    expect(await layersOf(filter)).toHaveLength(1);
    await add(store, filter, items(12, 'more'));
    await until('the filter has two layers', async () => (await layersOf(filter)).length === 2);
    expect((await layersOf(filter))[1]).toBe(0);
  });

  it('a store can be closed while it creates a layer in advance', async () => {
    const { harness } = subject;
    const filter = await makeFilter(subject.store, { ...SPLIT, capacity: 2_000 });
    const { store, filter: own } = await outdated(harness, filter);
    await add(store, own, items(1_900));
    await store.close();
    expect(tally(await check(subject.store, filter, items(1_900)), 0)).toBe(0);
    await add(subject.store, filter, items(2_000, 'more'));
  });

  it.each([
    ['was announced', false],
    ['was made in part', true],
  ])('another store takes over a layer whose creator died when it %s', async (_, partly) => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 100 });
    await rewriteEntry(harness, filter.name, (entry) => ({ ...entry, growing: 2 }));
    if (partly) {
      const [found] = await harness.find(`unseen:{${filter.generation}.0.*}:cells`);
      const bytes = filter.layers![1]!.geometry.pagesPerSegment * 256;
      await found!.client.setrange(`${found!.key}:1:0`, bytes - 1, '\0');
    }
    const keys = items(300);
    const answers = await add(store, filter, keys);
    expect(tally(await check(store, filter, keys), 0)).toBe(0);
    expect((await layersOf(filter)).reduce((sum, one) => sum + one, 0)).toBe(tally(answers, 1));
    await store.drop(filter.name, filter.kind, made());
    expect(await harness.find(`*${filter.generation}*`)).toEqual([]);
  });

  it('drop frees a layer that an instance was creating when it died', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 100 });
    await rewriteEntry(harness, filter.name, (entry) => ({ ...entry, growing: 2 }));
    const [found] = await harness.find(`unseen:{${filter.generation}.0.*}:cells`);
    await found!.client.setrange(`${found!.key}:1:0`, 10, '\0');
    await store.drop(filter.name, filter.kind, made());
    expect(await harness.find(`*${filter.generation}*`)).toEqual([]);
  });

  it('a layer without enough memory isn’t created, and leaves nothing', async () => {
    const { store, harness } = subject;
    const prefix = `t${randomUUID()}-`;
    const filter = await makeFilter(store, { ...GROWS, capacity: 200_000, name: `${prefix}a` });
    const keys = items(100);
    await add(store, filter, keys);
    const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    await meta!.client.hset(meta!.key, 'items', 200_000);
    const before = await harness.kept();
    const usage = await store.usage([prefix]);
    await leaveMemory(meta!.client, 2 ** 20);
    try {
      // It may already be making the layer in advance, which also fails.
      await expectRefusal(add(store, filter, items(200)), 'STORE_FULL');
      expect(await add(store, filter, keys)).toEqual(keys.map(() => 0));
      expect((await store.readiness()).warnings).toContain(
        'a filter is nearly full, and the store has no memory for another layer',
      );
      await expectRefusal(add(store, filter, items(200)), 'STORE_FULL');
      await until(
        'no data of the layer is left',
        async () => (await harness.kept()).length === before.length,
      );
      await until(
        'the layer is not counted in the quota',
        async () => (await store.usage([prefix]))[0]?.bytes === usage[0]?.bytes,
      );
    } finally {
      await meta!.client.config('SET', 'maxmemory', '0');
    }
    await until('the store creates the layer', () =>
      add(store, filter, items(200)).then(
        () => true,
        () => false,
      ),
    );
    expect(await check(store, filter, items(200))).toEqual(items(200).map(() => 1));
    expect(await layersOf(filter)).toHaveLength(2);
    expect((await store.readiness()).warnings.join()).not.toContain('to grow');
  });

  it('a filter grows once memory is free, after several stores found none for its layer', async () => {
    const { store, harness } = subject;
    const segmentation = { maxSegmentBytes: 2 ** 20, minSegments: 4, minSegmentBytes: 1 };
    const filter = await makeFilter(store, { ...GROWS, segmentation, capacity: 200_000 });
    const handles = [{ store, filter }];
    for (let n = 0; n < 3; n++) handles.push(await outdated(harness, filter));
    for (const { key, client } of await harness.find(`unseen:{${filter.generation}.*}:meta`)) {
      await client.hset(key, 'items', 200_000);
    }
    const addAll = (round: string) =>
      Promise.all(
        handles.map((one, n) => add(one.store, one.filter, items(100, `${round} ${n}`)).catch(codeOf)),
      );
    for (const client of harness.clients) await leaveMemory(client, 2 ** 19);
    try {
      for (let round = 0; round < 5; round++) {
        expect(await addAll(`full ${round}`)).toEqual(handles.map(() => 'STORE_FULL'));
      }
    } finally {
      for (const client of harness.clients) await client.config('SET', 'maxmemory', '0');
    }
    // After such a failure, no store tries again for a while.
    let room: Awaited<ReturnType<typeof addAll>> = [];
    await until('no add is refused with STORE_FULL', async () => {
      room = await addAll('room');
      return !room.includes('STORE_FULL');
    });
    const stored = items(100, 'room 0').concat(...[1, 2, 3].map((n) => items(100, `room ${n}`)));
    expect(await check(store, filter, stored)).toEqual(stored.map(() => 1));
    expect(await layersOf(filter)).toHaveLength(2);
    await store.drop(filter.name, filter.kind, made());
    expect(await harness.find(`*${filter.generation}*`)).toEqual([]);
  });

  it('an add abandons a sync without enough memory for its next layer', async () => {
    const { store, harness } = subject;
    const calls = new SyncCalls(subject);
    const filter = await makeFilter(store, { ...GROWS, capacity: 200_000 });
    const sync = await calls.open(filter);
    const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    await meta!.client.hset(meta!.key, 's:items', 200_000);
    await leaveMemory(meta!.client, 2 ** 20);
    try {
      expect(tally(await calls.add(filter, items(200)), 1)).toBeGreaterThan(190);
      expect(await calls.get(filter, sync)).toMatchObject({ state: 'abandoned' });
    } finally {
      await meta!.client.config('SET', 'maxmemory', '0');
    }
    expect(await check(store, filter, items(200))).toEqual(items(200).map(() => 1));
  });

  it('re-creates an empty layer that a failover lost', async () => {
    const { store, harness } = subject;
    const segmentation = { maxSegmentBytes: 12_288, minSegments: 1, minSegmentBytes: 1 };
    const filter = await makeFilter(store, { ...GROWS, segmentation });
    expect(filter.geometry.segments).toBe(1);
    const model = new LayeredModel(filter);
    const keys = items(950);
    expect(await add(store, filter, keys)).toEqual(model.add(keys));
    await until('the filter has two layers', async () => (await layersOf(filter)).length === 2);
    for (const { key, client } of await harness.find(`unseen:{${filter.generation}.*}:cells:1:*`)) {
      await client.del(key);
    }
    expect((await store.describe(filter)).layers).toEqual(model.stats().slice(0, 2));
    expect(await check(store, filter, keys)).toEqual(model.check(keys));
    const more = items(2_000, 'more');
    expect(await add(store, filter, more)).toEqual(model.add(more));
    expect(await check(store, filter, [...keys, ...more])).toEqual(model.check([...keys, ...more]));
  });

  it('re-creates an empty layer that a failover also lost from the catalogue, even by stores that knew it', async () => {
    const { store, harness } = subject;
    const segmentation = { maxSegmentBytes: 12_288, minSegments: 1, minSegmentBytes: 1 };
    const filter = await makeFilter(store, { ...GROWS, segmentation });
    const model = new LayeredModel(filter);
    const keys = items(950);
    expect(await add(store, filter, keys)).toEqual(model.add(keys));
    await until('the filter has two layers', async () => (await layersOf(filter)).length === 2);
    for (const { key, client } of await harness.find(`unseen:{${filter.generation}.*}:cells:1:*`)) {
      await client.del(key);
    }
    const [catalogue] = await harness.find('unseen:{catalogue}:filters');
    const entry = JSON.parse((await catalogue!.client.hget(catalogue!.key, filter.name)) ?? '') as object;
    await catalogue!.client.hset(catalogue!.key, filter.name, JSON.stringify({ ...entry, made: 1 }));
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await catalogue!.client.info('stats'))?.[1]);
    const before = await commands();
    expect(await check(store, filter, keys)).toEqual(model.check(keys));
    expect((await commands()) - before).toBeLessThan(1_000);
    const more = items(2_000, 'more');
    expect(await add(store, filter, more)).toEqual(model.add(more));
    expect(await check(store, filter, [...keys, ...more])).toEqual(model.check([...keys, ...more]));
  });

  it.each(['missing', 'short'])('a piece of a layer that is %s is data loss', async (how) => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { ...SPLIT, capacity: 300 });
    const keys = items(1_500);
    await add(store, filter, keys);
    const [found] = await harness.find(`unseen:{${filter.generation}.0.*}:cells:1:0`);
    if (how === 'missing') await found!.client.del(found!.key);
    else await found!.client.set(found!.key, await found!.client.getrangeBuffer(found!.key, 0, -2));
    await expectRefusal(check(store, filter, keys), 'STORE_DATA_LOST');
    await expectRefusal(add(store, filter, keys), 'STORE_DATA_LOST');
    await expectRefusal(store.describe(filter), 'STORE_DATA_LOST');
  });
});

function codeOf(error: unknown): string | undefined {
  return error instanceof StoreError ? error.code : undefined;
}

interface Outdated {
  readonly store: Store;
  readonly filter: Filter;
}

/** A separate store that has the filter open, and knows only the current layers. */
async function outdated(harness: RedisHarness, { name, kind }: Filter): Promise<Outdated> {
  const store = await harness.open();
  return { store, filter: await store.open(name, kind) };
}

/** Adds items until `wanted` are stored. Returns the items that were new. */
async function fill(store: Store, filter: Filter, wanted: number): Promise<string[]> {
  const stored: string[] = [];
  for (let round = 0; stored.length < wanted; round++) {
    const keys = items(wanted - stored.length, `round ${round}`);
    const answers = await add(store, filter, keys);
    stored.push(...keys.filter((_, i) => answers[i] === 1));
  }
  return stored;
}

/** Limits Redis to `bytes` more bytes, counted after it has freed the data that earlier tests dropped. */
async function leaveMemory(client: Redis, bytes: number): Promise<void> {
  let memory = '';
  await until('Redis has freed all deleted data', async () => {
    memory = await client.info('memory');
    return memory.includes('lazyfree_pending_objects:0');
  });
  const used = Number(/used_memory:(\d+)/.exec(memory)?.[1]);
  await client.config('SET', 'maxmemory', String(used + bytes));
}

function contents({ recordWindowSeconds: _seconds, ...stats }: FilterStats) {
  return stats;
}

async function contentsOf(store: Store, filter: Filter) {
  return contents(await store.describe(filter));
}

/** Changes a catalogue entry directly in Redis. */
async function rewriteEntry(
  harness: RedisHarness,
  name: string,
  change: (entry: CatalogueEntry) => CatalogueEntry,
): Promise<void> {
  const { key, client } = (await harness.find(CATALOGUE.filters))[0]!;
  const entry = JSON.parse((await client.hget(key, name)) ?? '') as CatalogueEntry;
  await client.hset(key, name, JSON.stringify(change(entry)));
}
