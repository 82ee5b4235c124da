import { cellCount, filterBytes, type Geometry, type Layer, segmentBytes } from '#bloom';
import { plannedLayers } from '../planned-layers.js';
import type { Filter, FilterKind, FilterType, Semantics } from '../store.js';
import type { SyncPlan } from '../syncs.js';
import type { CatalogueEntry, EntrySync } from './entry.js';
import { segmentKeys, type SegmentKeys } from './keys.js';

/** Share of a layer at which the next one is made ahead of need. */
const NEARLY_FULL = 0.9;

/** A list of layers of an open filter, and what this process has seen of it. */
export class RedisList {
  /** All that there may be, oldest first. */
  readonly plan: readonly [Layer, ...Layer[]];
  readonly grows: boolean;
  /**
   * Items per segment as last seen by this process, those of each layer after those of the one before, and which layer was open
   * in each segment. Used for the limit on items and to grow in time, not for answers. `itemsSeenAt` says when, in ms since
   * the epoch.
   */
  private readonly itemsSeen: Float64Array;
  private readonly openSeen: Uint8Array;
  itemsSeenAt = 0;
  /** When a layer may be made ahead of need again, after a failure; ms since the epoch. */
  growsAgainAt = 0;

  constructor(
    plan: SyncPlan,
    /** Number of its first layer. */
    readonly base: number,
    /** How many layers this process knows to be there: it only grows. A script that needs another says so. */
    public made: number,
    /** Segments of the filter. */
    private readonly segments: number,
  ) {
    this.plan = plannedLayers(plan);
    this.grows = plan.layers !== undefined;
    this.itemsSeen = new Float64Array(segments * this.plan.length);
    this.openSeen = new Uint8Array(segments);
  }

  /** Those that this process knows to be there. */
  get known(): readonly Layer[] {
    return this.plan.slice(0, this.made);
  }

  /** Bytes of the layers that this process knows to be there. */
  get bytes(): number {
    return this.known.reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);
  }

  /** Pieces of a layer in each segment of the filter. */
  piecesOf(layer: number): number {
    return (this.plan[layer] as Layer).geometry.segments / this.segments;
  }

  /** Notes what a segment has said of itself: its open layer, if the list grows, and the items of each layer. */
  saw(segment: number, open: number | undefined, items: readonly number[]): void {
    items.forEach((count, layer) => (this.itemsSeen[layer * this.segments + segment] = count));
    if (open !== undefined) this.openSeen[segment] = Math.max(open, this.openSeen[segment] as number);
  }

  /** Items in all segments and layers, as last seen. */
  get items(): number {
    return this.itemsSeen.reduce((sum, items) => sum + items, 0);
  }

  /**
   * How many more items there may be. A list that grows takes what its open layers and those after them can hold; the
   * last one's capacity is that of all segments together. It may hold more items than that, because several instances
   * add at once, or because items of a filter that ages are estimated.
   */
  get room(): number {
    if (!this.grows) return Math.max(0, 2 * this.plan[0].capacity - this.items);
    const last = this.plan.length - 1;
    let room = this.plan[last]?.capacity ?? 0;
    for (let segment = 0; segment < this.segments; segment++) {
      for (let layer = this.openSeen[segment] as number; layer < last; layer++) {
        room += Math.max(0, this.shareOf(layer) - this.itemsIn(segment, layer));
      }
      room -= this.itemsIn(segment, last);
    }
    return Math.max(0, room);
  }

  /** Cells of a layer in each segment of the filter. */
  cellsOf(layer: number): number {
    return cellCount((this.plan[layer] as Layer).geometry) / this.segments;
  }

  /** Items after which a layer is closed in a segment. */
  shareOf(layer: number): number {
    return Math.ceil((this.plan[layer] as Layer).capacity / this.segments);
  }

  /** Whether a segment will soon need a layer that is not there yet, as far as this process knows. */
  nearlyFull(segment: number): boolean {
    const open = this.openSeen[segment] as number;
    if (open !== this.made - 1 || this.made >= this.plan.length) return false;
    return this.itemsIn(segment, open) >= NEARLY_FULL * this.shareOf(open);
  }

  private itemsIn(segment: number, layer: number): number {
    return this.itemsSeen[layer * this.segments + segment] as number;
  }
}

/** A sync that an open filter is known to have. */
export interface KnownSync {
  readonly id: string;
  readonly plan: SyncPlan;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly list: RedisList;
}

/**
 * A segment as one call takes it to be. The call's script, keys and token all come from the same view, and are sent again
 * unchanged when the call is retried. If a sync has begun or ended in the segment since, the token no longer matches, the
 * script changes nothing, and the call needs a new view.
 */
