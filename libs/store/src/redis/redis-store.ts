import { segmentBytes, type Segmentation } from '#bloom';
import { DEFAULT_MAX_HIDDEN } from '../age.js';
import { deadlineIn } from '../clock.js';
import { cannotGrow } from '../refusals.js';
import { SYSTEM_RANDOM, type RandomSource } from '../random-source.js';
import { DEFAULT_MAX_MARKS, DEFAULT_RECORD_BYTES } from '../retention.js';
import { redisSegmentation } from '../segmentation.js';
import {
  type Counters,
  type Credentials,
  type Filter,
  type FilterKind,
  type FilterSpec,
  type FilterStats,
  type Hosts,
  type ListPage,
  type Operation,
  type Queue,
  type Quota,
  type RateLimiter,
  type Readiness,
  type Store,
  type Transfer,
  type Usage,
  DEFAULT_MAX_SYNC_FORGETS,
  DEFAULT_SYNC_IDLE_MS,
} from '../port/index.js';
import { Allocation } from './catalogue/allocation.js';
import { Catalogue } from './catalogue/catalogue.js';
import { Connection, type ConnectionOptions } from './connection/connection.js';
import { RedisCounters } from './items/counters.js';
import { RedisCredentials } from './credentials.js';
import { describeFilter } from './segments/describe.js';
import { RedisFilter, segmentKeysOf } from './layout/filter.js';
import { Generations } from './catalogue/generations.js';
import { Growth } from './catalogue/growth.js';
import { RedisInspection } from './segments/inspection.js';
import { ItemCounts } from './segments/item-counts.js';
import { ItemCalls } from './items/item-calls.js';
import { LifeCycle } from './catalogue/life-cycle.js';
import { RedisHosts } from './queue/hosts.js';
import { RedisQueue } from './queue/queue.js';
import { QueueWatches } from './queue/queue-watches.js';
import { redisRateLimiter } from './rate-limiter.js';
import { redisReadiness } from './connection/readiness.js';
import { Segments } from './segments/segments.js';
import { Sweeper } from './segments/sweeper.js';
import { Stragglers } from './catalogue/stragglers.js';
import { SyncChanges } from './catalogue/sync-changes.js';
import { SyncEnds } from './segments/sync-ends.js';
import { SyncSums } from './segments/sync-sums.js';
import { RedisSyncs } from './syncs/syncs.js';
import { Unclaimed } from './syncs/unclaimed.js';
import { RedisSource } from './transfer/export-source.js';
import { RedisTransfer } from './transfer/transfer.js';
import { Views } from './catalogue/views.js';

export interface RedisStoreOptions extends ConnectionOptions {
  /** Limit on a segment's operation records, and on the catalogue's, in bytes per origin. */
  readonly maxRecordBytes?: number;
  /**
   * How many marks a segment's queue may have before a sweep begins. For a long queue, the limit is an eighth of its
   * length.
   */
  readonly maxMarks?: number;
  /** How long a sync may go without a call before it is abandoned, in ms. */
  readonly syncIdleMs?: number;
  /**
   * Limit on the removals that an open sync notes. It is approximate: the store abandons a sync that goes somewhat
   * beyond it. If hosts choose the segments, each segment may note this many, and the sum is checked later.
   */
  readonly maxSyncForgets?: number;
  /**
   * Limit on hidden items in a filter that ages: removed items whose cells are all kept live by other items. They are
   * noted until they expire. Each segment has an equal part of the limit, and refuses removals beyond it. If hosts
   * choose the segments, a segment may also use what the others leave unused.
   */
  readonly maxHidden?: number;
  /** Limit on the hosts of a set with `perHost`. Each segment has an equal part of it. */
  readonly maxHosts?: number;
  readonly random?: RandomSource;
}

const MAX_OPEN_FILTERS = 10_000;
const DEFAULT_MAX_HOSTS = 1_000_000;
/** A warning that names no filter, since everyone may read it. */
const ALL_LOST =
  'Redis has lost all filters and API keys that this instance knew: restore a copy, or accept the loss by restarting the instances';
/** Bytes of an instance's id. */
const ID_BYTES = 8;

