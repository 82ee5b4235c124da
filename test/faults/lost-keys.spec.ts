import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Settled, StaleFilterError, StoreError, type Filter, type Store } from '#store';
import { RedisStore } from '#store/redis';
import { allKeys, CATALOGUE, queueKeys, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import {
  add,
  check,
  count,
  discover,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
} from '../contract/calls.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

let server: RedisServer;
let store: RedisStore;
let own: Redis;

beforeAll(async () => {
  server = await startRedis();
  store = await RedisStore.open({ url: server.url, timeoutMs: 10_000 });
  own = new Redis(server.port, '127.0.0.1');
});
afterAll(async () => {
  await store.close();
  own.disconnect();
  await server.stop();
});

type Part = 'cells' | 'meta' | 'caller records' | 'made records' | 'queue';
type Call = (filter: Filter, leased: string) => Promise<unknown>;

const KNOWN = items(50);
const REMOVED = KNOWN[0]!;
/** Longer than any test takes. */
const LEASE_MS = 3_600_000;
const leaseAll = (filter: Filter, operation = made()) => store.queue.lease(filter, 100, LEASE_MS, operation);

/**
 * Every verb on a visited set that contains KNOWN and has one leased entry. Each has the Redis keys that it needs, and
 * its answer if they exist.
 */
const VERBS: readonly (readonly [string, readonly Part[], Call, unknown])[] = [
  ['check', ['cells', 'meta'], (filter) => check(store, filter, ['x', REMOVED]), [0, 1]],
  ['count', ['cells', 'meta'], (filter) => count(store, filter, ['x', REMOVED]), [0, 1]],
  [
    'describe',
    ['cells', 'meta', 'queue'],
    async (filter) => (await store.describe(filter)).items,
    KNOWN.length,
  ],
  ['visit', ['cells', 'meta', 'made records'], (filter) => add(store, filter, ['x', REMOVED]), [1, 0]],
  ['visit, keyed', ['cells', 'meta', 'caller records'], (filter) => add(store, filter, ['x'], keyed()), [1]],
  [
    'discover',
    ['cells', 'meta', 'made records', 'queue'],
    (filter) => discover(store, filter, ['x', REMOVED]),
    [1, 0],
  ],
  [
    'discover, keyed',
    ['cells', 'meta', 'caller records', 'queue'],
    (filter) => discover(store, filter, ['x', REMOVED], keyed()),
    [1, 0],
  ],
  [
    'forget',
    ['cells', 'meta', 'made records', 'queue'],
    (filter) => remove(store, filter, ['x', REMOVED]),
    [0, 1],
  ],
  [
    'forget, keyed',
    ['cells', 'meta', 'caller records', 'queue'],
    (filter) => remove(store, filter, ['x', REMOVED], keyed()),
    [0, 1],
  ],
  [
    'lease',
    ['cells', 'meta', 'made records', 'queue'],
    async (filter) => (await leaseAll(filter)).length,
    KNOWN.length - 1,
  ],
  [
    'ack',
    ['cells', 'meta', 'made records', 'queue'],
    async (filter, leased) => [...(await store.queue.ack(filter, [leased], made()))],
    [Settled.Done],
  ],
  [
    'release, keyed',
    ['cells', 'meta', 'caller records', 'queue'],
    async (filter, leased) => [...(await store.queue.release(filter, [leased], keyed()))],
    [Settled.Done],
  ],
];

/** The Redis keys of the filter's only segment. */
async function keysOf({ generation }: Filter): Promise<readonly (readonly [string, Part])[]> {
  const [cells = ''] = await own.keys(`unseen:{${generation}.*}:cells`);
  const keys = segmentKeys(/\{(.*)\}/.exec(cells)![1]!);
  const { caller, made } = keys.operations;
  const parts: [string, Part][] = [
    [keys.cells, 'cells'],
    [keys.meta, 'meta'],
    [caller.current, 'caller records'],
    [caller.previous, 'caller records'],
    [made.current, 'made records'],
    [made.previous, 'made records'],
    ...queueKeys(keys).map((key): [string, Part] => [key, 'queue']),
  ];
  expect(parts.map(([key]) => key).sort()).toEqual(allKeys(keys, true).sort());
  return parts;
}

const DAMAGES: Record<string, (key: string, part: Part) => Promise<unknown>> = {
  missing: (key) => own.del(key),
  'of another type': async (key, part) => {
    await own.del(key);
    await (part === 'cells' ? own.hset(key, 'a', 'b') : own.set(key, 'x'));
  },
};

async function visitedSet(name?: string): Promise<{ filter: Filter; leased: string }> {
  const filter = await makeFilter(store, {
    kind: 'visited-set',
    errorRate: 1e-6,
    ...(name !== undefined && { name }),
  });
  await discover(store, filter, KNOWN);
  const [first] = await store.queue.lease(filter, 1, LEASE_MS, made());
  return { filter, leased: first!.id };
}

/** The answer, or a store error's code. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => {
    if (error instanceof StoreError) return error.code;
    if (error instanceof StaleFilterError) return error.name;
    throw error;
  });
}

describe('a key of a segment', () => {
  it.each(Object.keys(DAMAGES))(
    'that is %s: STORE_DATA_LOST for every verb that needs it, and correct answers for the others',
    async (how) => {
      const { filter, leased } = await visitedSet();
      const keys = await keysOf(filter);
      const dumps = await Promise.all(keys.map(([key]) => own.dumpBuffer(key)));
      const restore = () => Promise.all(keys.map(([key], i) => own.restore(key, 0, dumps[i]!, 'REPLACE')));
      let cases = 0;
      for (const [key, part] of keys) {
        for (const [verb, needed, call, answer] of VERBS) {
          await DAMAGES[how]!(key, part);
          const expected = needed.includes(part) ? 'STORE_DATA_LOST' : answer;
          expect([key, verb, await outcome(call(filter, leased))]).toEqual([key, verb, expected]);
          await restore();
          cases++;
        }
      }
      for (const [verb, , call, answer] of VERBS) {
        expect([verb, await outcome(call(filter, leased))]).toEqual([verb, answer]);
        await restore();
      }
      console.log(`${how}: ${cases} calls on ${keys.length} keys`);
    },
  );

  it('that is missing: clear and drop repair it, and leave nothing behind', async () => {
    for (const part of (await keysOf((await visitedSet()).filter)).keys()) {
      for (const repair of ['clear', 'drop'] as const) {
        const { filter } = await visitedSet();
        const [key] = (await keysOf(filter))[part]!;
        await own.del(key);
        await store[repair](filter.name, 'visited-set', keyed());
        expect(await own.keys(`unseen:{${filter.generation}.*`)).toEqual([]);
        if (repair === 'clear') {
          const cleared = await store.open(filter.name, 'visited-set');
          expect(await discover(store, cleared, KNOWN)).toEqual(KNOWN.map(() => 1));
        } else await visitedSet(filter.name);
      }
    }
  });

  it('replaced by an older generation’s is STORE_DATA_LOST, whether all keys are old or only the meta', async () => {
    const { filter: old } = await visitedSet();
    const olds = await keysOf(old);
    const dumps = await Promise.all(olds.map(([key]) => own.dumpBuffer(key)));
    const filter = await store.clear(old.name, 'visited-set', made());
    await discover(store, filter, ['new']);
    const keys = await keysOf(filter);
    for (const replaced of [keys.slice(1, 2), keys.slice(0, 2), keys]) {
      for (const [key] of replaced) {
        await own.restore(key, 0, dumps[keys.findIndex(([other]) => other === key)]!, 'REPLACE');
      }
      for (const [verb, , call] of VERBS) {
        expect([verb, await outcome(call(filter, 'x'))]).toEqual([verb, 'STORE_DATA_LOST']);
      }
    }
  });
});

const STEP_BYTES = 10_000;

describe('a Redis that evicts (allkeys-random)', () => {
  it('never makes a stored item unseen: answers are correct or STORE_DATA_LOST', async () => {
    const evicting = await startRedis();
    const opened = await RedisStore.open({ url: evicting.url, timeoutMs: 10_000 });
    const client = new Redis(evicting.port, '127.0.0.1');
    try {
      const filters: Filter[] = [];
      for (let n = 0; n < 30; n++) {
        const filter = await makeFilter(opened, { capacity: 10_000 });
        await add(opened, filter, KNOWN);
        filters.push(filter);
      }
      const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
      const cells = async () => (await client.keys('unseen:{*}:cells')).length;
      expect(await cells()).toBe(filters.length);
      await client.config('SET', 'maxmemory-policy', 'allkeys-random');
      // Evicts a few of 190 keys. If more were evicted, the catalogue could lose all of its keys and look like an empty
      // store.
      for (let less = 0; less < used && (await cells()) === filters.length; less += STEP_BYTES) {
        await client.config('SET', 'maxmemory', String(used - less));
      }
      const tally: Record<string, number> = {};
      for (const filter of filters) {
        const answers = [
          await outcome(check(opened, filter, KNOWN)),
          await outcome(add(opened, filter, KNOWN)),
          await outcome(reopened(opened, filter)),
        ];
        const right = [KNOWN.map(() => 1), KNOWN.map(() => 0), KNOWN.map(() => 1)];
        answers.forEach((answer, i) => {
          const isRight = JSON.stringify(answer) === JSON.stringify(right[i]);
          const word = isRight ? 'right' : String(answer);
          tally[word] = (tally[word] ?? 0) + 1;
        });
      }
      const evicted = /evicted_keys:(\d+)/.exec(await client.info('stats'))?.[1];
      console.log(`${evicted} keys evicted, ${await client.dbsize()} left: ${JSON.stringify(tally)}`);
      expect(tally['STORE_DATA_LOST']).toBeGreaterThan(0);
      expect(Object.keys(tally).filter((word) => !['right', 'STORE_DATA_LOST'].includes(word))).toEqual([]);
    } finally {
      await opened.close();
      client.disconnect();
      await evicting.stop();
    }
  });
});

async function reopened(on: Store, { name, kind }: Filter): Promise<number[]> {
  return check(on, await on.open(name, kind, { fresh: true }), KNOWN);
}

describe('the lost catalogue', () => {
  it('is STORE_DATA_LOST for every call by name: no filter seems never to have existed, or is created again', async () => {
    const { filter } = await visitedSet();
    const dump = await own.dumpBuffer(CATALOGUE.filters);
    await own.del(CATALOGUE.filters);
    const calls = [
      store.open(filter.name, 'visited-set', { fresh: true }),
      store.create(filter, made()),
      store.clear(filter.name, 'visited-set', keyed()),
      store.drop(filter.name, 'visited-set', keyed()),
      store.list('visited-set', 10),
    ];
    expect(await Promise.all(calls.map(outcome))).toEqual(calls.map(() => 'STORE_DATA_LOST'));
    // A caller that has the filter open still gets correct answers.
    expect(await check(store, filter, KNOWN)).toEqual(KNOWN.map(() => 1));
    await own.restore(CATALOGUE.filters, 0, dump);
    expect(await reopened(store, filter)).toEqual(KNOWN.map(() => 1));
  });

  it('is STORE_DATA_LOST for an instance that has started since, even after it was asked for the usage', async () => {
    const { filter } = await visitedSet();
    const dump = await own.dumpBuffer(CATALOGUE.filters);
    await own.del(CATALOGUE.filters);
    const late = await RedisStore.open({ url: server.url, timeoutMs: 10_000 });
    try {
      expect(await outcome(late.usage(['t-']))).toBe('STORE_DATA_LOST');
      expect(await outcome(late.open(filter.name, 'visited-set'))).toBe('STORE_DATA_LOST');
      await own.restore(CATALOGUE.filters, 0, dump);
      expect(await reopened(late, filter)).toEqual(KNOWN.map(() => 1));
    } finally {
      await late.close();
    }
  });

  it('hides filters from lists if only names are gone, until they are restored, and calls by name still work', async () => {
    const { filter } = await visitedSet();
    const names = CATALOGUE.names('visited-set');
    await own.del(names);
    expect(await store.list('visited-set', 1_000)).toEqual({ filters: [] });
    expect(await reopened(store, filter)).toEqual(KNOWN.map(() => 1));
    await own.zadd(names, 0, '', 0, filter.name);
    expect((await store.list('visited-set', 1_000)).filters).toMatchObject([{ name: filter.name }]);
  });

  it('counts the usage again if only that is gone, so that quotas hold', async () => {
    const prefix = `t${randomUUID()}-`;
    const names = ['a', 'b', 'c'].map((end) => prefix + end);
    for (const name of names) await visitedSet(name);
    const [before] = await store.usage([prefix]);
    expect(before).toMatchObject({ filters: 3 });
    const lose = [() => own.del(CATALOGUE.usage), () => own.hdel(CATALOGUE.usage, '')];
    for (const [i, losing] of lose.entries()) {
      await losing();
      const refused = store.create(filterSpec({ name: `${prefix}d` }), made(), { prefix, maxFilters: 3 - i });
      expect(await outcome(refused)).toBe('QUOTA_EXCEEDED');
      await losing();
      await store.drop(names[i]!, 'visited-set', made());
      await losing();
      expect(await store.usage([prefix])).toEqual([{ filters: 2 - i, bytes: ((2 - i) * before!.bytes) / 3 }]);
    }
  });

  it('is an empty store if all its keys are gone, and leaves the cells', async () => {
    const { filter } = await visitedSet();
    await own.del(await own.keys('unseen:{catalogue}:*'));
    expect(await outcome(store.open(filter.name, 'visited-set', { fresh: true }))).toBe('FILTER_NOT_FOUND');
    const { filter: anew } = await visitedSet(filter.name);
    expect(anew.generation).not.toBe(filter.generation);
    expect(await own.keys(`unseen:{${filter.generation}.*}:cells`)).toHaveLength(1);
  });
});

describe('a Redis that has lost everything under running instances', () => {
  const WARNING = /^Redis has lost all filters and API keys that this instance knew/;
  let redis: RedisServer;
  let client: Redis;
  let stores: RedisStore[];
  beforeEach(async () => {
    stores = [];
  });
  afterEach(async () => {
    for (const opened of stores) await opened.close();
    client.disconnect();
    await redis.stop();
  });

  /** Starts Redis and two instances, which both know a filter. */
  async function start(args: string[] = []): Promise<Filter> {
    redis = await startRedis({ args });
    client = new Redis(redis.port, '127.0.0.1');
    const [first] = [await instance(), await instance()];
    const filter = await makeFilter(first);
    expect(await lost()).toEqual([false, false]);
    return filter;
  }

  async function instance(): Promise<RedisStore> {
    const opened = await RedisStore.open({ url: redis.url, timeoutMs: 10_000 });
    stores.push(opened);
    return opened;
  }

  /** Whether the readiness of each instance reports the loss. */
  async function lost(): Promise<boolean[]> {
    const answers = [];
    for (const opened of stores) {
      const { ready, lost = false, warnings } = await opened.readiness();
      expect(ready).toBe(true);
      expect(warnings.some((warning) => WARNING.test(warning))).toBe(lost);
      answers.push(lost);
    }
    return answers;
  }

  async function restart(): Promise<void> {
    await redis.restart();
    for (const opened of stores) {
      await until('the instance is connected', async () => (await opened.readiness()).ready);
    }
  }

  it('by FLUSHALL: each instance says so, even after filters are created again', async () => {
    const { name } = await start();
    await client.flushall();
    expect(await lost()).toEqual([true, true]);
    await makeFilter(stores[0]!, { name });
    expect(await lost()).toEqual([true, true]);
    // An instance that starts later can't know.
    await instance();
    expect(await lost()).toEqual([true, true, false]);
  });

  it('by FLUSHALL: an instance says so if filters are created again before it looks', async () => {
    const { name } = await start();
    await client.flushall();
    await makeFilter(await instance(), { name });
    expect(await lost()).toEqual([true, true, false]);
  });

  it('by a restart without persistence: each instance says so', async () => {
    await start();
    await restart();
    expect(await lost()).toEqual([true, true]);
  });

  it('until the data is restored: the instances say so no longer', async () => {
    const { name } = await start();
    const dump = await client.dumpBuffer(CATALOGUE.filters);
    await client.flushall();
    await makeFilter(stores[0]!, { name });
    expect(await lost()).toEqual([true, true]);
    await client.restore(CATALOGUE.filters, 0, dump, 'REPLACE');
    expect(await lost()).toEqual([false, false]);
  });

  it('is not one that restarts with its data, or whose last filter is deleted, or that never had any', async () => {
    const { name, kind } = await start(['--appendonly', 'yes', '--appendfsync', 'always']);
    await restart();
    expect(await lost()).toEqual([false, false]);
    await stores[0]!.drop(name, kind, made());
    expect(await lost()).toEqual([false, false]);
    await client.flushall();
    await instance();
    await client.flushall();
    expect(await lost()).toEqual([true, true, false]);
    await makeFilter(stores[2]!);
    expect(await lost()).toEqual([true, true, false]);
  });

  it('is noticed by the instance that has just created the first filter', async () => {
    await start();
    await client.flushall();
    const late = await instance();
    await makeFilter(late);
    await client.flushall();
    expect((await late.readiness()).lost).toBe(true);
  });
});
