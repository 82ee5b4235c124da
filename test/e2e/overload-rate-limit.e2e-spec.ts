import { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RATE_PREFIX } from '../../libs/store/src/redis/layout/keys.js';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';
import { startCluster, type RedisCluster } from '../support/redis-cluster.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { jsonPost, RawClient } from '../support/raw-client.js';
import { until } from '../support/until.js';
import { connections, inFlight, untilIdle } from './in-flight.js';
import { STORES } from './stores.js';

const LIMIT = 3;
/** Number of requests sent at the same time. */
const BURST = 20;
/** One caller may have a burst of streams in flight, which is half of the limit. */
const ENV = { AUTH: 'keys', RATE_LIMIT: String(LIMIT), MAX_STREAMS: String(2 * BURST) };
/** Far longer than a test, so the counting second doesn't end during one. */
const HELD_MS = 3_600_000;

type Ask = () => Promise<Answer>;

const list =
  (app: TestApp, key?: TestKey): Ask =>
  () =>
    call(app, 'GET', '/v1/filters', undefined, key?.headers ?? {});
const times = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);
const atOnce = (count: number, ask: Ask): Promise<Answer[]> =>
  Promise.all(times(count, ask).map((one) => one()));

async function inTurn(calls: readonly Ask[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const ask of calls) answers.push(await ask());
  return answers;
}

