import { setTimeout as sleep } from 'node:timers/promises';
import { withClient } from '../support/redis-failover.js';
import type { RedisServer } from '../support/redis-server.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { between, NEXT_ANSWER_MS, type FaultSource } from './system.js';

const CUT_WITHIN_MS = 500;
/** A few commands' size. */
const MOST_BYTES = 5_000;

/** Kills Redis and restarts it with the data on disk. */
export function storeKill(redis: RedisServer): FaultSource {
  return {
    kind: 'store-kill',
    group: 'processes',
    async strike(random, answers) {
      await answers.next(NEXT_ANSWER_MS);
      await redis.kill('SIGKILL');
      await sleep(between(random, 0, 1_500));
      await redis.restart();
      return undefined;
    },
  };
}

/**
 * Faults between one service and Redis, where each service has its own proxy. A reply or a command breaks off, commands
 * arrive very late, or nothing passes for a while.
 */
export function linkFaults(proxies: readonly TcpProxy[]): FaultSource[] {
  return [
    {
      kind: 'link-down',
      group: 'connections',
      async strike(random, answers) {
        await answers.next(NEXT_ANSWER_MS);
        const proxy = random.pick(proxies);
        proxy.interrupt();
        await sleep(between(random, 100, 1_500));
        proxy.restore();
        return undefined;
      },
    },
    {
      kind: 'link-cut',
      group: 'connections',
      async strike(random) {
        const proxy = random.pick(proxies);
        proxy.cutAfter(random.pick(['request', 'reply'] as const), between(random, 0, MOST_BYTES));
        await sleep(CUT_WITHIN_MS);
        proxy.disarm();
        return undefined;
      },
    },
    {
      kind: 'link-delay',
      group: 'connections',
      async strike(random) {
        const deliver = random.pick(proxies).delayAfter(between(random, 0, MOST_BYTES));
        await sleep(between(random, 100, 2_500));
        await deliver();
        return undefined;
      },
    },
  ];
}

/** Stops one of the store's servers for up to `mostMs`. Some calls are slow then, and some time out. */
export function storePause(pick: () => RedisServer, mostMs: number): FaultSource {
  return {
    kind: 'store-pause',
    group: 'processes',
    async strike(random) {
      const { pid } = pick();
      process.kill(pid, 'SIGSTOP');
      await sleep(between(random, 100, mostMs));
      process.kill(pid, 'SIGCONT');
      return undefined;
    },
  };
}

/** Cuts all services' connections to a server. Replies in transit are lost. */
export function storeCut(pick: () => RedisServer): FaultSource {
  return {
    kind: 'store-cut',
    group: 'processes',
    async strike() {
      await withClient(pick(), (client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal'));
      return undefined;
    },
  };
}
