import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../support/random.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';
import { HostileWork } from './hostile-work.js';
import { KNOWN, randomShape } from './shapes.js';

/** Number of random shapes. SHAPES=2000 tries more, SEED=… repeats the same shapes. */
const RUNS = Number(process.env.SHAPES ?? 5);
const SHARE = 1 / 128;
/** A pause between two polls, in ms. Without it, polling takes more CPU time than the work. */
const REST_MS = 10;
/** Enough for several segments. A larger filter only takes longer to create and export. */
const CAPACITY = 500_000;
const AMOUNTS = { capacity: CAPACITY, long: 50, short: 4_000, batch: 200 };
/** Long time limits, because this test isn't about them. */
const PATIENT = { AUTH: 'none', REQUEST_TIMEOUT_MS: '600000' };

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

describe.each(['embedded', 'redis'])('a service with hostile work, %s store', (store) => {
  /** Runs `act` while it keeps polling /healthz. Each poll must get an answer. */
  async function whileHealthy<T>(url: string, act: () => Promise<T>): Promise<T> {
    let done = false;
    const acting = act().finally(() => (done = true));
    const asking = async (): Promise<void> => {
      while (!done) {
        expect(await statusOf(`${url}/healthz`)).toBe(200);
        await sleep(REST_MS);
      }
    };
    const [result] = await Promise.all([acting, asking()]);
    return result;
  }

  async function start(): Promise<string> {
    const redis = store === 'redis' ? await startRedis() : undefined;
    if (redis) cleanUps.push(() => redis.stop());
    const env = redis && { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '600000' };
    const service = await startProcess({ ...PATIENT, ...env });
    cleanUps.push(() => service.clean());
    return service.url();
  }

  it(`answers hostile bodies and /healthz without a 5xx (SEED=${SEED} SHAPES=${RUNS})`, async () => {
    const url = await start();
    const work = await HostileWork.at(url, CAPACITY);
    const random = new Random();
    const shapes = [...KNOWN, ...Array.from({ length: RUNS }, () => randomShape(random))];
    for (const shape of shapes)
      await whileHealthy(url, () => work.send({ ...shape, bytes: shape.bytes * SHARE }));
  });

  it('answers /healthz during long and parallel work', async () => {
    const url = await start();
    const work = await HostileWork.at(url, CAPACITY);
    const steps = work.steps('set', AMOUNTS);
    const answers: Record<string, string> = {};
    for (const [name, step] of Object.entries(steps)) answers[name] = await whileHealthy(url, step);
    const leased = JSON.parse(answers['a lease of control characters']!) as { urls: { url: string }[] };
    const long = Array.from(
      { length: AMOUNTS.long },
      (_, i) => `https://example.org/${i}/${'\u0001'.repeat(8_000)}`,
    );
    expect(leased.urls.map(({ url }) => url).toSorted()).toEqual(long.toSorted());
    for (const name of ['a stream of long URLs', 'a stream of many URLs'])
      expect(JSON.parse(answers[name]!)).toMatchObject({ done: true });
    expect(JSON.parse(answers['import']!)).toMatchObject({ name: 'set.imported', items: AMOUNTS.short });
    const batches = answers['batches and small calls at once']!.split('\n');
    expect(batches).toHaveLength(52);
    for (const batch of batches.slice(0, 12)) {
      const { results } = JSON.parse(batch) as { results: string[] };
      expect(results).toHaveLength(AMOUNTS.batch);
    }
    for (const small of batches.slice(12)) expect(JSON.parse(small)).toEqual({ results: [false] });
  });
});
