import type { CallCounts, Filter, Sync, SyncPlan } from '../../port/index.js';
import { plannedLayers } from '../../planned-layers.js';
import { generationKey } from '../database/keys.js';
import { LayerStack } from '../layers/layer-stack.js';
import type { LayerState } from '../layers/layer-state.js';
import { HashTable } from '../hashes/hash-table.js';
import { QueueState } from './queue-state.js';
import { freshWindows, type RecordScope, type RecordWindow } from '../operations/record-window.js';
import { DEFAULT_SIZES, type Sizes } from '../database/sizes.js';

/** Counts of calls on a filter (see FilterStats). The layers count the items. */
export type Tally = { -readonly [K in Exclude<keyof CallCounts, 'items'>]: number };

/** An open sync's constant data. */
export interface OpenSync {
  readonly id: string;
  readonly plan: SyncPlan;
  /** Number of the sync's first layer. */
  readonly base: number;
  readonly openedAt: number;
}

/** A sync's numbers, stored with its filter's state in this order. */
export const SYNC_NUMBERS = [
  'listed',
  'new',
  'kept',
  'noted',
  'rows',
  'rowHashes',
  'nextDelayed',
  'copied',
  'calledAt',
] as const;

/** An open sync, in memory. */
export class SyncState {
  readonly stack: LayerStack;
  listed = 0;
  new = 0;
  kept = 0;
  /** The number of removals, and of hashes in the rows that store them. See removals.ts. */
  noted = 0;
  rowHashes = 0;
  /** The number of all rows, and of those with scheduled entries. See sync-rows.ts and came-due.ts. */
  rows = 0;
  cameDue = 0;
  /** The queue's `nextDelayed` when the sync was opened. See came-due.ts. */
  nextDelayed = 0;
  readonly removals = new HashTable();
  /** 1 once the sync keeps all entries that were in the queue when it was opened. */
  copied = 0;
  /** Milliseconds since the epoch. */
  calledAt: number;

  /** `cells`: the cells of the first layer. */
  constructor(
    readonly opened: OpenSync,
    cells: readonly Uint8Array[],
    maxAgeSeconds: number | undefined,
    sizes: Sizes,
  ) {
    this.stack = new LayerStack(opened.base, plannedLayers(opened.plan), cells, maxAgeSeconds, sizes);
    this.calledAt = opened.openedAt;
  }
}

/** A filter during a sync. */
export type Syncing = FilterState & { sync: SyncState };

export const isSyncing = (state: FilterState): state is Syncing => state.sync !== undefined;

/** One of a filter's generations, in memory. */
export class FilterState implements RecordScope {
  readonly key: Buffer;
  readonly since: number;
  /** The filter's own layers. */
  stack: LayerStack;
  sync: SyncState | undefined;
  /** The last sync that has ended, until another is opened. */
  endedSync: Sync | undefined;
  /** Number of the first layer of the next sync. */
  nextLayer: number;
  readonly tally: Tally = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  /** Used only in visited sets. */
  readonly queue = new QueueState();
  windows: { caller: RecordWindow; made: RecordWindow };
  lastChange = 0;
  /** Part of the data is missing, so every call fails. */
  lost = false;

  /** `cells`: the cells of the first layer. */
  constructor(
    /** A commit replaces it. */
    public filter: Filter,
    cells: readonly Uint8Array[],
    now: number,
    sizes = DEFAULT_SIZES,
  ) {
    this.key = generationKey(filter.generation);
    this.since = filter.createdAt;
    this.stack = new LayerStack(filter.base, plannedLayers(filter), cells, filter.maxAgeSeconds, sizes);
    this.nextLayer = this.stack.end;
    this.windows = freshWindows(now);
  }

  /** The filter's own layers and, during a sync, the sync's layers. */
  get stacks(): LayerStack[] {
    return this.sync ? [this.stack, this.sync.stack] : [this.stack];
  }

  get layers(): LayerState[] {
    return this.stacks.flatMap(({ layers }) => layers);
  }

  /** The layer with this number, if it exists. */
  layerOf(number: number): LayerState | undefined {
    for (const { base, layers } of this.stacks) {
      const layer = number >= base ? layers[number - base] : undefined;
      if (layer) return layer;
    }
    return undefined;
  }

  /** True if the layer with this number was dropped when a sync ended. */
  isRetired(number: number): boolean {
    return number < this.nextLayer && this.stacks.every(({ base, end }) => number < base || number >= end);
  }

  /** Advances the time of a filter that ages. */
  tick(now: number): void {
    for (const stack of this.stacks) stack.tick(now);
  }

  /** Bytes of all cells, reserved ones included. */
  get bytes(): number {
    return this.stacks.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
