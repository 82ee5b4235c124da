import fc from 'fast-check';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SEED } from '../support/random.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { judge, operationsOf, type ApiDocument } from './api.js';
import { NAMES } from './names.js';
import { encode, requests, type FuzzRequest } from './request.js';
import { Wire } from './wire.js';

/**
 * Requests to the embedded store. Redis gets a fifth as many. FUZZ_RUNS=100000 sends more, SEED=… repeats the same
 * requests.
 */
const RUNS = Number(process.env.FUZZ_RUNS ?? 2_000);
const MS_PER_RUN = 100;
const MIB = 2 ** 20;
const MAX_GROWTH_BYTES = 200 * MIB;

const LIMITS = {
  MAX_FILTER_BYTES: String(4 * MIB),
  MAX_BODY_BYTES: String(MIB),
  AUTH: 'none',
  LOG_LEVEL: 'error',
};

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(
  env: Readonly<Record<string, string>> = {},
): Promise<{ service: ServiceProcess; url: string }> {
  const service = await startProcess({ ...LIMITS, ...env });
  cleanUps.push(() => service.clean());
  return { service, url: await service.url() };
}

/** Recreates the filters that requests have deleted. Every name except one is then in use. */
async function makeAll(url: string): Promise<void> {
  const sizing = { capacity: 10_000, errorRate: 0.001 };
  for (const name of NAMES.filter((one) => one !== 'absent')) {
    const visited = name.includes('visited');
    const type = name === 'standard' ? 'standard' : 'counting';
    const filter = { type, ...(name === 'multiset' && { semantics: name }) };
    await fetch(`${url}/v1/${visited ? 'visited-sets' : 'filters'}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name, ...sizing, ...(!visited && filter) }),
    });
  }
}

/** A value of /metrics. */
async function metric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

async function fuzz(url: string, runs: number, seed: number): Promise<ReadonlyMap<number, number>> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  const wire = new Wire(Number(new URL(url).port));
  const statuses = new Map<number, number>();
  await makeAll(url);
  const holds = async (request: FuzzRequest): Promise<void> => {
    const { answers, rest } = await wire.exchange(encode(request));
    const [answer] = answers;
    if (!answer) throw new Error(`no answer: ${rest}`);
    expect(judge(request.operation, answer, document)).toEqual([]);
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 204) await makeAll(url);
  };
  try {
    await fc.assert(fc.asyncProperty(requests(operationsOf(document), document.components.schemas), holds), {
      seed,
      numRuns: runs,
      endOnFailure: false,
    });
  } finally {
    wire.close();
  }
  console.log(`${runs} requests, answered ${JSON.stringify(Object.fromEntries(statuses))}`);
  return statuses;
}

describe(`generated requests to every route (SEED=${SEED} FUZZ_RUNS=${RUNS})`, () => {
  it(
    'get the documented answers, without defects, hangs, crashes, or leaks',
    async () => {
      const { service, url } = await start();
      await fuzz(url, Math.ceil(RUNS / 4), SEED + 1);
      const before = await metric(url, 'process_resident_memory_bytes');
      const statuses = await fuzz(url, RUNS, SEED);
      const after = await metric(url, 'process_resident_memory_bytes');
      console.log(`memory before ${before / MIB}, after ${after / MIB} MiB`);
      expect(after - before).toBeLessThan(MAX_GROWTH_BYTES);
      for (const name of ['requests{kind="requests"}', 'requests{kind="streams"}', 'bytes']) {
        // The service may still have to notice that the last connection is closed.
        await until(
          `no ${name} are in flight`,
          async () => (await metric(url, `unseen_in_flight_${name}`)) === 0,
        );
      }
      // If this fails, one fault caused most requests to be refused, and the test has tried nothing. The list has only
      // statuses that occur dozens of times, so that no seed fails here. 201 and 422 occur once in a thousand.
      expect(statuses.get(200)).toBeGreaterThan(RUNS / 10);
      expect([...statuses.keys()]).toEqual(expect.arrayContaining([204, 400, 404, 409, 415]));
      expect(service.child.exitCode).toBeNull();
      expect(service.stderr() + service.stdout()).not.toMatch(/INTERNAL_ERROR|"level":(50|60)/);
    },
    60_000 + RUNS * MS_PER_RUN,
  );

  it(
    'also get the documented answers from the Redis store',
    async () => {
      const redis = await startRedis();
      cleanUps.push(() => redis.stop());
      const { service, url } = await start({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' });
      const statuses = await fuzz(url, Math.ceil(RUNS / 5), SEED + 2);
      expect(statuses.get(200)).toBeGreaterThan(RUNS / 50);
      expect(service.child.exitCode).toBeNull();
      expect(service.stderr() + service.stdout()).not.toMatch(/INTERNAL_ERROR|"level":(50|60)/);
    },
    60_000 + RUNS * MS_PER_RUN,
  );
});
