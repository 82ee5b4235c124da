import type { CallCounts, Filter, Sync, SyncPlan } from '../../port/index.js';
import { plannedLayers } from '../../planned-layers.js';
import { generationKey } from '../database/keys.js';
import { LayerList } from '../layers/layer-list.js';
import type { LayerState } from '../layers/layer-state.js';
import { MarkTable } from '../hashes/mark-table.js';
import { QueueState } from './queue-state.js';
import { freshWindows, type RecordScope, type RecordWindow } from '../operations/record-window.js';
import { DEFAULT_SIZES, type Sizes } from '../database/sizes.js';

/** Counts of calls on a filter; see FilterStats. Those of its items are its layers'. */
export type Tally = { -readonly [K in Exclude<keyof CallCounts, 'items'>]: number };

/** What does not change of a sync that is open. */
export interface OpenSync {
  readonly id: string;
  readonly plan: SyncPlan;
  /** Number of the first layer that it fills. */
  readonly base: number;
  readonly openedAt: number;
}

/** Counts of a sync that are kept with its filter's state, in this order. */
export const SYNC_NUMBERS = [
  'listed',
  'new',
  'kept',
  'noted',
  'rows',
  'rowHashes',
  'copied',
  'calledAt',
] as const;

/** A sync that is open, in memory. */
export class SyncState {
  readonly list: LayerList;
  listed = 0;
  new = 0;
  kept = 0;
  /** See removals.ts: how many there are, the rows that hold them, and the hashes in these. */
  noted = 0;
  rows = 0;
  rowHashes = 0;
  readonly removals = new MarkTable();
  /** 1 once all entries that were in the queue when it was opened are kept. */
  copied = 0;
  /** Milliseconds since the epoch. */
  calledAt: number;

  /** `cells` are those of the first layer. */
  constructor(
    readonly opened: OpenSync,
    cells: readonly Uint8Array[],
    maxAgeSeconds: number | undefined,
    sizes: Sizes,
  ) {
    this.list = new LayerList(opened.base, plannedLayers(opened.plan), cells, maxAgeSeconds, sizes);
    this.calledAt = opened.openedAt;
  }
}

/** A filter during a sync. */
export type Syncing = FilterState & { sync: SyncState };

export const isSyncing = (state: FilterState): state is Syncing => state.sync !== undefined;

/** One generation of a filter in memory. */
export class FilterState implements RecordScope {
  readonly key: Buffer;
  readonly since: number;
  /** Its own layers. */
  list: LayerList;
  sync: SyncState | undefined;
  /** The last sync that is over, until another is opened. */
  endedSync: Sync | undefined;
  /** Number of the next layer of a list that is to come. */
  nextLayer: number;
  readonly tally: Tally = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  /** Of a visited set. */
  readonly queue = new QueueState();
  windows: { caller: RecordWindow; made: RecordWindow };
  lastChange = 0;
  /** Part of its data is missing, so every call is refused. */
  lost = false;

  /** `cells` are those of the first layer. */
  constructor(
    /** Another one once a sync is committed. */
    public filter: Filter,
    cells: readonly Uint8Array[],
    now: number,
    sizes = DEFAULT_SIZES,
  ) {
    this.key = generationKey(filter.generation);
    this.since = filter.createdAt;
    this.list = new LayerList(filter.base, plannedLayers(filter), cells, filter.maxAgeSeconds, sizes);
    this.nextLayer = this.list.end;
    this.windows = freshWindows(now);
  }

  /** Its own layers, and those that a sync fills. */
  get lists(): LayerList[] {
    return this.sync ? [this.list, this.sync.list] : [this.list];
  }

  get layers(): LayerState[] {
    return this.lists.flatMap(({ layers }) => layers);
  }

  /** The layer of a number, if there is one. */
  layerOf(number: number): LayerState | undefined {
    for (const { base, layers } of this.lists) {
      const layer = number >= base ? layers[number - base] : undefined;
      if (layer) return layer;
    }
    return undefined;
  }

  /** Whether a layer of this number has been given up, by a sync that is over. */
  isRetired(number: number): boolean {
    return number < this.nextLayer && this.lists.every(({ base, end }) => number < base || number >= end);
  }

  /** Has time go on, of a filter that ages. */
  tick(now: number): void {
    for (const list of this.lists) list.tick(now);
  }

  /** Bytes of all cells, also of those that are reserved. */
  get bytes(): number {
    return this.lists.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