/** Filters in a stock Redis 7 (or Valkey 8) server or cluster. layout/keys.ts describes the keys. */
export class RedisStore implements Store {
  readonly counters: Counters;
  readonly queue: Queue;
  readonly hosts: Hosts;
  readonly transfer: Transfer;
  readonly syncs: RedisSyncs;
  readonly inspection: RedisInspection;
  readonly credentials: Credentials;
  private readonly catalogue: Catalogue;
  private readonly lifeCycle: LifeCycle;
  private readonly growth: Growth;
  private readonly views: Views;
  private readonly watches: QueueWatches;
  private readonly sweeper: Sweeper;
  private readonly unclaimed: Unclaimed;
  private readonly opened = new Map<string, RedisFilter>();

  private constructor(
    private readonly connection: Connection,
    private readonly options: RedisStoreOptions,
  ) {
    const {
      timeoutMs,
      random = SYSTEM_RANDOM,
      maxRecordBytes = DEFAULT_RECORD_BYTES,
      maxMarks = DEFAULT_MAX_MARKS,
      maxHosts = DEFAULT_MAX_HOSTS,
    } = options;
    this.catalogue = new Catalogue(connection, timeoutMs, maxRecordBytes, random);
    const allocation = new Allocation(connection);
    this.lifeCycle = new LifeCycle(this.catalogue, new Generations(this.catalogue, allocation, random));
    this.growth = new Growth(this.catalogue, allocation, timeoutMs);
    const stragglers = new Stragglers(connection, this.catalogue, allocation);
    const removeUnclaimed = (filter: RedisFilter) => this.unclaimed.remove(filter);
    const changes = new SyncChanges(connection, this.catalogue, allocation, stragglers, removeUnclaimed);
    this.views = new Views(connection, this.catalogue, stragglers, changes);
    const segments = new Segments(connection, this.views, { maxRecordBytes, maxMarks, maxHosts });
    const { maxSyncForgets = DEFAULT_MAX_SYNC_FORGETS, syncIdleMs = DEFAULT_SYNC_IDLE_MS } = options;
    const { maxHidden = DEFAULT_MAX_HIDDEN } = options;
    const sums = new SyncSums(connection, maxSyncForgets);
    const ends = new SyncEnds(this.catalogue, changes, sums);
    const hiddenIn = async (filter: RedisFilter): Promise<number> =>
      (await describeFilter(connection, this.views, filter, timeoutMs)).stats.age?.hidden ?? 0;
    const itemCalls = new ItemCalls(segments, this.growth, { maxSyncForgets, maxHidden }, ends, hiddenIn);
    this.syncs = new RedisSyncs({
      ...{ connection, catalogue: this.catalogue, views: this.views, changes, sums, ends },
      ...{ segments, itemCalls },
      ...{ random, timeoutMs, idleMs: syncIdleMs },
    });
    const openSet = (name: string) => this.openFresh(name, 'visited-set');
    const { clock } = connection;
    this.sweeper = new Sweeper({ segments, clock, id: random.id(ID_BYTES), open: openSet, timeoutMs });
    const source = (filter: RedisFilter) =>
      new RedisSource(connection, this.catalogue, this.views, filter, timeoutMs);
    this.unclaimed = new Unclaimed({ connection, segments, itemCalls, sweeper: this.sweeper, source });
    this.counters = new RedisCounters(
      segments,
      itemCalls,
      new ItemCounts(connection, this.views, sums, timeoutMs),
      ends,
      clock,
      this.sweeper,
    );
    this.watches = new QueueWatches(connection, segments, openSet, timeoutMs);
    this.queue = new RedisQueue(segments, this.watches, this.sweeper, removeUnclaimed, timeoutMs);
    this.hosts = new RedisHosts({
      ...{ segments, sweeper: this.sweeper, maxHosts },
      keepHost: (...args) => this.syncs.keepHost(...args),
      pagesOf: (filter, segment) =>
        new RedisSource(connection, this.catalogue, this.views, filter, timeoutMs).pagesOf(segment),
    });
    this.inspection = new RedisInspection(connection, this.views, this.growth);
    const limits = { maxHidden, maxHosts };
    const { catalogue, views, lifeCycle } = this;
    this.transfer = new RedisTransfer(connection, catalogue, views, lifeCycle, timeoutMs, limits, changes);
    this.credentials = new RedisCredentials(connection, catalogue, timeoutMs);
  }

