import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Connection } from '../../libs/store/src/redis/connection/connection.js';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { limitedUser } from '../support/redis-acl.js';
import { killMaster } from '../support/redis-failover.js';
import { startSentinel, type RedisSentinel } from '../support/redis-sentinel.js';
import { until } from '../support/until.js';

const SENTINEL_PASSWORD = 'of-the-sentinels';
/**
 * After a failover, ioredis closes its connections to Sentinels a second time. That sets timers of 2 s that it never
 * clears and that would keep the test process alive.
 */
const SENTINEL_TIMERS_MS = 2_100;

interface Sent {
  readonly key: string;
  readonly item: string;
  readonly answer: Answer;
}

describe('the service behind Sentinels, waiting for a replica', () => {
  let watched: RedisSentinel;
  let app: TestApp;
  const name = freshName();

  beforeAll(async () => {
    const { args, username, password } = limitedUser();
    watched = await startSentinel({ replicas: 2, args, sentinelPassword: SENTINEL_PASSWORD });
    app = await startApp({
      REDIS_SENTINEL: watched.nodes.join(','),
      REDIS_SENTINEL_MASTER: watched.name,
      REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
      REDIS_USERNAME: username,
      REDIS_PASSWORD: password,
      REDIS_WAIT_REPLICAS: '1',
      REDIS_TIMEOUT_MS: '1000',
      REQUEST_TIMEOUT_MS: '3000',
    });
    const filter = { name, type: 'counting', semantics: 'multiset', capacity: 100_000, errorRate: 1e-6 };
    expect((await patiently(() => call(app, 'POST', '/v1/filters', filter))).status).toBeLessThan(300);
  });
  afterAll(async () => {
    await app.close();
    await watched.stop();
    await sleep(SENTINEL_TIMERS_MS);
  });

  it('when the master is killed: 503 until another is promoted, then it recovers, and no confirmed change is lost', async () => {
    const sent: Sent[] = [];
    const ended = new AbortController();
    const load = (async () => {
      while (!ended.signal.aborted) {
        const [key, item] = [randomUUID(), `item ${sent.length}`];
        sent.push({ key, item, answer: await add(key, item) });
        await sleep(2);
      }
    })();
    const answered = () => sent.filter(({ answer }) => answer.status === 200);
    await until('60 calls have succeeded', async () => answered().length > 60);
    await killMaster(watched.master, watched.replicas);
    let last: Answer | undefined;
    await until('the service answers again', async () => {
      last = await add(randomUUID(), 'probe');
      return last.status === 200;
    }).catch((error: unknown) => {
      throw new Error(`the last answer was ${last?.status} ${JSON.stringify(last?.body)}`, { cause: error });
    });
    ended.abort();
    await load;

    for (const { answer } of sent) {
      if (answer.status === 200) continue;
      expect([answer.status, answer.body]).toMatchObject([503, { code: 'STORE_UNAVAILABLE' }]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(answered().length).toBeLessThan(sent.length);
    expect(await counts(answered())).toEqual(answered().map(() => 1));
    for (const { key, item } of sent.slice(-200)) {
      expect((await patiently(() => add(key, item))).body).toEqual({ results: [true] });
    }
    expect(await counts(sent.slice(-200))).toEqual(sent.slice(-200).map(() => 1));
  });

  it('readiness then shows the state', async () => {
    const { status, body } = await patiently(() => call(app, 'GET', '/readyz'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ warnings: [expect.stringContaining('Redis keeps nothing on disk')] });
  });

  /** Retries refused calls. On a busy machine, a call may exceed its timeout of one second. */
  async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
    let answer = await ask();
    await until('the call is answered', async () => {
      if (answer.status === 503) answer = await ask();
      return answer.status !== 503;
    });
    return answer;
  }

  function add(key: string, item: string): Promise<Answer> {
    const headers = { 'Idempotency-Key': key };
    return call(app, 'POST', `/v1/filters/${name}/items/add`, { items: [item] }, headers);
  }

  async function counts(sent: readonly Sent[]): Promise<unknown> {
    const items = sent.map(({ item }) => item);
    const { body } = await patiently(() => call(app, 'POST', `/v1/filters/${name}/items/count`, { items }));
    return (body as { results: unknown }).results;
  }
});

describe('a failover that a Sentinel reports while the client looks up the master', () => {
  it('doesn’t end the connection permanently', async () => {
    const watched = await startSentinel({ sentinels: 1 });
    const sentinel = { nodes: watched.nodes, master: watched.name };
    const connection = new Connection({ sentinel, timeoutMs: 10_000 });
    try {
      await connection.firstTry();
      expect(connection.connected).toBe(true);
      const client = connection.client as Redis;
      let told = false;
      client.once('connecting', () => {
        told = true;
        // Does the same as ioredis's FailoverDetector.
        (Reflect.get(client, 'connector') as { disconnect(): void }).disconnect();
      });
      client.disconnect(true);
      await until('the store is connected again', async () => told && connection.connected);
    } finally {
      await connection.close();
      await watched.stop();
      await sleep(SENTINEL_TIMERS_MS);
    }
  });
});
