import type { Geometry, Layer } from '#bloom';

/** A plain filter, or a visited set's filter. Both share one namespace. */
export type FilterKind = 'filter' | 'visited-set';
export type FilterType = 'counting' | 'standard';
/** `set`: a second add changes nothing. `multiset`: every add counts, and every removal undoes one. */
export type Semantics = 'set' | 'multiset';

/**
 * A filter's parameters. They stay the same for life, except that a sync may change capacity, error rate and layers.
 */
export interface FilterSpec {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  /**
   * Geometry of the first layer. Positions refer to it, and the store derives positions in other layers from the
   * hashes.
   */
  readonly geometry: Geometry;
  /**
   * If the filter grows: all its layers, planned at creation, the first with `geometry`. The store creates each layer
   * when the previous one is nearly full. Absent: the filter doesn't grow.
   */
  readonly layers?: readonly Layer[];
  /** SEED_BYTES random bytes. Secret. */
  readonly seed: Uint8Array;
  /** Visited sets: the normalised URL profile as JSON, opaque to the store. */
  readonly urlProfile?: unknown;
  /** Visited sets: an entry that returns to the queue after this many leases becomes a dead letter. Absent: never. */
  readonly maxAttempts?: number;
  /**
   * An item is absent if it has not been added again for this long. Only for counting filters with semantics `set`,
   * whose geometries have 8-bit cells. Absent: items stay until they are removed.
   */
  readonly maxAgeSeconds?: number;
  /** Visited sets that grow, with HOST_HASH_SCHEME: the queue has a lane for each host. Absent: it has one lane. */
  readonly perHost?: PerHost;
}

/** The highest `maxLeased` and `maxUrls`. */
export const MAX_PER_HOST = 2 ** 31;

/** Maximum length of a host's name, in bytes of UTF-8. */
export const MAX_HOST_BYTES = 65_535;

/** How a queue treats each host. Whole numbers, at least 1. */
export interface PerHost {
  /** The time between two leases for a host, at most MAX_LEASE_MS. Absent: none. */
  readonly delayMs?: number;
  /** Maximum number of a host's entries that may be leased at a time. Absent: no limit. */
  readonly maxLeased?: number;
  /** Maximum number of a host's URLs that are discovered and not forgotten. Absent: no limit. */
  readonly maxUrls?: number;
}

/** An open filter: an immutable handle on one generation. Committing a sync makes it stale. */
export interface Filter extends FilterSpec {
  /** Random, 16 hex digits. Changes on `clear`, and on drop and re-create. */
  readonly generation: string;
  /**
   * Number of the filter's first layer. It starts at 0 and rises with each committed sync, since layer numbers are
   * never reused within a generation.
   */
  readonly base: number;
  /** How many segments the filter was created with. Every later layer has a whole multiple of it. */
  readonly spread: number;
  /** The parameters at creation, if a sync has changed them. A repeated creation compares these. */
  readonly original?: Pick<FilterSpec, 'capacity' | 'errorRate'>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}