  /**
   * Resolves after the first attempt to connect, even if Redis is unavailable. The store keeps trying. Throws StoreError
   * if Redis has data in another key layout.
   */
  static async open(options: RedisStoreOptions): Promise<RedisStore> {
    const connection = new Connection(options);
    await connection.firstTry();
    const store = new RedisStore(connection, options);
    // Without a connection, calls and readiness report the fault later.
    const fault = connection.connected
      ? await store.catalogue.layoutFault().catch(() => undefined)
      : undefined;
    if (!fault) return store;
    await store.close();
    throw fault;
  }

  get segmentation(): Segmentation {
    return redisSegmentation(this.connection.masters);
  }

  get runs(): number {
    return Math.max(1, this.connection.masters);
  }

  async create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }> {
    const { filter, created } = await this.lifeCycle.create(spec, operation, quota);
    this.remember(filter);
    return { filter, created };
  }

  async open(name: string, kind: FilterKind, options?: { fresh?: boolean }): Promise<Filter> {
    const known = options?.fresh ? undefined : this.opened.get(name);
    return known?.kind === kind ? known : this.openFresh(name, kind);
  }

  async describe(handle: Filter, { hosts = false } = {}): Promise<FilterStats> {
    const filter = RedisFilter.of(handle);
    const { timeoutMs } = this.options;
    if (filter.layers) await this.growth.refresh(filter, deadlineIn(timeoutMs));
    const { stats, unswept, late } = await describeFilter(
      this.connection,
      this.views,
      filter,
      timeoutMs,
      hosts,
    );
    if (unswept.length > 0) this.sweeper.marked(filter, unswept);
    // If this fails, the next description of the filter tries again.
    if (late) void this.unclaimed.remove(filter).catch(() => undefined);
    const sync = await this.syncs.underWay(filter);
    return sync ? { ...stats, sync } : stats;
  }

  list(kind: FilterKind, limit: number, after?: string, prefix?: string): Promise<ListPage> {
    return this.catalogue.list(kind, limit, after, prefix);
  }

  usage(prefixes: readonly string[]): Promise<Usage[]> {
    return this.catalogue.usage(prefixes);
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    this.opened.delete(name);
    await this.lifeCycle.drop(name, kind, operation);
    this.watches.call(name);
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter> {
    this.opened.delete(name);
    return this.remember(await this.lifeCycle.clear(name, kind, operation));
  }

  async readiness(): Promise<Readiness> {
    const { warnings, ...readiness } = await redisReadiness(this.connection, this.options, () =>
      this.catalogue.layoutFault(),
    );
    if (!readiness.ready) return { ...readiness, warnings };
    const { cramped } = this.growth;
    const { lost } = this.catalogue;
    const more = [...(lost ? [ALL_LOST] : []), ...(cramped > 0 ? [cannotGrow(cramped)] : [])];
    return { ...readiness, warnings: [...warnings, ...more], ...(lost && { lost }) };
  }

  /** A segment's cells as stored in Redis. */
  async segmentBytes(handle: Filter, segment: number): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    const { cells } = segmentKeysOf(filter, segment);
    const bytes = await this.connection.repeat(
      () => this.connection.client.getBuffer(cells),
      deadlineIn(this.options.timeoutMs),
    );
    if (bytes?.length !== segmentBytes(filter.geometry)) throw await this.catalogue.explainLoss(filter);
    return bytes;
  }

  rateLimiter(perSecond: number): RateLimiter {
    return redisRateLimiter(this.connection, perSecond);
  }

  async close(): Promise<void> {
    this.watches.close();
    this.sweeper.close();
    await this.connection.close();
    await this.growth.close();
  }

  private async openFresh(name: string, kind: FilterKind): Promise<RedisFilter> {
    this.opened.delete(name);
    const entry = await this.lifeCycle.ready(name, kind, deadlineIn(this.options.timeoutMs));
    return this.remember(new RedisFilter(entry));
  }

  private remember(filter: RedisFilter): RedisFilter {
    if (this.opened.size >= MAX_OPEN_FILTERS) this.opened.clear();
    this.opened.set(filter.name, filter);
    return filter;
  }
}
