import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Segmentation } from '#bloom';
import { DEFAULT_MAX_HIDDEN, itemsByEpoch } from '../age.js';
import { SYSTEM_CLOCK, type Clock } from '../clock.js';
import { StoreError } from '../errors.js';
import { cannotGrow, otherExists } from '../refusals.js';
import { SYSTEM_RANDOM, type RandomSource } from '../random-source.js';
import { rateLimiterOn } from '../rate-limiter.js';
import { DEFAULT_MAX_MARKS, DEFAULT_RECORD_BYTES } from '../retention.js';
import {
  DEFAULT_MAX_SYNC_FORGETS,
  DEFAULT_SYNC_IDLE_MS,
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
  type Usage,
} from '../port/index.js';
import { isSameFilter } from '../same-filter.js';
import { MAX_SEGMENT_BYTES } from '../segmentation.js';
import { allocateCells, reserveCells } from './layers/cell-memory.js';
import { EmbeddedCounters } from './calls/counters.js';
import { EmbeddedCredentials } from './calls/credentials.js';
import { Engine } from './engine/engine.js';
import { EmbeddedInspection } from './calls/inspection.js';
import { isNearlyFull } from './catalogue/growth.js';
import { newGeneration, publish, withdraw } from './catalogue/generation.js';
import { EmbeddedQueue } from './calls/queue.js';
import type { Ageing } from './layers/ageing.js';
import type { LayerList } from './layers/layer-list.js';
import { windowSeconds } from './operations/record-window.js';
import { Room, usageOf } from './catalogue/room.js';
import { viewOf } from './syncs/end-sync.js';
import type { SessionOptions } from './engine/session.js';
import { EmbeddedSyncs } from './syncs/syncs.js';
import { EmbeddedTransfer } from './transfer/transfer.js';
import { CLEAR, CREATE, DROP } from './operations/verbs.js';
import { Watches } from './calls/watches.js';

/** Where the store keeps its data, and its bounds. All but `dataDir` have defaults. */
export interface EmbeddedOptions {
  /** The directory is made if it is missing. One store at a time owns it. */
  readonly dataDir: string;
  /** Every answer waits until the change is on disk, too. */
  readonly fsync?: boolean;
  /**
   * Limit on the operation records of one filter and origin, in bytes. When it is reached, records are kept for a
   * shorter time.
   */
  readonly maxRecordBytes?: number;
  /** Cells are checkpointed when the journal is larger than this, or than half of all cells if that is more. */
  readonly checkpointBytes?: number;
  /** Forgotten items of a queue that are noted, unless an eighth of its entries is more, before its entries are swept. */
  readonly maxMarks?: number;
  /** A sync that nobody has called for so long is given up, in ms. */
  readonly syncIdleMs?: number;
  /** Removals that are noted while a sync is open; one more ends it. */
  readonly maxSyncForgets?: number;
  /**
   * Items of a filter that ages which are forgotten while others keep all their cells live: so many are noted until they have
   * expired. One more is refused.
   */
  readonly maxHidden?: number;
  readonly clock?: Clock;
  readonly random?: RandomSource;
}

const DEFAULT_CHECKPOINT_BYTES = 64 * 2 ** 20;

/**
 * The store of one process: cells in memory, everything durable in an LMDB environment.
 *
 * A mutation is one transaction: operation record, journal record of the cells it changed, queue entries and counts.
 * Its callback runs alone and changes memory, too. The answer leaves after the commit. A checkpoint in the background
 * writes cells in blocks. A start loads these blocks and applies the journal after them. A call waits only for its
 * commit, and no longer than its deadline.
 */
export class EmbeddedStore implements Store {
  readonly counters: EmbeddedCounters;
  readonly queue: EmbeddedQueue;
  readonly transfer: EmbeddedTransfer;
  readonly syncs: EmbeddedSyncs;
  readonly inspection: EmbeddedInspection;
  readonly credentials: EmbeddedCredentials;
  readonly segmentation: Segmentation = {
    maxSegmentBytes: MAX_SEGMENT_BYTES,
    minSegments: 1,
    minSegmentBytes: 1,
  };

  private readonly watches: Watches;

  private constructor(
    private readonly engine: Engine,
    syncIdleMs: number,
  ) {
    this.watches = new Watches(engine, engine.clock);
    this.counters = new EmbeddedCounters(engine, this.watches);
    this.queue = new EmbeddedQueue(engine, this.watches);
    this.syncs = new EmbeddedSyncs(engine, syncIdleMs);
    this.inspection = new EmbeddedInspection(engine);
    this.transfer = new EmbeddedTransfer(engine);
    this.credentials = new EmbeddedCredentials(engine);
  }

  /** Throws if the directory cannot be used, or another store owns it. */
  static async open(options: EmbeddedOptions): Promise<EmbeddedStore> {
    return EmbeddedStore.on(options, (session) => Engine.open(options.dataDir, session));
  }

  /** As `open`, on an engine that `start` makes. */
  static async on(
    options: Omit<EmbeddedOptions, 'dataDir'>,
    start: (session: SessionOptions) => Promise<Engine>,
  ): Promise<EmbeddedStore> {
    const engine = await start({
      fsync: options.fsync ?? false,
      maxRecordBytes: options.maxRecordBytes ?? DEFAULT_RECORD_BYTES,
      checkpointBytes: options.checkpointBytes ?? DEFAULT_CHECKPOINT_BYTES,
      maxMarks: options.maxMarks ?? DEFAULT_MAX_MARKS,
      maxSyncForgets: options.maxSyncForgets ?? DEFAULT_MAX_SYNC_FORGETS,
      maxHidden: options.maxHidden ?? DEFAULT_MAX_HIDDEN,
      clock: options.clock ?? SYSTEM_CLOCK,
      random: options.random ?? SYSTEM_RANDOM,
    });
    return new EmbeddedStore(engine, options.syncIdleMs ?? DEFAULT_SYNC_IDLE_MS);
  }

