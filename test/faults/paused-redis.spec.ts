import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis-server.js';
import { startProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { Load } from './load.js';

const TIMEOUT_MS = 1_000;
const WRITERS = 16;
/** Each writer's failures during the pause. Each failure shows that a call ended while Redis was unavailable. */
const FAILURES = 8;
const MIB = 2 ** 20;
/** Each pending request takes kilobytes, and the load sends thousands of them during the pause. */
const GROWTH_BYTES = 100 * MIB;

/** Resident memory in bytes. */
function resident(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

describe('Redis, paused under load', () => {
  it('fails each call during the pause, queues nothing up, and changes nothing late', async () => {
    const redis = await startRedis();
    const service = await startProcess({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: String(TIMEOUT_MS) });
    const own = new Redis(redis.port, '127.0.0.1');
    try {
      const url = await service.url();
      const pid = service.child.pid!;
      await Load.makeFilter(url, 'load');
      const before = await under(url, 'before', served);
      const memoryBefore = resident(pid);

      process.kill(redis.pid, 'SIGSTOP');
      let peak = 0;
      const sampling = setInterval(() => (peak = Math.max(peak, resident(pid))), 250);
      const paused = await under(url, 'paused', ({ failed }) => failed >= FAILURES * WRITERS);
      clearInterval(sampling);
      process.kill(redis.pid, 'SIGCONT');

      await until('the service has found Redis', async () => (await fetch(`${url}/readyz`)).ok);
      const after = await under(url, 'after', served);
      for (const load of [before, paused, after]) await load.verify();
      expect(Math.max(peak, resident(pid)) - memoryBefore).toBeLessThan(GROWTH_BYTES);
      // Abandoned connections are closed once Redis notices them.
      let clients = 0;
      await until('the abandoned connections are closed', async () => {
        clients = String(await own.call('CLIENT', 'LIST', 'TYPE', 'normal'))
          .trim()
          .split('\n').length;
        return clients <= 4;
      });
      const memory = [memoryBefore, peak, resident(pid)].map((bytes) => Math.round(bytes / MIB)).join(', ');
      console.log(
        `${paused.failed} of ${paused.batches.length} calls failed while paused, slowest ` +
          `${Math.round(Math.max(...paused.latencies))} ms; memory before, at most, after: ${memory} MiB; ` +
          `${clients} connections left; ${after.acknowledged} batches afterwards, ${before.acknowledged} before`,
      );
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      own.disconnect();
      await service.clean();
      await redis.stop();
    }
  });
});

const served = ({ acknowledged }: Load): boolean => acknowledged >= 10 * WRITERS;

/** Runs a load whose keys begin with `prefix` until `isDone`, and then until all its calls have ended. */
async function under(url: string, prefix: string, isDone: (load: Load) => boolean): Promise<Load> {
  const load = Load.start(() => url, 'load', WRITERS, prefix);
  await until(`the load "${prefix}" is done`, async () => isDone(load));
  await load.stop();
  return load;
}