export interface SegmentView {
  readonly filter: RedisFilter;
  readonly segment: number;
  readonly token: string;
  /** The sync, if the segment is known to take part in one. */
  readonly sync: KnownSync | undefined;
  /** The catalogue entry as it was read before the call, if an earlier call on the segment was rejected. */
  readonly entry?: string;
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
  readonly maxAgeSeconds?: number;
  readonly generation: string;
  readonly createdAt: number;
  readonly base: number;
  readonly spread: number;
  readonly original?: { readonly capacity: number; readonly errorRate: number };
  /** Hash tags of its segments. */
  readonly tags: readonly string[];
  readonly segments: readonly SegmentKeys[];
  readonly itemsPerScript: number;
  /** Its own layers. */
  readonly list: RedisList;
  private known: KnownSync | undefined;
  /** Per segment: 1 if it is known to take part in the sync. */
  private readonly takesPart: Uint8Array;

  constructor(entry: CatalogueEntry) {
    this.name = entry.name;
    this.kind = entry.kind;
    this.type = entry.type;
    this.semantics = entry.semantics;
    this.capacity = entry.capacity;
    this.errorRate = entry.errorRate;
    this.geometry = entry.geometry;
    if (entry.layers !== undefined) this.layers = entry.layers;
    this.seed = Buffer.from(entry.seed, 'hex');
    if (entry.urlProfile !== undefined) this.urlProfile = entry.urlProfile;
    if (entry.maxAttempts !== undefined) this.maxAttempts = entry.maxAttempts;
    if (entry.maxAgeSeconds !== undefined) this.maxAgeSeconds = entry.maxAgeSeconds;
    this.generation = entry.generation;
    this.createdAt = entry.createdAt;
    this.base = entry.base ?? 0;
    this.spread = entry.tags.length;
    if (entry.original !== undefined) this.original = entry.original;
    this.tags = entry.tags;
    this.segments = entry.tags.map((tag) => segmentKeys(tag, this.base));
    this.itemsPerScript = entry.itemsPerScript;
    this.list = new RedisList(entry, this.base, entry.made ?? 1, this.spread);
    this.takesPart = new Uint8Array(this.spread);
    this.learn(entry.sync);
    // An entry says `open` once all segments take part.
    if (entry.sync?.stage === 'open') this.takesPart.fill(1);
  }

  get queued(): boolean {
    return this.kind === 'visited-set';
  }

  get sync(): KnownSync | undefined {
    return this.known;
  }

  /** Bytes of the key that every script on a segment checks. */
  get pieceBytes(): number {
    return segmentBytes(this.geometry);
  }

  /** Notes the sync that the catalogue has of this filter, if it has any. */
  learn(sync: EntrySync | undefined): void {
    if (sync?.id === this.known?.id) {
      if (sync && this.known) this.known.list.made = Math.max(this.known.list.made, sync.made ?? 1);
      return;
    }
    this.takesPart.fill(0);
    const list = sync && new RedisList(sync.plan, sync.base, sync.made ?? 1, this.spread);
    this.known = sync && list ? { id: sync.id, plan: sync.plan, openedAt: sync.openedAt, list } : undefined;
  }

  /** Whether all segments are known to take part in this sync. */
  takesPartIn(id: string): boolean {
    return this.known?.id === id && !this.takesPart.includes(0);
  }

  /** The catalogue has said that all segments take part in the sync. */
  takePart(): void {
    if (this.known) this.takesPart.fill(1);
  }

  /**
   * A segment as this process knows it now. The token is the generation in the segment's meta; it changes when the segment
   * begins or ends a sync, so scripts sent with a stale token change nothing.
   */
  viewOf(segment: number): SegmentView {
    const sync = this.takesPart[segment] === 1 ? this.known : undefined;
    const token = sync ? this.syncedToken(sync.id) : this.plainToken;
    return { filter: this, segment, token, sync };
  }

  get plainToken(): string {
    return tokenOf(this);
  }

  syncedToken(id: string): string {
    return tokenOf(this, id);
  }

  /** Notes the token that a segment has, if it can be one of this filter. */
  sees(segment: number, token: string | null): void {
    if (token === this.plainToken) this.takesPart[segment] = 0;
    else if (this.known && token === this.syncedToken(this.known.id)) this.takesPart[segment] = 1;
  }

  /** The store's own handle behind a filter that a caller passes in. */
  static of(filter: Filter): RedisFilter {
    if (filter instanceof RedisFilter) return filter;
    throw new TypeError(`filter ${filter.name} was not opened by the Redis store`);
  }
}

/** See RedisFilter.viewOf. It begins with the generation. */
export function tokenOf(
  { generation, base = 0 }: Pick<CatalogueEntry, 'generation' | 'base'>,
  sync?: string,
): string {
  return `${generation}${base === 0 ? '' : `.${base}`}${sync === undefined ? '' : `+${sync}`}`;
}
