import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../support/random.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { post, type Reply, type Request, send } from './load.js';

const AGE_MS = 13_000;
const EPOCH_MS = AGE_MS / 13;
const ROUNDS = 12;

const running: ServiceProcess[] = [];
let redis: RedisServer | undefined;
afterEach(async () => {
  for (const service of running.splice(0)) await service.clean();
  await redis?.stop();
  redis = undefined;
});

/** A service that is killed and restarted on the same data, on either store. */
interface Victim {
  readonly name: string;
  start(dataDir?: string): Promise<ServiceProcess>;
  /** Kills the process that holds the data, and restarts it. Returns the service, which may be a new process. */
  strike(service: ServiceProcess): Promise<ServiceProcess>;
}

const started = async (env: Record<string, string>): Promise<ServiceProcess> => {
  const service = await startProcess(env);
  running.push(service);
  return service;
};

const embedded: Victim = {
  name: 'embedded',
  start: (dataDir) => started(dataDir === undefined ? {} : { DATA_DIR: dataDir }),
  async strike(service) {
    service.child.kill('SIGKILL');
    await service.exit();
    // The first process's folder holds the data.
    return this.start(running[0]!.dataDir);
  },
};

const onRedis: Victim = {
  name: 'redis',
  async start() {
    redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    // Long enough that only a strike makes a call fail.
    return started({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '120000' });
  },
  async strike(service) {
    await redis!.kill('SIGKILL');
    await redis!.restart();
    return service;
  },
};

/** A URL's last visit took place between these times, in ms. */
interface Visited {
  readonly sent: number;
  readonly answered: number;
}

/** A caller's knowledge of a visited set that ages: the last visit to each URL that wasn't forgotten. */
class Model {
  readonly visits = new Map<string, Visited>();
  /** URLs that were discovered and not yet handed out. */
  readonly queued = new Set<string>();

  visited(urls: readonly string[], sent: number): void {
    for (const url of urls) this.visits.set(url, { sent, answered: Date.now() });
  }

  forget(urls: readonly string[]): void {
    for (const url of urls) this.visits.delete(url);
  }

  /** Whether the URL may have expired by now. While a killed store is unavailable, time passes. */
  mayHaveExpired(url: string): boolean {
    const visit = this.visits.get(url);
    return !visit || Date.now() >= visit.sent + AGE_MS;
  }

  /**
   * The expected result of a check that was sent at `sent` and is answered now. Undefined if it depends on the exact
   * moment.
   */
  answer(url: string, sent: number, leeway = 0): 'seen' | 'unseen' | undefined {
    const visit = this.visits.get(url);
    if (!visit) return 'unseen';
    if (Date.now() < visit.sent + AGE_MS - leeway) return 'seen';
    return sent > visit.answered + AGE_MS + EPOCH_MS ? 'unseen' : undefined;
  }

  /** URLs that will certainly be seen for a while. */
  get live(): string[] {
    return [...this.visits.keys()].filter((url) => this.answer(url, Date.now(), AGE_MS / 2) === 'seen');
  }
}

