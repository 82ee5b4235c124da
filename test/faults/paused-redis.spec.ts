import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis-server.js';
import { startProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { Load } from './load.js';

const PAUSE_MS = 15_000;
const TIMEOUT_MS = 1_000;
const WRITERS = 16;
/** Time for one or two calls per request. It is below the pause, however slow the machine. */
const LONGEST_MS = 0.8 * PAUSE_MS;
const MIB = 2 ** 20;
/** A request that piles up holds kilobytes, and thousands are sent during the pause. */
const GROWTH_BYTES = 100 * MIB;

/** Resident memory in bytes. */
function resident(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

describe('Redis, paused for fifteen seconds under load', () => {
  it('costs every call its time limit and no more, piles nothing up, and changes nothing late', async () => {
    const redis = await startRedis();
    const service = await startProcess({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: String(TIMEOUT_MS) });
    const own = new Redis(redis.port, '127.0.0.1');
    try {
      const url = await service.url();
      const pid = service.child.pid!;
      await Load.makeFilter(url, 'load');
      const before = await under(url, 'before', 1_500);
      const memoryBefore = resident(pid);

      process.kill(redis.pid, 'SIGSTOP');
      let peak = 0;
      const sampling = setInterval(() => (peak = Math.max(peak, resident(pid))), 250);
      const paused = await under(url, 'paused', PAUSE_MS);
      clearInterval(sampling);
      process.kill(redis.pid, 'SIGCONT');

      await until('the service has found Redis', async () => (await fetch(`${url}/readyz`)).ok);
      const after = await under(url, 'after', 3_000);
      for (const load of [before, paused, after]) await load.verify();
      expect(paused.failed).toBeGreaterThan(WRITERS);
      expect(Math.max(...paused.latencies)).toBeLessThan(LONGEST_MS);
      expect(after.acknowledged).toBeGreaterThan(0);
      expect(Math.max(peak, resident(pid)) - memoryBefore).toBeLessThan(GROWTH_BYTES);
      // Abandoned connections are closed once Redis can notice.
      let clients = 0;
      await until('the connections given up are closed', async () => {
        clients = String(await own.call('CLIENT', 'LIST', 'TYPE', 'normal'))
          .trim()
          .split('\n').length;
        return clients <= 4;
      });
      const memory = [memoryBefore, peak, resident(pid)].map((bytes) => Math.round(bytes / MIB)).join(', ');
      console.log(
        `${paused.failed} of ${paused.batches.length} calls failed while paused, slowest ` +
          `${Math.round(Math.max(...paused.latencies))} ms; memory before, at most, after: ${memory} MiB; ` +
          `${clients} connections left; ${after.acknowledged} batches in 3 s afterwards, ${before.acknowledged} before`,
      );
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      own.disconnect();
      await service.clean();
      await redis.stop();
    }
  });
});

/** Runs a load for `ms` under keys that begin with `prefix`. */
async function under(url: string, prefix: string, ms: number): Promise<Load> {
  const load = Load.start(() => url, 'load', WRITERS, prefix);
  await sleep(ms);
  await load.stop();
  return load;
}
