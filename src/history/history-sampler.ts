import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Logger } from 'pino';
import {
  after,
  every,
  StaleFilterError,
  StoreError,
  type Filter,
  type FilterKind,
  type FilterStats,
  type ListPage,
  type Store as Port,
} from '#store';
import { filterView } from '../filters/filter.view.js';
import { Lifecycle } from '../http/lifecycle.js';
import { RootLogger } from '../logging/logger.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';
import { PointRing, type Point } from './point-ring.js';

export const INTERVAL_MS = 60_000;
/** How long points are kept. */
export const WINDOW_MS = 6 * 3_600_000;
const POINTS = WINDOW_MS / INTERVAL_MS;
/** Maximum number of filters watched. Each costs the store one description per minute, and the process 34 KiB. */
export const MOST_WATCHED = 500;
/** Filters per page. Few, because a store may need to read each filter on a page. */
const PAGE = 100;
/** How much of a minute a round over MOST_WATCHED filters takes if the store answers immediately. */
const BUSY_SHARE = 0.9;
const SLOT_MS = (BUSY_SHARE * INTERVAL_MS) / MOST_WATCHED;
const KINDS: readonly FilterKind[] = ['visited-set', 'filter'];

/** The points for one of a filter's generations. */
export interface History {
  readonly kind: FilterKind;
  readonly generation: string;
  /** When the first point was taken, in ms since the epoch. */
  readonly since: number;
  readonly ring: PointRing;
}

/**
 * Records the state of at most MOST_WATCHED filters once a minute. A round pauses between filters to spread the load. A
 * slow round delays the next one. If the store doesn't answer, the history has a gap.
 */
@Injectable()
export class HistorySampler implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly histories = new Map<string, History>();
  private readonly end = new AbortController();
  private endRounds: () => void = () => undefined;
  private running: Promise<void> | undefined;
  /** True if MOST_WATCHED filters are watched. */
  private full = false;
  /** True if the last round failed unexpectedly. The failure has been logged. */
  private failing = false;

  constructor(
    @Inject(Store) private readonly store: Pick<Port, 'open' | 'list' | 'describe'>,
    @Inject(RootLogger) private readonly logger: Logger,
    private readonly lifecycle: Lifecycle,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.endRounds = every(this.clock, INTERVAL_MS, () => void this.round());
    this.lifecycle.ending.addEventListener('abort', () => this.stop(), { once: true });
    void this.round();
  }

  /** Waits for a round in progress, because the store is closed next. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop();
    await this.running;
  }

  /** The history for this filter name, if any. */
  of(name: string): History | undefined {
    return this.histories.get(name);
  }

  /** True if a filter is watched, or will be from the next round. */
  watches(name: string): boolean {
    return !this.full || this.histories.has(name);
  }

  /**
   * Takes a point for each filter, unless a round is in progress. Never throws. `slotMs` is the time for each filter.
   */
  round(slotMs = SLOT_MS): Promise<void> {
    this.running ??= this.try(slotMs).finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private stop(): void {
    this.endRounds();
    this.end.abort();
  }

  private async try(slotMs: number): Promise<void> {
    try {
      await this.sampleAll(slotMs);
      this.failing = false;
    } catch (error) {
      if (error instanceof StoreError || this.end.signal.aborted) return;
      if (!this.failing)
        this.logger.warn({ err: error }, "the service could not record the filters' history");
      this.failing = true;
    }
  }

  private async sampleAll(slotMs: number): Promise<void> {
    let due = this.clock.monotonic();
    for await (const filter of this.filters()) {
      await this.sample(filter);
      due += slotMs;
      await this.pause(due - this.clock.monotonic());
    }
  }

  /** Waits for `ms`. Throws once the service begins to shut down. */
  private async pause(ms: number): Promise<void> {
    const { signal } = this.end;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const cancel = after(this.clock, ms, () => {
        signal.removeEventListener('abort', end);
        resolve();
      });
      const end = (): void => {
        cancel();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', end, { once: true });
    });
  }

  /**
   * Yields watched filters first, then others while places are free, so that new filters never end a watched one's
   * history.
   */
  private async *filters(): AsyncGenerator<Filter> {
    const seen = new Set<string>();
    for (const [name, { kind }] of this.histories)
      try {
        const filter = await this.store.open(name, kind, { fresh: true });
        seen.add(name);
        yield filter;
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'STORE_UNAVAILABLE') throw error;
        if (error.code === 'FILTER_NOT_FOUND') this.histories.delete(name);
        else seen.add(name);
      }
    for (const kind of KINDS)
      for (let after: string | undefined = ''; after !== undefined && seen.size < MOST_WATCHED;) {
        const { filters, next }: ListPage = await this.store.list(kind, PAGE, after);
        for (const filter of filters) {
          if (seen.has(filter.name)) continue;
          if (seen.size === MOST_WATCHED) break;
          seen.add(filter.name);
          yield filter;
        }
        after = next;
      }
    this.full = seen.size === MOST_WATCHED;
  }

  /** Throws STORE_UNAVAILABLE to end the round, because more calls would only time out. */
  private async sample(filter: Filter): Promise<void> {
    try {
      const stats = await this.store.describe(filter);
      const { kind, name, generation } = filter;
      const at = this.clock.now();
      let history = this.histories.get(name);
      if (history?.generation !== generation) {
        history = { kind, generation, since: at, ring: new PointRing(POINTS) };
        this.histories.set(name, history);
      }
      history.ring.push(pointOf(filter, stats, at));
    } catch (error) {
      const isAway = error instanceof StoreError && error.code === 'STORE_UNAVAILABLE';
      // The filter was cleared, dropped or lost. The next round reads its new state.
      if (isAway || !(error instanceof StoreError || error instanceof StaleFilterError)) throw error;
    }
  }
}

function pointOf(filter: Filter, stats: FilterStats, at: number): Point {
  const { items, fill, estimatedErrorRate } = filterView(filter, stats);
  const { added, duplicate, removed, refused } = stats;
  const { waiting = 0, leased = 0, delayed = 0, scheduled = 0, dead = 0 } = stats.queue ?? {};
  return {
    ...{ at, items, fill, estimatedErrorRate, added, duplicate, removed, refused },
    ...{ waiting, leased, delayed, scheduled, dead },
  };
}