/** Sends bursts until one exceeds the limit. Returns the first refusal, and expects all other calls to succeed. */
async function untilRefused(ask: Ask): Promise<Answer> {
  let refused: Answer | undefined;
  await until('one call is refused', async () => {
    const answers = await atOnce(BURST, ask);
    refused = answers.find(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    return refused !== undefined;
  });
  return refused as Answer;
}

/** Extends a key's counting second, so the count is exact even on slow machines. */
const hold = (client: Redis | Cluster, { id }: TestKey) =>
  client.set(`${RATE_PREFIX}:key:${id}`, 0, 'PX', HELD_MS);

describe.each(STORES)('the rate limit, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start(ENV);
  });
  afterAll(() => app.close());

  it('refuses calls above one key’s limit, not another’s, and says when to retry', async () => {
    const [one, other] = [await makeKey(app, 'admin'), await makeKey(app, 'read')];
    const [refused, answers] = await Promise.all([
      untilRefused(list(app, one)),
      atOnce(LIMIT, list(app, other)),
    ]);
    expect(statuses(answers)).toEqual(times(LIMIT, 200));
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.body).toMatchObject({
      code: 'RATE_LIMITED',
      detail:
        'a caller may make at most 3 requests per second (RATE_LIMIT); wait for the time in Retry-After',
    });
    await until('the service accepts the key again', async () => (await list(app, one)()).status === 200);
  });

  it('executes no refused call', async () => {
    const [key, reader] = [await makeKey(app, 'admin'), await makeKey(app, 'read')];
    const items = await makeFilter(app);
    let tries = 0;
    const tried = new Map<Answer, string>();
    const add = async (): Promise<Answer> => {
      const item = `item ${++tries}`;
      const answer = await call(app, 'POST', `${items}/add`, { items: [item] }, key.headers);
      tried.set(answer, item);
      return answer;
    };
    const refused = await untilRefused(add);
    const all = [...tried];
    const check = await call(
      app,
      'POST',
      `${items}/check`,
      { items: all.map(([, item]) => item) },
      reader.headers,
    );
    expect(check).toMatchObject({
      status: 200,
      body: { results: all.map(([{ status }]) => status === 200) },
    });
    // The operation key of a refused request is free for its retry. After the retry, no other request can use it.
    const id = { ...key.headers, 'idempotency-key': refused.headers.get('idempotency-key') ?? '' };
    const repeated = async (body: object): Promise<Answer> => {
      let answer: Answer | undefined;
      await until('the call is not refused', async () => {
        answer = await call(app, 'POST', `${items}/add`, body, id);
        return answer.status !== 429;
      });
      return answer as Answer;
    };
    for (let n = 0; n < 2; n++) {
      expect(await repeated({ items: ['refused'] })).toMatchObject({
        status: 200,
        body: { results: [true] },
      });
    }
    expect(await repeated({ items: ['other'] })).toMatchObject({
      status: 422,
      body: { code: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it('counts a stream as one request', async () => {
    const key = await makeKey(app, 'admin');
    const items = await makeFilter(app);
    const text = { ...key.headers, 'content-type': 'text/plain' };
    const body = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join('\n');
    const stream = () => call(app, 'POST', `${items}/add?results=none`, body, text);
    // If blocks counted as requests, a stream would be refused in the middle.
    expect(statuses(await atOnce(LIMIT, stream))).toEqual(times(LIMIT, 200));
    await untilRefused(stream);
  });

  it('doesn’t count probes', async () => {
    const probe = () => call(app, 'GET', '/healthz');
    expect(statuses(await atOnce(BURST, probe))).toEqual(times(BURST, 200));
  });
});

/** Creates a filter with its own key, and returns the path of its items. */
async function makeFilter(app: TestApp): Promise<string> {
  const { headers } = await makeKey(app, 'admin');
  const filter = { name: freshName(), type: 'counting', capacity: 10_000, errorRate: 1e-6 };
  expect(await call(app, 'POST', '/v1/filters', filter, headers)).toMatchObject({ status: 201 });
  return `/v1/filters/${filter.name}/items`;
}

describe('the rate limit without keys', () => {
  it('counts by address', async () => {
    const app = await startApp({ RATE_LIMIT: '1' });
    try {
      await untilRefused(list(app));
    } finally {
      await app.close();
    }
  });

  it('is off by default', async () => {
    const app = await startApp();
    try {
      expect(statuses(await atOnce(BURST, list(app)))).toEqual(times(BURST, 200));
    } finally {
      await app.close();
    }
  });
});

describe('the rate limit of several instances on one Redis', () => {
  let redis: RedisServer;
  let client: Redis;
  let apps: [TestApp, TestApp];
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
    const env = { ...ENV, REDIS_URL: redis.url };
    apps = [await startApp(env), await startApp(env)];
  });
  afterAll(async () => {
    client.disconnect();
    for (const app of apps) await app.close();
    await redis.stop();
  });

  it('is shared', async () => {
    const [first, second] = apps;
    const key = await makeKey(first, 'write');
    await hold(client, key);
    const answers = await inTurn([
      ...times(LIMIT - 1, list(first, key)),
      ...times(2, list(second, key)),
      list(first, key),
    ]);
    expect(statuses(answers)).toEqual([...times(LIMIT, 200), 429, 429]);
  });

  it('uses its own Redis keys, which expire', async () => {
    const key = await makeKey(apps[0], 'write');
    await untilRefused(list(apps[0], key));
    const names = await client.keys('*');
    expect(names.filter((name) => !name.startsWith('unseen:'))).toEqual([]);
    const counted = `${RATE_PREFIX}:key:${key.id}`;
    // Other tests extend their keys' expiry.
    for (const name of names.filter((one) => one === counted)) {
      // -1 means that the Redis key never expires.
      const left = await client.pttl(name);
      expect([left === -1, left <= 1_000]).toEqual([false, true]);
    }
    await until('the Redis key has expired', async () => (await client.exists(counted)) === 0);
  });

  it('lets requests through while Redis is unavailable, so that they get the right error', async () => {
    const app = await startApp({
      AUTH: 'none',
      RATE_LIMIT: '1',
      REDIS_URL: redis.url,
      REDIS_TIMEOUT_MS: '200',
    });
    try {
      process.kill(redis.pid, 'SIGSTOP');
      const answers = await atOnce(4, list(app));
      const away = { status: 503, body: { code: 'STORE_UNAVAILABLE' } };
      for (const answer of answers) expect(answer).toMatchObject(away);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      await app.close();
    }
  });
});

describe('a request whose client disconnects while it is counted', () => {
  it('keeps its place, so retries don’t pile up behind a slow Redis', async () => {
    const redis = await startRedis();
    // The service waits for Redis until it continues.
    const env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '600000' };
    const app = await startApp({ AUTH: 'none', RATE_LIMIT: '1000', ...env });
    try {
      await list(app)();
      process.kill(redis.pid, 'SIGSTOP');
      // Planning doesn't use the store, so the request waits only for its rate limit count.
      const plan = { type: 'counting', capacity: 1_000, errorRate: 0.01 };
      const client = (await RawClient.connect(app.port)).send(jsonPost('/v1/plan', plan));
      await until('the call is in flight', async () => inFlight(app)['requests'] === 1);
      // The service may still answer a client that ends only its side, so reset the connection.
      client.socket.resetAndDestroy();
      await until('the service has noticed that the client left', async () => (await connections(app)) === 0);
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
  let client: Cluster;
  let app: TestApp;
  beforeAll(async () => {
    cluster = await startCluster();
    client = new Cluster(cluster.nodes.map((node) => `redis://${node}`));
    app = await startApp({ ...ENV, REDIS_CLUSTER: cluster.nodes.join(',') });
  });
  afterAll(async () => {
    client.disconnect();
    await app.close();
    await cluster.stop();
  });

  it('counts each key in its own slot', async () => {
    const keys: TestKey[] = [];
    for (let i = 0; i < 3; i++) keys.push(await makeKey(app, 'read'));
    for (const key of keys) {
      await hold(client, key);
      expect(statuses(await inTurn(times(LIMIT + 1, list(app, key))))).toEqual([...times(LIMIT, 200), 429]);
    }
  });
});
