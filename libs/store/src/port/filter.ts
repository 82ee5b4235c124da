import type { Geometry, Layer } from '#bloom';

/** A plain filter, or the filter of a visited set. They share one name space. */
export type FilterKind = 'filter' | 'visited-set';
export type FilterType = 'counting' | 'standard';
/** `set`: a second add changes nothing. `multiset`: every add counts, every removal takes one back. */
export type Semantics = 'set' | 'multiset';

/** The parameters of a filter. All are kept with the filter for its life. */
export interface FilterSpec {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  /** Of the first layer. Positions are those in it; the store finds those in other layers by the hashes. */
  readonly geometry: Geometry;
  /**
   * Of a filter that grows, all its layers, planned with it, the first of them with `geometry`: one comes into being when
   * the one before is nearly full. Absent: the filter does not grow.
   */
  readonly layers?: readonly Layer[];
  /** SEED_BYTES random bytes. Never shown. */
  readonly seed: Uint8Array;
  /** Visited sets: the normalised URL profile, opaque to the store (JSON). */
  readonly urlProfile?: unknown;
  /** Visited sets: an entry that has been leased so often becomes a dead letter when it comes back. Absent: never. */
  readonly maxAttempts?: number;
  /**
   * An item that was not added again for so long is absent: counting filters of the semantics "set", whose geometries have
   * cells of 8 bits. Absent: items are there until they are removed.
   */
  readonly maxAgeSeconds?: number;
}

/** An open filter: an immutable handle on one generation of it, as it is until a sync is committed. */
export interface Filter extends FilterSpec {
  /** Random, 16 hex digits; another one after `clear`, or after drop and create. */
  readonly generation: string;
  /**
   * Number of the first layer of its list. Numbers of layers are never reused within a generation, so it is another one after
   * each sync that was committed. 0 at first.
   */
  readonly base: number;
  /** Segments that its first geometry had. Those of each layer that it ever has are a whole multiple of it. */
  readonly spread: number;
  /** What the filter was made with, if a sync has changed it since: a repeated creation asks for that. */
  readonly original?: Pick<FilterSpec, 'capacity' | 'errorRate'>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}
