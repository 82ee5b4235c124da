import { Gauge, type Registry } from 'prom-client';
import {
  capacityOf,
  fillOf,
  joinAll,
  StaleFilterError,
  StoreError,
  type Filter,
  type FilterKind,
  type FilterStats,
  type Store,
} from '#store';

/** Maximum number of filters, because a scrape calls the store for each filter. */
const MOST_FILTERS = 100;

/** Gauges for the first MOST_FILTERS filters by name, visited sets first. */
export class FilterGauges {
  private readonly gauges: ReadonlyMap<Gauge, (filter: Filter, stats: FilterStats) => number>;
  private readonly window: Gauge;
  private readonly queue: Gauge;
  private readonly oldest: Gauge;

  constructor(
    private readonly store: Store,
    registry: Registry,
  ) {
    const gauge = (name: string, help: string, labels: string[] = []): Gauge =>
      new Gauge({
        name: `unseen_filter_${name}`,
        help,
        labelNames: ['kind', 'filter', ...labels],
        registers: [registry],
      });
    this.gauges = new Map([
      [gauge('items', 'Items in the filter'), (_, stats) => stats.items],
      [
        gauge('capacity', 'Items that its layers are sized for'),
        (filter, stats) => capacityOf(filter, stats),
      ],
      [
        gauge('layers', 'Layers in the filter: more than one if it has grown'),
        (_, stats) => stats.layers.length,
      ],
      [gauge('syncs', 'Syncs that are open or committing, at most one'), (_, { sync }) => (sync ? 1 : 0)],
      [gauge('fill_ratio', 'Share of non-zero counters'), (filter, stats) => fillOf(filter, stats)],
      [gauge('saturated_counters', 'Counters at 15, which stay at 15'), (_, stats) => stats.saturatedCells],
    ]);
    this.window = gauge(
      'operation_record_window_seconds',
      'Minimum time for which operation records are kept',
      ['origin'],
    );
    const ofQueue = (name: string, help: string, labels: string[] = []): Gauge =>
      new Gauge({
        name: `unseen_queue_${name}`,
        help,
        labelNames: ['visited_set', ...labels],
        registers: [registry],
      });
    this.queue = ofQueue('urls', 'URLs in the queue by state', ['state']);
    this.oldest = ofQueue(
      'oldest_seconds',
      'Time since the URL at the head of the queue was discovered; 0 if no URL is waiting',
    );
  }

  /** Reads the figures from the store. Shows none if the store is not `ready` or fails during the read. */
  async refresh(ready: boolean): Promise<void> {
    const rows = ready ? await this.rows().catch(emptyIfExpected) : [];
    for (const gauge of [...this.gauges.keys(), this.window, this.queue, this.oldest]) gauge.reset();
    for (const { filter, stats } of rows) {
      const labels = { kind: filter.kind, filter: filter.name };
      for (const [gauge, value] of this.gauges) gauge.set(labels, value(filter, stats));
      for (const origin of ['caller', 'made'] as const) {
        this.window.set({ ...labels, origin }, stats.recordWindowSeconds[origin]);
      }
      if (!stats.queue) continue;
      const { oldestSeconds = 0, ...counts } = stats.queue;
      for (const [state, count] of Object.entries(counts)) {
        this.queue.set({ visited_set: filter.name, state }, count);
      }
      this.oldest.set({ visited_set: filter.name }, oldestSeconds);
    }
  }

  private async rows(): Promise<{ filter: Filter; stats: FilterStats }[]> {
    const found: Filter[] = [];
    for (const kind of ['visited-set', 'filter'] satisfies FilterKind[]) {
      const room = MOST_FILTERS - found.length;
      if (room > 0) found.push(...(await this.store.list(kind, room)).filters);
    }
    const rows = found.map(async (filter) => {
      // Undefined if the filter was dropped or cleared since it was listed. The next scrape shows its new state.
      const stats = await this.store.describe(filter).catch(undefinedIfExpected);
      return stats && { filter, stats };
    });
    return (await joinAll(rows)).filter((row) => row !== undefined);
  }
}

function undefinedIfExpected(error: unknown): undefined {
  if (error instanceof StoreError || error instanceof StaleFilterError) return undefined;
  throw error;
}

function emptyIfExpected(error: unknown): [] {
  undefinedIfExpected(error);
  return [];
}
