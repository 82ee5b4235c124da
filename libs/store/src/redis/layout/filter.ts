import { type Geometry, type Layer, segmentBytes } from '#bloom';
import type { Filter, FilterKind, FilterType, PerHost, Semantics } from '../../port/index.js';
import { type CatalogueEntry, tokenOf } from './entry.js';
import { segmentKeys, type SegmentKeys } from './keys.js';
import { KnownState, type KnownSync } from './known-state.js';
import type { LayerStack } from './layer-stack.js';

/**
 * One call's view of a segment. The call's script, keys and token all come from the same view, and a retry sends them
 * unchanged. If a sync has since begun or ended in the segment, the token no longer matches. The script then changes
 * nothing, and the call needs a new view.
 */
export interface SegmentView {
  readonly filter: RedisFilter;
  readonly segment: number;
  readonly token: string;
  /** The sync, if the segment is known to take part in one. */
  readonly sync: KnownSync | undefined;
  /** The catalogue entry as read before the call, if the segment has rejected an earlier call. */
  readonly entry?: string;
}

/**
 * An immutable handle on one generation of a filter, with its segments' keys. `known` holds facts that this process
 * learns later and that may change.
 */
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
  readonly perHost?: PerHost;
  readonly generation: string;
  readonly createdAt: number;
  readonly base: number;
  readonly spread: number;
  readonly original?: { readonly capacity: number; readonly errorRate: number };
  /** Hash tags of its segments. */
  readonly tags: readonly string[];
  readonly segments: readonly SegmentKeys[];
  readonly itemsPerScript: number;
  readonly known: KnownState;

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
    if (entry.perHost !== undefined) this.perHost = entry.perHost;
    this.generation = entry.generation;
    this.createdAt = entry.createdAt;
    this.base = entry.base ?? 0;
    this.spread = entry.tags.length;
    if (entry.original !== undefined) this.original = entry.original;
    this.tags = entry.tags;
    this.segments = entry.tags.map((tag) => segmentKeys(tag, this.base, this.perHost !== undefined));
    this.itemsPerScript = entry.itemsPerScript;
    this.known = new KnownState(entry);
  }

  get queued(): boolean {
    return this.kind === 'visited-set';
  }

  /** Its own layers. */
  get stack(): LayerStack {
    return this.known.stack;
  }

  get sync(): KnownSync | undefined {
    return this.known.sync;
  }

  /** Bytes of the key that every script on a segment checks. */
  get pieceBytes(): number {
    return segmentBytes(this.geometry);
  }

  /**
   * A segment's state as this process knows it. The token is the generation in the segment's meta. It changes when the
   * segment joins or leaves a sync, so a script with a stale token changes nothing.
   */
  viewOf(segment: number): SegmentView {
    const sync = this.known.syncIn(segment);
    const token = sync ? this.syncedToken(sync.id) : this.plainToken;
    return { filter: this, segment, token, sync };
  }

  get plainToken(): string {
    return tokenOf(this);
  }

  syncedToken(id: string): string {
    return tokenOf(this, id);
  }

  /** The store's own handle for a filter that a caller passes in. */
  static of(filter: Filter): RedisFilter {
    if (filter instanceof RedisFilter) return filter;
    throw new TypeError(`filter ${filter.name} was not opened by the Redis store`);
  }
}

/** The keys of a segment. Throws RangeError for a segment that does not exist. */
export function segmentKeysOf(filter: RedisFilter, segment: number): SegmentKeys {
  const keys = filter.segments[segment];
  if (!keys) throw new RangeError(`filter ${filter.name} has no segment ${segment}`);
  return keys;
}