  async create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }> {
    const room = new Room(spec, quota);
    try {
      return await this.createIn(room, spec, operation);
    } finally {
      room.leave();
    }
  }

  private async createIn(
    room: Room,
    spec: FilterSpec,
    operation: Operation,
  ): Promise<{ filter: Filter; created: boolean }> {
    // Memory is reserved only if the filter is likely to be made. If it is refused here, this very operation may have
    // made it before.
    const fits = await this.engine.read((memory) => !memory.filters.has(spec.name) && room.tryTake(memory));
    const reserved = fits ? await reserveCells(spec.geometry) : undefined;
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: CREATE, operation, subject: spec.name }, () => {
          const existing = session.memory.filters.get(spec.name)?.filter;
          if (existing && !isSameFilter(existing, spec)) throw otherExists(existing);
          if (existing) return { answer: { filter: existing, created: false } };
          room.assert(session.memory);
          const filter = newGeneration(session, spec, spec.seed);
          const cells = reserved ?? allocateCells(spec.geometry);
          return { answer: { filter, created: true }, apply: () => publish(session, filter, cells) };
        });
      },
      { grows: true, deadline: operation.deadline },
    );
  }

  async open(name: string, kind: FilterKind): Promise<Filter> {
    return this.engine.read((memory) => memory.named(name, kind).filter);
  }

  async describe(filter: Filter): Promise<FilterStats> {
    return this.engine.read((memory, now) => {
      const state = memory.current(filter);
      const { caller, made } = state.windows;
      return {
        ...state.list.sums(),
        ...state.tally,
        layers: state.list.layers.map(({ tally }) => ({ ...tally })),
        ...(filter.kind === 'visited-set' ? { queue: state.queue.stats(now) } : {}),
        ...(state.sync ? { sync: viewOf(state, state.sync) } : {}),
        ...(state.list.age ? { age: ageOf(state.list, state.list.age) } : {}),
        recordWindowSeconds: {
          caller: windowSeconds(caller, 'caller', now),
          made: windowSeconds(made, 'made', now),
        },
      };
    });
  }

  async list(kind: FilterKind, limit: number, after?: string, prefix = ''): Promise<ListPage> {
    return this.engine.read((memory) => {
      const first: Filter[] = [];
      for (const { filter } of memory.filters.values()) {
        const { name } = filter;
        if (filter.kind !== kind || !name.startsWith(prefix) || (after !== undefined && name <= after))
          continue;
        insertByName(first, filter, limit + 1);
      }
      const filters = first.slice(0, limit);
      const last = filters.at(-1);
      return { filters, ...(last && first.length > limit ? { next: last.name } : {}) };
    });
  }

  async usage(prefixes: readonly string[]): Promise<Usage[]> {
    return this.engine.read((memory) => prefixes.map((prefix) => usageOf(memory, prefix)));
  }

  async drop(name: string, kind: FilterKind, operation: Operation): Promise<void> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: DROP, operation, subject: name }, () => {
          const state = session.memory.named(name, kind);
          return { answer: undefined, apply: () => withdraw(session, state) };
        });
      },
      { deadline: operation.deadline },
    );
  }

  async clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter> {
    return this.engine.mutate(
      (session) => {
        const scope = session.memory.names;
        return session.once({ scope, verb: CLEAR, operation, subject: name }, () => {
          const old = session.memory.named(name, kind);
          const filter = newGeneration(session, old.filter, session.random.seed());
          const cells = allocateCells(filter.geometry);
          const apply = (): void => {
            withdraw(session, old);
            publish(session, filter, cells);
          };
          return { answer: filter, apply };
        });
      },
      { deadline: operation.deadline },
    );
  }

  /** A copy of the cells of a segment of the first layer, in the layout that Redis has. RangeError if the filter has no such segment. */
  async segmentBytes(filter: Filter, segment: number): Promise<Uint8Array> {
    return this.engine.read((memory) => {
      const bytes = memory.current(filter).list.first.segments[segment];
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
        [...memory.filters.values()].filter(({ lists }) =>
          lists.some((list) => list.unreserved?.code === 'STORE_FULL' && isNearlyFull(list)),
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

function ageOf({ layers }: LayerList, { epoch, epochMs, hidden }: Ageing): AgeStats {
  const expiring = layers.map(({ tally: { items }, expiring }) => ({
    items,
    cells: expiring?.toArray() ?? [],
  }));
  return { epoch, epochMs, hidden: hidden.size, items: itemsByEpoch(expiring) };
}

/** Keeps the first `most` by name: of ten thousand filters, pages of some hundred need no more in order. */
function insertByName(first: Filter[], filter: Filter, most: number): void {
  const { name } = filter;
  if (first.length === most && (first[most - 1] as Filter).name < name) return;
  let low = 0;
  for (let high = first.length; low < high;) {
    const middle = (low + high) >> 1;
    if ((first[middle] as Filter).name < name) low = middle + 1;
    else high = middle;
  }
  first.splice(low, 0, filter);
  if (first.length > most) first.pop();
}
