import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pageBytes, STAMP_BYTES } from '#bloom';
import type { Store } from '#store';
import { EmbeddedStore } from '#store/embedded';
import { RedisStore } from '#store/redis';
import { CYCLE, epochMs } from '../../libs/store/src/age.js';
import type { CatalogueEntry } from '../../libs/store/src/redis/entry.js';
import { CATALOGUE } from '../../libs/store/src/redis/keys.js';
import { QUEUE_FIELD, QUEUE_NUMBERS } from '../../libs/store/src/redis/scripts/queue-state.js';
import { startRedis } from './redis-server.js';

/** A store whose clock can be moved forward (ms above zero) or back. */
export interface Clocked {
  store: Store;
  /** The store's time in ms since the epoch, as the service would use it for a made id. */
  now(): number;
  jump(ms: number): Promise<void>;
  /** Whether a jump moves what is stored instead of the clock, so that files from before are out of time. */
  readonly movesStored: boolean;
  /** A store that knows only what is stored, in place of this one. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface ClockedOptions {
  readonly maxRecordBytes?: number;
  readonly maxHidden?: number;
}

async function embedded(options: ClockedOptions): Promise<Clocked> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-clock-'));
  let offset = 0;
  const now = () => Date.now() + offset;
  const open = () => EmbeddedStore.open({ ...options, dataDir, now });
  const clocked: Clocked = {
    store: await open(),
    now,
    movesStored: false,
    async jump(ms) {
      offset += ms;
    },
    async reopen() {
      await clocked.store.close();
      clocked.store = await open();
    },
    async close() {
      await clocked.store.close();
      await rm(dataDir, { recursive: true });
    },
  };
  return clocked;
}

/** The clock of Redis cannot be set. Moving every stored time in the other direction has the same effect. */
async function redis(options: ClockedOptions): Promise<Clocked> {
  const server = await startRedis();
  const open = () => RedisStore.open({ ...options, url: server.url, timeoutMs: 10_000 });
  const own = new Redis(server.port, '127.0.0.1');
  const clocked: Clocked = {
    store: await open(),
    now: Date.now,
    movesStored: true,
    jump: (ms) => shiftTimes(own, -ms),
    async reopen() {
      await clocked.store.close();
      clocked.store = await open();
    },
    async close() {
      await clocked.store.close();
      own.disconnect();
      await server.stop();
    },
  };
  return clocked;
}

async function shiftTimes(own: Redis, ms: number): Promise<void> {
  await shiftEpochs(own, ms);
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

/** The epochs of filters that age; `ms` is a whole number of them. */
async function shiftEpochs(own: Redis, ms: number): Promise<void> {
  for (const [name, raw] of Object.entries(await own.hgetall(CATALOGUE.filters))) {
    if (name === '') continue;
    const entry = JSON.parse(raw) as CatalogueEntry;
    if (entry.maxAgeSeconds === undefined) continue;
    const by = Math.round(ms / epochMs(entry.maxAgeSeconds));
    const bytes = pageBytes(entry.geometry);
    for (const tag of entry.tags) {
      for (const key of await own.keys(`unseen:{${tag}}:cells*`)) {
        const cells = (await own.getBuffer(key)) ?? Buffer.alloc(0);
        shiftPages(cells, bytes, by);
        await own.set(key, cells);
      }
      for (const key of await own.keys(`unseen:{${tag}}:hidden:*`)) {
        for (const member of await own.zrangeBuffer(key, '0', '-1'))
          if (member.length > 0) await own.call('ZINCRBY', key, String(by), member);
      }
      const meta = `unseen:{${tag}}:meta`;
      if (!(await own.hexists(meta, 'epoch'))) continue;
      await own.hincrby(meta, 'epoch', by);
      for (const field of await own.hkeys(meta)) {
        if (!/(^|:)ring(:|$)/.test(field)) continue;
        const ring = (await own.hgetBuffer(meta, field)) ?? Buffer.alloc(0);
        const shifted = Buffer.alloc(ring.length);
        for (let slot = 0; slot < CYCLE; slot++)
          shifted.writeUInt32BE(ring.readUInt32BE(4 * slot), 4 * ((((slot + by) % CYCLE) + CYCLE) % CYCLE));
        await own.hset(meta, field, shifted);
      }
    }
  }
}

function shiftPages(cells: Buffer, bytes: number, by: number): void {
  for (let page = 0; page < cells.length; page += bytes) {
    const stamp = cells.readUInt32LE(page);
    if (stamp === 0) continue;
    cells.writeUInt32LE(stamp + by, page);
    for (let at = page + STAMP_BYTES; at < page + bytes; at++) {
      const cell = cells[at] as number;
      if (cell > 0) cells[at] = (cell & ~15) | ((cell + by) & 15);
    }
  }
}

/** Both stores, each with a clock of its own. */
export const CLOCKED_STORES = [
  { name: 'embedded', open: embedded },
  { name: 'redis', open: redis },
] as const;
