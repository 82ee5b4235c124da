import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Segmentation } from '#bloom';
import { DEFAULT_MAX_HIDDEN, itemsByEpoch } from '../age.js';
import { SYSTEM_CLOCK, type Clock } from '../clock.js';
import { StoreError } from '../errors.js';
import { cannotGrow } from '../refusals.js';
import { SYSTEM_RANDOM, type RandomSource } from '../random-source.js';
import { rateLimiterOn } from '../rate-limiter.js';
import { DEFAULT_MAX_MARKS, DEFAULT_RECORD_BYTES } from '../retention.js';
import {
  DEFAULT_MAX_SYNC_FORGETS,
  DEFAULT_SYNC_IDLE_MS,
  NO_OBSERVER,
  type AgeStats,
  type Filter,
  type FilterKind,
  type FilterSpec,
  type FilterStats,
  type ListPage,
  type Operation,
  type Quota,
  type RateLimiter,
  type Readiness,
  type Store,
  type StoreObserver,
  type Usage,
} from '../port/index.js';
import { MAX_SEGMENT_BYTES } from '../segmentation.js';
import { EmbeddedCounters } from './calls/counters.js';
import { EmbeddedCredentials } from './calls/credentials.js';
import { Engine } from './engine/engine.js';
import { EmbeddedHosts } from './calls/hosts.js';
import { EmbeddedInspection } from './calls/inspection.js';
import { isNearlyFull } from './catalogue/growth.js';
import { LifeCycle } from './catalogue/life-cycle.js';
import { listFilters } from './catalogue/listing.js';
import { EmbeddedQueue } from './calls/queue.js';
import type { Ageing } from './layers/ageing.js';
import type { LayerStack } from './layers/layer-stack.js';
import { windowSeconds } from './operations/record-window.js';
import { usageOf } from './catalogue/room.js';
import { viewOf } from './syncs/end-sync.js';
import type { SessionOptions } from './engine/session.js';
import { overdue } from './queue/overdue.js';
import { knowsHosts } from './queue/host-lanes.js';
import { headDiscoveredAt, hostStats } from './queue/next-turn.js';
import { QueueCopies } from './syncs/queue-copies.js';
import { EmbeddedSyncs } from './syncs/syncs.js';
import { EmbeddedTransfer } from './transfer/transfer.js';
import { Watches } from './calls/watches.js';

/** The directory and the limits of a store. All but `dataDir` have defaults. */
export interface EmbeddedOptions {
  /** Created if it is missing. Only one store at a time owns it. */
  readonly dataDir: string;
  /** If true, every answer waits until its change is on disk. */
  readonly fsync?: boolean;
  /** Limit on operation records per filter and origin, in bytes. At the limit, records are kept for a shorter time. */
  readonly maxRecordBytes?: number;
  /** Cells are checkpointed when the journal exceeds this many bytes, or half the size of all cells if that is more. */
  readonly checkpointBytes?: number;
  /** A queue is swept when it has more marks than this, or than an eighth of its entries if that is more. */
  readonly maxMarks?: number;
  /** How long a sync may go without a call before it is abandoned, in ms. */
  readonly syncIdleMs?: number;
  /** Limit on the removals that an open sync notes. One more removal abandons the sync. */
  readonly maxSyncForgets?: number;
  /**
   * Limit on the hidden items of a filter that ages: forgotten items whose cells other items keep live. They are noted
   * until they expire. At the limit, the store refuses to forget another one.
   */
  readonly maxHidden?: number;
  readonly clock?: Clock;
  readonly random?: RandomSource;
  readonly observer?: StoreObserver;
}

const DEFAULT_CHECKPOINT_BYTES = 64 * 2 ** 20;

/**
 * The store for a single process, with cells in memory and all durable data in an LMDB environment.
 *
 * A mutation is one transaction: operation record, journal record of the changed cells, queue entries and counts. Its
 * callback runs alone and also changes memory. The store answers after the commit. A background checkpoint writes cells
 * in blocks. When the store starts, it loads these blocks and applies the later part of the journal. A call waits only
 * for its commit, and at most until its deadline.
 */
export class EmbeddedStore implements Store {
  readonly counters: EmbeddedCounters;
  readonly queue: EmbeddedQueue;
  readonly hosts: EmbeddedHosts;
  readonly transfer: EmbeddedTransfer;
  readonly syncs: EmbeddedSyncs;
  readonly inspection: EmbeddedInspection;
  readonly credentials: EmbeddedCredentials;
  readonly segmentation: Segmentation = {
    maxSegmentBytes: MAX_SEGMENT_BYTES,
    minSegments: 1,
    minSegmentBytes: 1,
  };
  readonly runs = 1;

  private readonly lifeCycle: LifeCycle;
  private readonly watches: Watches;

  private constructor(
    private readonly engine: Engine,
    syncIdleMs: number,
  ) {
    this.lifeCycle = new LifeCycle(engine);
    this.watches = new Watches(engine, engine.clock);
    this.counters = new EmbeddedCounters(engine, this.watches);
    this.queue = new EmbeddedQueue(engine, this.watches);
    const copies = new QueueCopies(engine);
    this.hosts = new EmbeddedHosts(engine, copies, this.watches);
    this.syncs = new EmbeddedSyncs(engine, copies, syncIdleMs);
    this.inspection = new EmbeddedInspection(engine);
    this.transfer = new EmbeddedTransfer(engine);
    this.credentials = new EmbeddedCredentials(engine);
  }

