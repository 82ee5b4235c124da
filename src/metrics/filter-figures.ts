import { filterBytes } from '#bloom';
import {
  capacityOf,
  errorRateOf,
  fillOf,
  forgottenBy,
  plannedLayers,
  type Filter,
  type FilterStats,
} from '#store';

/** A filter as the store describes it. */
export interface FilterRow {
  readonly filter: Filter;
  readonly stats: FilterStats;
}

/** Values by the value of an additional label. */
type Split = Readonly<Record<string, number>>;

export interface FilterFigure {
  readonly name: string;
  readonly help: string;
  /** An additional label. */
  readonly label?: string;
  /** Undefined if the filter has no such value. */
  readonly of: (row: FilterRow) => number | Split | undefined;
}

/** Seconds since a time in ms since the epoch. */
type Since = (time: number) => number;

/** The figures of a filter that /metrics shows, and how the store's description gives them. */
export const filterFigures = (since: Since): readonly FilterFigure[] => [
  { name: 'filter_items', help: 'Items in the filter', of: ({ stats }) => stats.items },
  {
    name: 'filter_capacity_items',
    help: 'Items that the existing layers are sized for',
    of: ({ filter, stats }) => capacityOf(filter, stats),
  },
  {
    name: 'filter_max_capacity_items',
    help: 'Items that the filter has room for once it has all its layers',
    of: ({ filter }) => plannedLayers(filter).reduce((sum, { capacity }) => sum + capacity, 0),
  },
  {
    name: 'filter_layers',
    help: 'Layers in the filter: more than one if it has grown',
    of: ({ stats }) => stats.layers.length,
  },
  {
    name: 'filter_max_layers',
    help: 'Layers that the filter may have',
    of: ({ filter }) => plannedLayers(filter).length,
  },
  {
    name: 'filter_memory_bytes',
    help: 'Bytes in the existing layers',
    of: ({ filter, stats }) =>
      plannedLayers(filter)
        .slice(0, stats.layers.length)
        .reduce((sum, { geometry }) => sum + filterBytes(geometry), 0),
  },
  {
    name: 'filter_fill_ratio',
    help: 'Share of non-zero counters',
    of: ({ filter, stats }) => fillOf(filter, stats),
  },
  {
    name: 'filter_false_positive_ratio',
    help: 'False-positive rate, estimated from the fill',
    of: ({ filter, stats }) => errorRateOf(filter, stats),
  },
  {
    name: 'filter_promised_false_positive_ratio',
    help: 'False-positive rate that the filter was created for',
    of: ({ filter }) => filter.errorRate,
  },
  {
    name: 'filter_saturated_counters',
    help: 'Counters at 15, which stay at 15',
    of: ({ stats }) => stats.saturatedCells,
  },
  {
    name: 'filter_operation_record_window_seconds',
    help: 'Minimum time for which operation records are kept, by the origin of their ids',
    label: 'origin',
    of: ({ stats }) => stats.recordWindowSeconds,
  },
  {
    name: 'filter_live_items',
    help: 'Items that have not expired, estimated, in sets that age',
    of: ({ stats }) => stats.age?.items.reduce((sum, items) => sum + items, 0),
  },
  {
    name: 'filter_expiring_items',
    help: 'Items that expire when the current epoch ends, estimated, in sets that age',
    of: ({ stats }) => stats.age?.items[0],
  },
  {
    name: 'filter_hidden_items',
    help: 'Forgotten items that are stored exactly until they expire, in sets that age',
    of: ({ stats }) => stats.age?.hidden,
  },
  {
    name: 'filter_open_syncs',
    help: 'Syncs that are open or committing, at most one',
    of: ({ stats }) => (stats.sync ? 1 : 0),
  },
  {
    name: 'sync_age_seconds',
    help: 'Time since the sync in progress was opened',
    of: ({ stats }) => stats.sync && since(stats.sync.openedAt),
  },
  {
    name: 'sync_listed_items',
    help: 'Items listed so far in the sync in progress',
    of: ({ stats }) => stats.sync?.listed,
  },
  {
    name: 'sync_unlisted_items',
    help: 'Items that the sync in progress would forget if it were committed now',
    of: ({ stats }) => stats.sync && forgottenBy(stats.sync),
  },
  {
    name: 'queue_urls',
    help: 'URLs in the queue by state, before forgotten ones are removed; forgotten: at most this many of them are',
    label: 'state',
    of: ({ stats: { queue } }) => {
      if (!queue) return undefined;
      const { oldestSeconds: _, ...states } = queue;
      return states;
    },
  },
  {
    name: 'queue_oldest_seconds',
    help: 'Time since the first waiting URL was discovered or came due; 0 if no URL is waiting',
    of: ({ stats: { queue } }) => queue && (queue.oldestSeconds ?? 0),
  },
  {
    name: 'queue_hosts',
    help: 'Hosts in the queue, in sets with perHost',
    of: ({ stats }) => stats.hosts?.known,
  },
  {
    name: 'queue_due_hosts',
    help: 'Hosts whose next URL may be leased now, in sets with perHost. The embedded store stops counting at 1,000',
    of: ({ stats }) => stats.hosts?.due,
  },
  {
    name: 'queue_blocked_hosts',
    help: 'Hosts that wait for the end of a delay or block, in sets with perHost. The embedded store stops counting at 1,000',
    of: ({ stats }) => stats.hosts?.blocked,
  },
];
