import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Store } from '#store';
import { EmbeddedStore } from '#store/embedded';
import { RedisStore } from '#store/redis';
import { CATALOGUE } from '../../libs/store/src/redis/keys.js';
import { QUEUE_FIELD, QUEUE_NUMBERS } from '../../libs/store/src/redis/scripts/queue-state.js';
import { startRedis } from './redis-server.js';

/** A store whose clock can be moved forward (ms above zero) or back. */
export interface Clocked {
  readonly store: Store;
  /** The store's time in ms since the epoch, as the service would use it for a made id. */
  now(): number;
  jump(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface ClockedOptions {
  readonly maxRecordBytes?: number;
}

async function embedded(options: ClockedOptions): Promise<Clocked> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-clock-'));
  let offset = 0;
  const now = () => Date.now() + offset;
  const store = await EmbeddedStore.open({ ...options, dataDir, now });
  return {
    store,
    now,
    async jump(ms) {
      offset += ms;
    },
    async close() {
      await store.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** The clock of Redis cannot be set. Moving every stored time in the other direction has the same effect. */
async function redis(options: ClockedOptions): Promise<Clocked> {
  const server = await startRedis();
  const store = await RedisStore.open({ ...options, url: server.url, timeoutMs: 10_000 });
  const own = new Redis(server.port, '127.0.0.1');
  return {
    store,
    now: Date.now,
    jump: (ms) => shiftTimes(own, -ms),
    async close() {
      await store.close();
      own.disconnect();
      await server.stop();
    },
  };
}

async function shiftTimes(own: Redis, ms: number): Promise<void> {
  for (const key of await own.keys('unseen:*:meta')) {
    await own.hincrby(key, 'created', ms);
    const numbers = await own.hgetBuffer(key, QUEUE_FIELD);
    const dueAt = QUEUE_NUMBERS.indexOf('due') * 6;
    const due = numbers?.readUIntBE(dueAt, 6) ?? 0;
    if (numbers && due > 0) {
      numbers.writeUIntBE(due + ms, dueAt, 6);
      await own.hset(key, QUEUE_FIELD, numbers);
    }
    for (const origin of ['caller', 'made']) {
      for (const field of ['since', 'previous']) await own.hincrby(key, `${origin}:${field}`, ms);
    }
  }
  for (const set of ['ends', 'delayed']) {
    for (const key of await own.keys(`unseen:*:queue:${set}`)) {
      const members = await own.zrangeBuffer(key, '0', '-1');
      for (const member of members) if (member.length > 0) await own.call('ZINCRBY', key, String(ms), member);
    }
  }
  for (const origin of ['caller', 'made'] as const) {
    const { current } = CATALOGUE.operations[origin];
    const [since = 0, bytes = 0] = ((await own.hget(current, '')) ?? '').split(' ').map(Number);
    if (since > 0) await own.hset(current, '', `${since + ms} ${bytes}`);
  }
  for (const [name, raw] of Object.entries(await own.hgetall(CATALOGUE.filters))) {
    if (name === '') continue;
    const entry = JSON.parse(raw) as { since: number; createdAt: number };
    const shifted = { ...entry, since: entry.since + ms, createdAt: entry.createdAt + ms };
    await own.hset(CATALOGUE.filters, name, JSON.stringify(shifted));
  }
}

/** Both stores, each with a clock of its own. */
export const CLOCKED_STORES = [
  { name: 'embedded', open: embedded },
  { name: 'redis', open: redis },
] as const;
