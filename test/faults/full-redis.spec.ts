import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Settled, type Filter } from '#store';
import { RedisStore } from '#store/redis';
import {
  add,
  check,
  count,
  discover,
  expectRefusal,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
} from '../contract/calls.js';
import { CounterModel } from '../support/counter-model.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';

let server: RedisServer;
let store: RedisStore;
let own: Redis;

beforeEach(async () => {
  server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] });
  store = await RedisStore.open({ url: server.url, timeoutMs: 10_000 });
  own = new Redis(server.port, '127.0.0.1');
});
afterEach(async () => {
  await store.close();
  own.disconnect();
  await server.stop();
});

/** Limits Redis to `room` bytes more than it uses now. A negative number limits it to less. */
async function leave(room: number): Promise<void> {
  const used = Number(/used_memory:(\d+)/.exec(await own.info('memory'))?.[1]);
  await own.config('SET', 'maxmemory', String(used + room));
}

const unlimited = () => own.config('SET', 'maxmemory', '0');
const FULL = -1_000_000;

async function snapshot(filter: Filter): Promise<unknown> {
  const { recordWindowSeconds: _, queue, ...stats } = await store.describe(filter);
  const segments = Array.from({ length: filter.geometry.segments }, (_, i) => store.segmentBytes(filter, i));
  // The age of the oldest entry grows, so leave it out.
  const { oldestSeconds: __, ...counts } = queue ?? {};
  return {
    stats,
    counts,
    cells: (await Promise.all(segments)).map((bytes) => Buffer.from(bytes).toString('hex')),
  };
}

describe('Redis at maxmemory, with noeviction', () => {
  it('answers STORE_FULL to calls that need memory, and changes nothing, and the same operation succeeds when memory is free', async () => {
    const filter = await makeFilter(store, { semantics: 'multiset', segmentation: SEGMENTED });
    const visited = await makeFilter(store, { kind: 'visited-set', segmentation: SEGMENTED });
    await add(store, filter, items(100));
    await discover(store, visited, items(100));
    const before = [await snapshot(filter), await snapshot(visited)];
    await leave(FULL);
    const adding = keyed();
    const discovering = keyed();
    const leasing = keyed();
    await expectRefusal(add(store, filter, items(300), adding), 'STORE_FULL');
    await expectRefusal(discover(store, visited, items(300), discovering), 'STORE_FULL');
    await expectRefusal(store.queue.lease(visited, 10, 60_000, leasing), 'STORE_FULL');
    expect([await snapshot(filter), await snapshot(visited)]).toEqual(before);
    await unlimited();
    const fresh = items(300).map((_, i) => (i < 100 ? 0 : 1));
    expect(await add(store, filter, items(300), adding)).toEqual(fresh);
    expect(await discover(store, visited, items(300), discovering)).toEqual(fresh);
    expect(await store.queue.lease(visited, 10, 60_000, leasing)).toHaveLength(10);
    const model = new CounterModel(filter);
    model.add(items(100));
    model.add(items(300));
    expect(await store.describe(filter)).toMatchObject(model.stats());
  });

  it('that fills in the middle of a batch: each item whole or not at all, and once after a repeat', async () => {
    const filter = await makeFilter(store, {
      ...({ kind: 'visited-set', capacity: 20_000, segmentation: SEGMENTED } as const),
    });
    const urls = items(8_000, `https://example.org/${'long/'.repeat(40)}`);
    await leave(400_000);
    const operation = keyed();
    await expectRefusal(discover(store, filter, urls, operation), 'STORE_FULL');
    const { items: stored, queue } = await store.describe(filter);
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(urls.length);
    expect(queue).toMatchObject({ waiting: stored, leased: 0 });
    await unlimited();
    const answers = await discover(store, filter, urls, operation);
    // A false positive makes an item look seen that was never stored, and such an item isn't queued either.
    const fresh = answers.filter((answer) => answer === 1).length;
    expect(fresh).toBeGreaterThan(urls.length * 0.99);
    expect(await store.describe(filter)).toMatchObject({
      items: fresh,
      queue: { waiting: fresh, leased: 0 },
    });
  });

  it('still reads, removes, forgets, settles and drops, which frees memory', async () => {
    const filter = await makeFilter(store, { semantics: 'multiset', segmentation: SEGMENTED });
    const visited = await makeFilter(store, { kind: 'visited-set', segmentation: SEGMENTED });
    await add(store, filter, items(100));
    await discover(store, visited, items(100));
    const leased = (await store.queue.lease(visited, 20, 60_000, made())).map(({ id }) => id);
    await leave(FULL);
    expect(await check(store, filter, items(100))).toEqual(items(100).map(() => 1));
    expect(await count(store, filter, items(100))).toEqual(items(100).map(() => 1));
    expect(await remove(store, filter, items(10), keyed())).toEqual(items(10).map(() => 1));
    expect(await remove(store, visited, items(10), keyed())).toEqual(items(10).map(() => 1));
    const half = leased.slice(0, 10);
    const known = (answer: number) => answer === Settled.Done || answer === Settled.Unknown;
    expect([...(await store.queue.ack(visited, half, keyed()))].every(known)).toBe(true);
    expect([...(await store.queue.release(visited, leased.slice(10), made()))].every(known)).toBe(true);
    const { queue, items: left } = await store.describe(visited);
    expect(left).toBe(90);
    expect(queue!.waiting + queue!.leased).toBeLessThanOrEqual(90);
    await store.drop(filter.name, 'filter', keyed());
    await store.drop(visited.name, 'visited-set', made());
    expect((await own.keys('unseen:*')).filter((key) => !key.startsWith('unseen:{catalogue}'))).toEqual([]);
  });

  it('creates no filter and leaves nothing of it, and clears a filter within its own memory', async () => {
    const filter = await makeFilter(store, { capacity: 200_000 });
    await add(store, filter, items(1_000));
    const keys = (await own.keys('unseen:*')).sort();
    await leave(500_000);
    const creating = keyed();
    await expectRefusal(
      store.create({ ...filter, name: 'another', capacity: 200_000 }, creating),
      'STORE_FULL',
    );
    expect((await own.keys('unseen:*')).sort()).toEqual(keys);
    const cleared = await store.clear(filter.name, 'filter', keyed());
    expect(await check(store, cleared, items(1_000))).toEqual(items(1_000).map(() => 0));
    await unlimited();
    expect((await store.create({ ...filter, name: 'another', capacity: 200_000 }, creating)).created).toBe(
      true,
    );
  });

  it('so far beyond that a filter’s own memory isn’t enough: clear is STORE_FULL, and can be finished, or the filter dropped', async () => {
    const filters = [await makeFilter(store), await makeFilter(store)];
    const [first, second] = filters as [Filter, Filter];
    for (const filter of filters) await add(store, filter, items(10));
    await leave(FULL);
    const clearing = keyed();
    await expectRefusal(store.clear(first.name, 'filter', clearing), 'STORE_FULL');
    await expectRefusal(store.clear(second.name, 'filter', made()), 'STORE_FULL');
    // Until the clear completes, checks fail instead of guessing.
    for (const filter of filters) {
      await expect(check(store, filter, items(10))).rejects.toMatchObject({ name: 'StaleFilterError' });
    }
    await store.drop(second.name, 'filter', made());
    await unlimited();
    const cleared = await store.clear(first.name, 'filter', clearing);
    expect(await check(store, cleared, items(10))).toEqual(items(10).map(() => 0));
    expect(await add(store, cleared, items(10))).toEqual(items(10).map(() => 1));
  });
});
