import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Filter, Store } from '#store';
import { EmbeddedStore } from '#store/embedded';
import { RedisStore, type RedisStoreOptions } from '#store/redis';
import { clock } from './clock.js';
import { damageBlock, type Damage } from './embedded-damage.js';
import { generationsIn } from './embedded-generations.js';
import { currentLane } from './lanes.mjs';
import { limitedUser } from './redis-acl.js';
import { startCluster } from './redis-cluster.js';
import { startRedis, type RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A kind of store to test. */
export interface StoreFixture<H extends StoreHarness = StoreHarness> {
  readonly name: string;
  /** How many tests share one place for data. By default, all of a file's tests share it. */
  readonly testsAPlace?: number;
  /**
   * The number of runs of segments in sets with `perHost`. An imported set keeps this number, so every store may have
   * such sets.
   */
  readonly spread: number;
  setUp(): Promise<H>;
}

/** Limits to open a store with. */
export interface StoreLimits {
  readonly maxRecordBytes?: number;
  readonly maxMarks?: number;
  readonly syncIdleMs?: number;
  readonly maxSyncForgets?: number;
  readonly maxHidden?: number;
}

/** One place where data is stored, and the stores opened on it. */
export interface StoreHarness {
  /** Opens a store on the data, each time with a new client. The embedded store allows only one at a time. */
  open(limits?: StoreLimits): Promise<Store>;
  /** Closes all stores and opens a new one, which knows only the stored data. */
  reopen(limits?: StoreLimits): Promise<Store>;
  /** Damages the cells of a segment that holds items, then reopens the store. */
  damage(filter: Filter, segment: number, how: Damage): Promise<Store>;
  /** A segment's stored cells. */
  segmentBytes(filter: Filter, segment: number): Promise<Uint8Array>;
  /** The names of all data stored for filters (Redis keys or generations), sorted. */
  kept(): Promise<string[]>;
  /** Runs `act` while the data stays where it is. */
  still<T>(act: () => Promise<T>): Promise<T>;
  /** Closes everything. */
  tearDown(): Promise<void>;
}

/** Additional members in the Redis harnesses, for access to the servers themselves. */
export interface RedisHarness extends StoreHarness {
  open(
    limits?: StoreLimits & Partial<Pick<RedisStoreOptions, 'clock' | 'timeoutMs' | 'maxHosts'>>,
  ): Promise<RedisStore>;
  /** A client for every master, for direct access. */
  readonly clients: readonly Redis[];
  /** All Redis keys that match a pattern, each with the client for the master that stores it. */
  find(pattern: string): Promise<FoundKey[]>;
}

export interface FoundKey {
  readonly key: string;
  readonly client: Redis;
}

export const TIMEOUT_MS = 10_000;

export const embedded: StoreFixture = {
  name: 'embedded',
  // Reopening a store reads all filters in its folder, and many tests reopen it.
  testsAPlace: 20,
  spread: 3,
  async setUp() {
    return new EmbeddedHarness(await mkdtemp(join(tmpdir(), 'unseen-store-')));
  },
};

export const redis: StoreFixture<RedisHarness> = {
  name: 'redis',
  spread: 1,
  async setUp() {
    const server = await startRedis();
    return new RedisServersHarness({ url: server.url, timeoutMs: TIMEOUT_MS }, [server], () => server.stop());
  },
};

/** Three masters with one replica each. The stores have only the permissions that docs/operations.md lists. */
export const redisCluster: StoreFixture<RedisHarness> = {
  name: 'redis-cluster',
  spread: 3,
  async setUp() {
    const { args, ...credentials } = limitedUser();
    const cluster = await startCluster({ replicas: 1, args });
    const options = { clusterNodes: cluster.nodes, ...credentials, timeoutMs: TIMEOUT_MS };
    return new RedisServersHarness(options, cluster.servers, () => cluster.stop());
  },
};

/**
 * Redis stores that must behave alike, for `describe.each`. `npm test` leaves out the cluster, because test/contract
 * runs the same tests on a cluster whose slots move.
 */
export const REDIS_STORES = currentLane() === 'core' ? [redis] : [redis, redisCluster];

/** A pattern for the only Redis key with a segment's counters. */
export function cellsPattern(filter: Pick<Filter, 'generation'>, segment: number | '*'): string {
  return `unseen:{${filter.generation}.${segment}.*}:cells`;
}

class EmbeddedHarness implements StoreHarness {
  private store: Promise<EmbeddedStore> | undefined;

  constructor(private readonly dataDir: string) {}

  open(limits: StoreLimits = {}): Promise<EmbeddedStore> {
    this.store ??= EmbeddedStore.open({ dataDir: this.dataDir, clock, ...limits });
    return this.store;
  }

  async reopen(limits?: StoreLimits): Promise<EmbeddedStore> {
    await this.close();
    return this.open(limits);
  }

  async damage(filter: Filter, segment: number, how: Damage): Promise<EmbeddedStore> {
    await this.close();
    await damageBlock(this.dataDir, filter, segment, how);
    return this.open();
  }

  async segmentBytes(filter: Filter, segment: number): Promise<Uint8Array> {
    return (await this.open()).segmentBytes(filter, segment);
  }

  still<T>(act: () => Promise<T>): Promise<T> {
    return act();
  }

  kept(): Promise<string[]> {
    return generationsIn(this.dataDir);
  }

  async tearDown(): Promise<void> {
    await this.close();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private async close(): Promise<void> {
    const store = await this.store;
    this.store = undefined;
    await store?.close();
  }
}

/** Stores on real servers, with direct access to the servers. */
export class RedisServersHarness implements RedisHarness {
  readonly clients: readonly Redis[];
  private readonly stores: RedisStore[] = [];

  constructor(
    private readonly options: RedisStoreOptions,
    servers: readonly RedisServer[],
    private readonly stop: () => Promise<void>,
  ) {
    this.clients = servers.map(({ port }) => new Redis(port, '127.0.0.1'));
  }

  async open(limits: Parameters<RedisHarness['open']>[0] = {}): Promise<RedisStore> {
    const store = await RedisStore.open({ ...this.options, clock, ...limits });
    this.stores.push(store);
    await until('the store is ready', async () => (await store.readiness()).ready);
    return store;
  }

  async reopen(limits?: StoreLimits): Promise<RedisStore> {
    await this.close();
    return this.open(limits);
  }

  async damage(filter: Filter, segment: number, how: Damage): Promise<RedisStore> {
    const [cells, ...others] = await this.find(cellsPattern(filter, segment));
    if (!cells || others.length > 0) throw new Error(`segment ${segment} has not one key of cells`);
    const { key, client } = cells;
    if (how === 'missing') await client.del(key);
    else await client.set(key, await client.getrangeBuffer(key, 0, -2));
    return this.reopen();
  }

  async segmentBytes(filter: Filter, segment: number): Promise<Uint8Array> {
    const store = this.stores[0] ?? (await this.open());
    return store.segmentBytes(await store.open(filter.name, filter.kind), segment);
  }

  async find(pattern: string): Promise<FoundKey[]> {
    const found = this.clients.map(async (client) =>
      (await client.keys(pattern)).map((key) => ({ key, client })),
    );
    return (await Promise.all(found)).flat();
  }

  still<T>(act: () => Promise<T>): Promise<T> {
    return act();
  }

  /**
   * Leaves out the catalogue, which belongs to no filter. Its Redis keys appear when they are first needed, and stay.
   */
  async kept(): Promise<string[]> {
    const names = (await this.find('unseen:*')).map(({ key }) => key);
    return names.filter((name) => !name.startsWith('unseen:{catalogue}:')).sort();
  }

  async tearDown(): Promise<void> {
    await this.close();
    for (const client of this.clients) client.disconnect();
    await this.stop();
  }

  private async close(): Promise<void> {
    await Promise.all(this.stores.splice(0).map((store) => store.close()));
  }
}
