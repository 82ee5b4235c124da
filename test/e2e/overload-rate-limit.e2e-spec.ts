import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { call, startApp, type Answer, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { startCluster, type RedisCluster } from '../support/redis-cluster.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { jsonPost, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { inFlight, untilIdle } from './in-flight.js';
import { STORES } from './stores.js';

const LIMIT = 3;
const ENV = { AUTH: 'keys', RATE_LIMIT: String(LIMIT) };
/** A counting second starts with its first request. Within this time of the request before, it is not over. */
const SURELY_MS = 900;
const TRIES = 20;

/**
 * The answers to a list of calls in one counting second, which the first of them begins. Tries again while the machine is too slow
 * for that.
 */
async function withinASecond(calls: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if (attempt > 0) await sleep(1_100);
    const from = performance.now();
    const answers: Answer[] = [];
    for (const one of calls) answers.push(await one());
    if (performance.now() - from < SURELY_MS) return answers;
  }
  throw new Error(`${calls.length} calls took longer than ${SURELY_MS} ms, ${TRIES} times`);
}

const list = (app: TestApp, key?: TestKey) => () =>
  call(app, 'GET', '/v1/filters', undefined, key?.headers ?? {});
const times = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);

describe.each(STORES)('the rate limit, $name store', ({ start }) => {
  let app: TestApp;
  let one: TestKey;
  let other: TestKey;
  beforeAll(async () => {
    app = await start(ENV);
  });
  // Nothing has been counted of a new key.
  beforeEach(async () => {
    one = await makeKey(app, 'admin');
    other = await makeKey(app, 'read');
  });
  afterAll(() => app.close());

  it('refuses what is too much of one key and not of another, and says when to come again', async () => {
    const calls = [...times(LIMIT + 1, list(app, one)), list(app, other)];
    const answers = await withinASecond(calls);
    expect(statuses(answers)).toEqual([...times(LIMIT, 200), 429, 200]);
    expect(answers[LIMIT]?.headers.get('retry-after')).toBe('1');
    expect(answers[LIMIT]?.body).toMatchObject({
      code: 'RATE_LIMITED',
      detail: 'no more than 3 requests a second are taken from one caller (RATE_LIMIT)',
    });
    await sleep(1_100);
    expect(await list(app, one)()).toMatchObject({ status: 200 });
  });

  it('executes nothing of what it refuses, and counts streams as one request', async () => {
    const create = { name: 'limited', type: 'counting', capacity: 10_000, errorRate: 0.001 };
    await call(app, 'POST', '/v1/filters', create, (await makeKey(app, 'admin')).headers);
    const items = '/v1/filters/limited/items';
    const text = { ...one.headers, 'content-type': 'text/plain' };
    const body = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join('\n');
    const stream = () => call(app, 'POST', `${items}/add?results=none`, body, text);
    // Each try takes another item, because an item was added if the machine was too slow.
    let tries = 0;
    const add = () => call(app, 'POST', `${items}/add`, { items: [`refused ${++tries}`] }, one.headers);
    const answers = await withinASecond([...times(LIMIT, stream), add]);
    expect(statuses(answers)).toEqual([...times(LIMIT, 200), 429]);
    const check = await call(app, 'POST', `${items}/check`, { items: [`refused ${tries}`] }, other.headers);
    expect(check).toMatchObject({ status: 200, body: { results: [false] } });
    // The id of a refused request belongs to its repeats, and once it has been executed to no other request.
    const id = {
      ...(await makeKey(app, 'write')).headers,
      'idempotency-key': answers[LIMIT]?.headers.get('idempotency-key') ?? '',
    };
    const repeat = () => call(app, 'POST', `${items}/add`, { items: ['refused'] }, id);
    expect([await repeat(), await repeat()]).toMatchObject(
      times(2, { status: 200, body: { results: [true] } }),
    );
    expect(await call(app, 'POST', `${items}/add`, { items: ['other'] }, id)).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it('does not count probes', async () => {
    const probe = () => call(app, 'GET', '/healthz');
    expect(statuses(await withinASecond(times(LIMIT + 2, probe)))).toEqual(times(LIMIT + 2, 200));
  });
});

describe('the rate limit without keys', () => {
  it('is by address', async () => {
    const app = await startApp({ RATE_LIMIT: '1' });
    try {
      expect(statuses(await withinASecond(times(2, list(app))))).toEqual([200, 429]);
    } finally {
      await app.close();
    }
  });

  it('is none unless it is set', async () => {
    const app = await startApp();
    try {
      expect(statuses(await withinASecond(times(10, list(app))))).toEqual(times(10, 200));
    } finally {
      await app.close();
    }
  });
});

describe('the rate limit of several instances on one Redis', () => {
  let redis: RedisServer;
  let apps: [TestApp, TestApp];
  let key: TestKey;
  beforeAll(async () => {
    redis = await startRedis();
    const env = { ...ENV, REDIS_URL: redis.url };
    apps = [await startApp(env), await startApp(env)];
    key = await makeKey(apps[0], 'write');
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
    await redis.stop();
  });

  it('is shared, in keys of its own that end by themselves', async () => {
    const [first, second] = apps;
    const answers = await withinASecond([
      ...times(LIMIT - 1, list(first, key)),
      ...times(2, list(second, key)),
      list(first, key),
    ]);
    expect(statuses(answers)).toEqual([...times(LIMIT, 200), 429, 429]);
    const client = new Redis(redis.url);
    try {
      await list(first, key)();
      const names = await client.keys('*');
      expect(names.filter((name) => !name.startsWith('unseen:'))).toEqual([]);
      const rate = names.filter((name) => name.startsWith('unseen:rate:'));
      for (const name of rate) expect(await client.pttl(name)).toBeLessThanOrEqual(1_000);
    } finally {
      client.disconnect();
    }
  });

  it('lets requests through while Redis is away, so that they are told so', async () => {
    const app = await startApp({
      AUTH: 'none',
      RATE_LIMIT: '1',
      REDIS_URL: redis.url,
      REDIS_TIMEOUT_MS: '200',
    });
    try {
      process.kill(redis.pid, 'SIGSTOP');
      const answers = await Promise.all(times(4, list(app)).map((ask) => ask()));
      const away = { status: 503, body: { code: 'STORE_UNAVAILABLE' } };
      for (const answer of answers) expect(answer).toMatchObject(away);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      await app.close();
    }
  });
});

describe('a request that is being counted when its client leaves', () => {
  it('keeps its place, so that retries do not pile up behind a slow Redis', async () => {
    const redis = await startRedis();
    const app = await startApp({ AUTH: 'none', RATE_LIMIT: '1000', REDIS_URL: redis.url });
    try {
      await list(app)();
      process.kill(redis.pid, 'SIGSTOP');
      // Planning asks the store for nothing, so the request waits only for the count.
      const plan = { type: 'counting', capacity: 1_000, errorRate: 0.01 };
      const client = (await RawClient.connect(app.port)).send(jsonPost('/v1/plan', plan));
      await until('it is in flight', async () => inFlight(app)['requests'] === 1);
      client.destroy();
      await sleep(200);
      expect(inFlight(app)).toMatchObject({ requests: 1 });
      process.kill(redis.pid, 'SIGCONT');
      await untilIdle(app);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      await app.close();
      await redis.stop();
    }
  });
});

describe('the rate limit on a cluster', () => {
  let cluster: RedisCluster;
  let app: TestApp;
  beforeAll(async () => {
    cluster = await startCluster();
    app = await startApp({ ...ENV, REDIS_CLUSTER: cluster.nodes.join(',') });
  });
  afterAll(async () => {
    await app.close();
    await cluster.stop();
  });

  it('counts every key where it belongs', async () => {
    const keys: TestKey[] = [];
    for (let i = 0; i < 3; i++) keys.push(await makeKey(app, 'read'));
    for (const key of keys) {
      const answers = await withinASecond(times(LIMIT + 1, list(app, key)));
      expect(statuses(answers)).toEqual([...times(LIMIT, 200), 429]);
    }
  });
});
