import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../support/random.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { LifeCycles, Load } from './load.js';

const WRITERS = 8;
/** Each kill comes after 10 to 49 acknowledged batches. */
const MOST_BATCHES = 40;
const running: ServiceProcess[] = [];

const start = async (env: Record<string, string> = {}): Promise<ServiceProcess> => {
  const service = await startProcess(env);
  running.push(service);
  return service;
};
afterEach(async () => {
  for (const service of running.splice(0)) await service.clean();
});

describe('the service on the embedded store, killed under load', () => {
  it('keeps everything it acknowledged, once: at random moments, during shutdown, and between life cycles', async () => {
    const random = new Random();
    let service = await start();
    const { dataDir } = service;
    let url = await service.url();
    await Load.makeFilter(url, 'load');
    const cycles = new LifeCycles();
    const loads: Load[] = [];
    const rounds: string[] = [];
    for (let round = 0; round < 4; round++) {
      const load = Load.start(() => url, 'load', WRITERS, `round-${round}`);
      cycles.start(() => url);
      loads.push(load);
      await load.underWay(random.below(MOST_BATCHES));
      // Every second kill comes in the middle of an orderly shutdown, which checkpoints.
      if (round % 2 === 1) {
        service.child.kill('SIGTERM');
        await sleep(random.below(60));
      }
      service.child.kill('SIGKILL');
      await Promise.all([load.stop(), cycles.stop()]);
      await service.exit();
      const began = performance.now();
      service = await start({ DATA_DIR: dataDir });
      url = await service.url();
      const ms = Math.round(performance.now() - began);
      const kib = Math.round((await stat(join(dataDir, 'data.mdb'))).size / 1024);
      rounds.push(`${load.acknowledged}/${load.batches.length} in ${ms} ms, ${kib} KiB`);
      expect(await load.missing()).toBe(0);
    }
    for (const load of loads) await load.verify();
    cycles.start(() => url);
    await cycles.turned();
    await cycles.verify(url);
    const { items } = (await (await fetch(`${url}/v1/filters/load`)).json()) as { items: number };
    expect(items).toBe(loads.flatMap(({ batches }) => batches.flatMap((batch) => batch.items)).length);
    console.log(
      `seed ${SEED}; batches acknowledged/sent, start after the kill, data file: ${rounds.join('; ')}; ` +
        `${cycles.dropped.length} filters made and dropped`,
    );
  });
});

describe('Redis, killed under load and started again', () => {
  it.each([
    { fsync: 'always', rounds: 2, loses: 'no acknowledged change' },
    // Only the process dies: the kernel still has the data that it had written but not flushed.
    { fsync: 'everysec', rounds: 1, loses: 'at most changes that a repeat with its key restores' },
  ])('with appendfsync $fsync loses $loses, and the service continues', async ({ fsync, rounds }) => {
    const redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', fsync] });
    try {
      const service = await start({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '1500' });
      const url = await service.url();
      await Load.makeFilter(url, 'load');
      const cycles = new LifeCycles();
      const random = new Random();
      const outcomes: string[] = [];
      for (let round = 0; round < rounds; round++) {
        const load = Load.start(() => url, 'load', WRITERS, `round-${round}`);
        cycles.start(() => url);
        await load.underWay(random.below(MOST_BATCHES));
        await redis.kill('SIGKILL');
        // The service retries on its own for a while before a call fails.
        await until('calls have failed', async () => load.failed >= WRITERS);
        await redis.restart();
        await until('the service has found Redis', async () => (await fetch(`${url}/readyz`)).ok);
        await load.underWay();
        await Promise.all([load.stop(), cycles.stop()]);
        const missing = await load.missing();
        if (fsync === 'always') expect(missing).toBe(0);
        await load.verify();
        outcomes.push(`${load.acknowledged}/${load.batches.length}, ${missing} items missing`);
      }
      cycles.start(() => url);
      await cycles.turned();
      await cycles.verify(url);
      console.log(`appendfsync ${fsync}: batches acknowledged/sent: ${outcomes.join('; ')}`);
    } finally {
      await redis.stop();
    }
  });
});