describe.each([embedded, onRedis])('a set that ages, on $name', (victim) => {
  it(`grows, feeds the queue, forgets, syncs, exports and imports while its store is killed, SEED=${SEED}`, async () => {
    const random = new Random(SEED);
    let service = await victim.start();
    let base = await service.url();
    const insist = async (request: Request): Promise<Reply> => {
      let reply: Reply | undefined;
      await until(`${request.path} succeeds`, async () => {
        reply = await send(base, request);
        return reply !== undefined && reply.status < 300;
      });
      return reply as Reply;
    };
    const strike = async (): Promise<void> => {
      await sleep(random.below(30));
      service = await victim.strike(service);
      base = await service.url();
    };
    const call = async (path: string, body: object): Promise<Record<string, unknown>> =>
      (await insist(post(path, body))).body as Record<string, unknown>;
    const model = new Model();
    const set = '/v1/visited-sets/ageing';
    await call('/v1/visited-sets', {
      ...{ name: 'ageing', capacity: 60, errorRate: 1e-6, maxAgeSeconds: AGE_MS / 1_000 },
    });
    const urls = (verb: string, list: readonly string[], of = set) =>
      call(`${of}/urls/${verb}`, { urls: list }).then(({ results }) => results as string[]);
    const discover = async (list: readonly string[]): Promise<void> => {
      const sent = Date.now();
      expect(await urls('discover', list)).toEqual(list.map(() => 'new'));
      model.visited(list, sent);
      for (const url of list) model.queued.add(url);
    };
    const visit = async (list: readonly string[]): Promise<void> => {
      const sent = Date.now();
      const answers = await urls('visit', list);
      expect(list.filter((url, n) => answers[n] !== 'seen' && !model.mayHaveExpired(url))).toEqual([]);
      model.visited(list, sent);
    };
    const forget = async (list: readonly string[]): Promise<void> => {
      const answers = await urls('forget', list);
      expect(list.filter((url, n) => answers[n] !== 'forgotten' && !model.mayHaveExpired(url))).toEqual([]);
      // Expired URLs stay queued.
      for (const [n, url] of list.entries()) if (answers[n] === 'forgotten') model.queued.delete(url);
      model.forget(list);
    };
    let known = 0;
    const checkAll = async (of = set): Promise<void> => {
      const list = Array.from({ length: known }, (_, n) => `https://example.org/${n}`);
      const sent = Date.now();
      const answers = await urls('check', list, of);
      const wrong = list.filter((url, n) => {
        const expected = model.answer(url, sent);
        return expected !== undefined && expected !== answers[n];
      });
      expect([of, wrong]).toEqual([of, []]);
    };
    const drain = async (): Promise<void> => {
      const missing = new Set(model.queued);
      for (let turn = 0; missing.size > 0; turn++) {
        expect([turn < 100, missing.size]).toEqual([true, missing.size]);
        const { urls: leased } = (await call(`${set}/queue/lease`, { max: 100, leaseSeconds: 3_600 })) as {
          urls: { id: string; url: string }[];
        };
        for (const { url } of leased) expect([url, missing.delete(url)]).toEqual([url, true]);
        await call(`${set}/queue/ack`, { ids: leased.map(({ id }) => id) });
      }
      model.queued.clear();
    };
    const some = (count: number): string[] => {
      const live = model.live.filter((url) => !model.queued.has(url));
      return Array.from({ length: count }, () => live.splice(random.below(live.length), 1)[0]).filter(
        (url) => url !== undefined,
      );
    };

    let striking: Promise<void> | undefined;
    for (let round = 0; round < ROUNDS; round++) {
      if (round % 3 === 2) striking = strike();
      await discover(Array.from({ length: 25 }, () => `https://example.org/${known++}`));
      await visit(some(15));
      await forget(some(8));
      await forget([...model.queued].slice(0, 2));
      await checkAll();
      if (round === 4 || round === 7) {
        await drain();
        const sync = await call(`${set}/syncs`, {});
        const live = model.live;
        const listed = live.filter(() => random.below(100) < 80);
        await Promise.all([
          round === 7 ? strike() : undefined,
          (async () => {
            const sent = Date.now();
            const kept = await call(`${set}/syncs/${sync['id'] as string}/urls`, { urls: listed });
            const answers = kept['results'] as string[];
            // A URL that has expired in the meantime is new to the set and gets a full age.
            model.visited(
              listed.filter((_, n) => answers[n] === 'new'),
              sent,
            );
            await forget(listed.slice(0, 3));
            await call(`${set}/syncs/${sync['id'] as string}/commit`, { force: true });
          })(),
        ]);
        const kept = new Set(listed);
        model.forget([...model.visits.keys()].filter((url) => !kept.has(url)));
        await checkAll();
      }
      if (round === 6) {
        const file = await (await fetch(`${base}${set}/export`)).arrayBuffer();
        const answer = await fetch(`${base}/v1/visited-sets/import?name=copy`, {
          method: 'POST',
          headers: { 'content-type': 'application/octet-stream', 'idempotency-key': randomUUID() },
          body: file,
        });
        expect([answer.status, answer.ok ? '' : await answer.text()]).toEqual([201, '']);
        await checkAll('/v1/visited-sets/copy');
      }
      await striking;
    }
    const described = (await insist({ method: 'GET', path: set, key: randomUUID() })).body;
    expect(described).toMatchObject({ maxAgeSeconds: AGE_MS / 1_000, age: { epochSeconds: 1 } });
    await drain();
    await sleep(AGE_MS + 2 * EPOCH_MS);
    await until('all items have expired', async () => {
      const { body } = await insist({ method: 'GET', path: set, key: randomUUID() });
      const { items, fill } = body as { items: number; fill: number };
      return items === 0 && fill === 0;
    });
    await checkAll();
    await checkAll('/v1/visited-sets/copy');
  });
});