  /** Throws if the directory cannot be used, or another store owns it. */
  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    return EmbeddedStore.on(options, (session) => Engine.open(options.dataDir, session));
  }

  /** Like `open`, on an engine that `start` creates. */
  static async on(
    options: Omit<EmbeddedOptions, 'dataDir'>,
    start: (session: SessionOptions) => Promise<Engine>,
  ): Promise<EmbeddedStore> {
    // The engine may already sweep before the store exists.
    const created: { store?: EmbeddedStore } = {};
    const { observer = NO_OBSERVER } = options;
    const engine = await start({
      fsync: options.fsync ?? false,
      maxRecordBytes: options.maxRecordBytes ?? DEFAULT_RECORD_BYTES,
      checkpointBytes: options.checkpointBytes ?? DEFAULT_CHECKPOINT_BYTES,
      maxMarks: options.maxMarks ?? DEFAULT_MAX_MARKS,
      maxSyncForgets: options.maxSyncForgets ?? DEFAULT_MAX_SYNC_FORGETS,
      maxHidden: options.maxHidden ?? DEFAULT_MAX_HIDDEN,
      clock: options.clock ?? SYSTEM_CLOCK,
      random: options.random ?? SYSTEM_RANDOM,
      onTurns: (filter) => created.store?.watches.wake(filter),
      onSyncEnd: (outcome) => observer.endedSync(outcome),
    });
    created.store = new EmbeddedStore(engine, options.syncIdleMs ?? DEFAULT_SYNC_IDLE_MS);
    return created.store;
  }

  create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }> {
    return this.lifeCycle.create(spec, operation, quota);
  }

  open(name: string, kind: FilterKind): Promise<Filter> {
    return this.engine.read((memory) => memory.named(name, kind).filter);
  }

  async describe(filter: Filter, { hosts = false } = {}): Promise<FilterStats> {
    return this.engine.read((memory, now, database) => {
      const state = memory.current(filter);
      const { caller, made } = state.windows;
      const store = { database, memory };
      return {
        ...state.stack.sums(),
        ...state.tally,
        layers: state.stack.layers.map(({ tally }) => ({ ...tally })),
        ...(filter.kind === 'visited-set'
          ? {
              queue: state.queue.stats(now, headDiscoveredAt(store, state, now), overdue(store, state, now)),
            }
          : {}),
        ...(hosts && knowsHosts(state) ? { hosts: hostStats(database, state, now) } : {}),
        ...(state.sync ? { sync: viewOf(state, state.sync) } : {}),
        ...(state.stack.age ? { age: ageOf(state.stack, state.stack.age) } : {}),
        recordWindowSeconds: {
          caller: windowSeconds(caller, 'caller', now),
          made: windowSeconds(made, 'made', now),
        },
      };
    });
  }

  async list(kind: FilterKind, limit: number, after?: string, prefix = ''): Promise<ListPage> {
    return this.engine.read(({ filters }) => listFilters(filters.values(), kind, limit, after, prefix));
  }

  async usage(prefixes: readonly string[]): Promise<Usage[]> {
    return this.engine.read((memory) => prefixes.map((prefix) => usageOf(memory, prefix)));
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    await this.lifeCycle.drop(name, kind, operation);
    this.watches.call(name);
  }

  clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter> {
    return this.lifeCycle.clear(name, kind, operation);
  }

  /**
   * A copy of one first-layer segment's cells, in the same layout as in Redis. Throws RangeError if the filter has no
   * such segment.
   */
  async segmentBytes(filter: Filter, segment: number): Promise<Uint8Array> {
    return this.engine.read((memory) => {
      const bytes = memory.current(filter).stack.first.segments[segment];
      if (!bytes) throw new RangeError(`filter ${filter.name} has no segment ${segment}`);
      return bytes.slice();
    });
  }

  async readiness(): Promise<Readiness> {
    try {
      await this.engine.assertWritable();
      const lost = await this.engine.read((memory) =>
        [...memory.filters.values()].filter(({ lost }) => lost),
      );
      const filters = lost.length === 1 ? 'a filter' : `${lost.length} filters`;
      const missing = lost.length > 0 ? [`part of ${filters} is missing`] : [];
      const cramped = await this.engine.read((memory) =>
        [...memory.filters.values()].filter(({ stacks }) =>
          stacks.some((stack) => stack.unreserved?.code === 'STORE_FULL' && isNearlyFull(stack)),
        ),
      );
      const full = cramped.length > 0 ? [cannotGrow(cramped.length)] : [];
      return { ready: true, warnings: [...missing, ...full, ...(await this.engine.warnings())] };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return { ready: false, reason: error.message, warnings: [] };
    }
  }

  rateLimiter(perSecond: number): RateLimiter {
    return rateLimiterOn(new RateLimiterMemory({ points: perSecond, duration: 1 }));
  }

  async close(): Promise<void> {
    this.watches.close();
    await this.engine.close();
  }
}

function ageOf({ layers }: LayerStack, { epoch, epochMs, hidden }: Ageing): AgeStats {
  const expiring = layers.map(({ tally: { items }, expiring }) => ({
    items,
    cells: expiring?.toArray() ?? [],
  }));
  return { epoch, epochMs, hidden: hidden.size, items: itemsByEpoch(expiring) };
}
