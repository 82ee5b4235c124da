import { type Geometry, type Layer, piecesOf } from '#bloom';
import type { Filter, FilterKind, FilterType, Semantics } from '../store.js';
import { segmentKeys, type SegmentKeys } from './keys.js';

/**
 * State of a catalogue entry. In all states but `ready` work is under way, which others may take over once it is stale.
 */
export type EntryState = 'creating' | 'ready' | 'clearing' | 'dropping';

/** What the catalogue stores under a filter's name, as JSON. */
export interface CatalogueEntry {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  readonly geometry: Geometry;
  /** Of a filter that grows, the layers it may have. */
  readonly layers?: readonly Layer[];
  /** How many of them there are, with all their keys. Absent: one. */
  readonly made?: number;
  /** How many there will be once the keys are made of one that is under way; whoever needs it goes on with it. */
  readonly growing?: number;
  /** While its keys are deleted again, for lack of memory: server time in ms since when. Then nobody makes any. */
  readonly givingUp?: number;
  readonly urlProfile?: unknown;
  readonly maxAttempts?: number;
  readonly seed: string;
  readonly generation: string;
  readonly createdAt: number;
  readonly tags: readonly string[];
  /** Stored, because operation records are named by chunk and another version may choose another chunk size. */
  readonly itemsPerScript: number;
  readonly state: EntryState;
  /**
   * Server time in ms when the current work began or was last known to go on. For a ready entry, that of the work
   * before.
   */
  readonly since: number;
  /** The operation that is under way: its verb, id and fingerprint. */
  readonly operation?: string;
  /** Hash tags of segments that must be deleted before the entry is ready or gone. */
  readonly retired?: readonly string[];
  /** How many pieces each layer but the first has at most in one of these. */
  readonly retiredPieces?: readonly number[];
}

/** Share of a layer at which the next one is made ahead of need. */
const NEARLY_FULL = 0.9;

/** Hash tags of all segments that an entry has or still has to delete. */
export function allTags(entry: CatalogueEntry): string[] {
  return [...new Set([...entry.tags, ...(entry.retired ?? [])])];
}

/**
 * How many pieces each layer but the first may have in each segment of the entry. The next layer is among them: somebody
 * who was late may have made keys of it also if it is not being made now.
 */
export function piecesIn({ layers = [], geometry, made = 1 }: CatalogueEntry): number[] {
  return layers.slice(1, made + 1).map((layer) => piecesOf(layer, geometry));
}

/** How many pieces each layer but the first has at most in one of the segments that an entry has or still has to delete. */
export function allPieces(entry: CatalogueEntry): number[] {
  const [own, retired] = [piecesIn(entry), entry.retiredPieces ?? []];
  const layers = Math.max(own.length, retired.length);
  return Array.from({ length: layers }, (_, n) => Math.max(own[n] ?? 0, retired[n] ?? 0));
}

/** An open filter of the Redis store, with the keys of its segments. */
export class RedisFilter implements Filter {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  readonly geometry: Geometry;
  readonly layers?: readonly Layer[];
  readonly seed: Uint8Array;
  readonly urlProfile?: unknown;
  readonly maxAttempts?: number;
  readonly generation: string;
  readonly createdAt: number;
  readonly base = 0;
  readonly spread: number;
  readonly segments: readonly SegmentKeys[];
  readonly itemsPerScript: number;
  /** How many layers this process knows to be there: it only grows. A script that needs another says so. */
  made: number;
  /**
   * Items per segment as last seen by this process, those of each layer after those of the one before, and which layer was open
   * in each segment. Used for the limit on items and to grow in time, not for answers. `itemsSeenAt` says when, in ms since
   * the epoch.
   */
  readonly itemsSeen: Float64Array;
  private readonly openSeen: Uint8Array;
  itemsSeenAt = 0;
  /** When a layer may be made ahead of need again, after a failure; ms since the epoch. */
  growsAgainAt = 0;

  constructor(entry: CatalogueEntry) {
    this.name = entry.name;
    this.kind = entry.kind;
    this.type = entry.type;
    this.semantics = entry.semantics;
    this.capacity = entry.capacity;
    this.errorRate = entry.errorRate;
    this.geometry = entry.geometry;
    if (entry.layers !== undefined) this.layers = entry.layers;
    this.made = entry.made ?? 1;
    this.seed = Buffer.from(entry.seed, 'hex');
    if (entry.urlProfile !== undefined) this.urlProfile = entry.urlProfile;
    if (entry.maxAttempts !== undefined) this.maxAttempts = entry.maxAttempts;
    this.generation = entry.generation;
    this.createdAt = entry.createdAt;
    this.spread = entry.tags.length;
    this.segments = entry.tags.map(segmentKeys);
    this.itemsPerScript = entry.itemsPerScript;
    this.itemsSeen = new Float64Array(entry.tags.length * (entry.layers?.length ?? 1));
    this.openSeen = new Uint8Array(entry.tags.length);
  }

  get queued(): boolean {
    return this.kind === 'visited-set';
  }

  /** Notes what a segment has said of itself: its open layer, if the filter grows, and the items of each layer. */
  saw(segment: number, open: number | undefined, items: readonly number[]): void {
    items.forEach((count, layer) => (this.itemsSeen[layer * this.segments.length + segment] = count));
    if (open !== undefined) this.openSeen[segment] = Math.max(open, this.openSeen[segment] as number);
  }

  /** Items in all segments and layers, as last seen. */
  get items(): number {
    return this.itemsSeen.reduce((sum, items) => sum + items, 0);
  }

  /**
   * How many more items there may be. A filter that grows takes what its open layers and those after them can hold; the
   * last one's capacity is that of all segments together.
   */
  get room(): number {
    const { layers, segments } = this;
    if (!layers) return 2 * this.capacity - this.items;
    const last = layers.length - 1;
    let room = layers[last]?.capacity ?? 0;
    for (const segment of segments.keys()) {
      for (let layer = this.openSeen[segment] as number; layer < last; layer++) {
        room += Math.max(0, this.shareOf(layer) - this.itemsIn(segment, layer));
      }
      room -= this.itemsIn(segment, last);
    }
    return room;
  }

  /** Items after which a layer is closed in a segment. */
  shareOf(layer: number): number {
    return Math.ceil((this.layers?.[layer]?.capacity ?? this.capacity) / this.segments.length);
  }

  /** Whether a segment will soon need a layer that is not there yet, as far as this process knows. */
  nearlyFull(segment: number): boolean {
    const open = this.openSeen[segment] as number;
    if (open !== this.made - 1 || this.made >= (this.layers?.length ?? 1)) return false;
    return this.itemsIn(segment, open) >= NEARLY_FULL * this.shareOf(open);
  }

  private itemsIn(segment: number, layer: number): number {
    return this.itemsSeen[layer * this.segments.length + segment] as number;
  }

  /** The store's own handle behind a filter that a caller passes in. */
  static of(filter: Filter): RedisFilter {
    if (filter instanceof RedisFilter) return filter;
    throw new TypeError(`filter ${filter.name} was not opened by the Redis store`);
  }
}
