import type { Geometry } from '#bloom';
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
}

/** Hash tags of all segments that an entry has or still has to delete. */
export function allTags(entry: CatalogueEntry): string[] {
  return [...new Set([...entry.tags, ...(entry.retired ?? [])])];
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
  readonly seed: Uint8Array;
  readonly urlProfile?: unknown;
  readonly maxAttempts?: number;
  readonly generation: string;
  readonly createdAt: number;
  readonly segments: readonly SegmentKeys[];
  readonly itemsPerScript: number;
  /**
   * Items per segment as last seen by this process. Used for the limit on items, not for answers.
   * `itemsSeenAt` says when, in ms since the epoch.
   */
  readonly itemsSeen: Float64Array;
  itemsSeenAt = 0;

  constructor(entry: CatalogueEntry) {
    this.name = entry.name;
    this.kind = entry.kind;
    this.type = entry.type;
    this.semantics = entry.semantics;
    this.capacity = entry.capacity;
    this.errorRate = entry.errorRate;
    this.geometry = entry.geometry;
    this.seed = Buffer.from(entry.seed, 'hex');
    if (entry.urlProfile !== undefined) this.urlProfile = entry.urlProfile;
    if (entry.maxAttempts !== undefined) this.maxAttempts = entry.maxAttempts;
    this.generation = entry.generation;
    this.createdAt = entry.createdAt;
    this.segments = entry.tags.map(segmentKeys);
    this.itemsPerScript = entry.itemsPerScript;
    this.itemsSeen = new Float64Array(entry.tags.length);
  }

  get queued(): boolean {
    return this.kind === 'visited-set';
  }

  /** The store's own handle behind a filter that a caller passes in. */
  static of(filter: Filter): RedisFilter {
    if (filter instanceof RedisFilter) return filter;
    throw new TypeError(`filter ${filter.name} was not opened by the Redis store`);
  }
}
