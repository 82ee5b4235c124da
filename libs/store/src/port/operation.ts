/**
 * A mutation's identity. Its record (fingerprint and answers) is kept with the filter that it changes, per verb.
 * `caller`: the id is the caller's Idempotency-Key, kept for 24 h. `made`: the service generated the id, kept for 60 s.
 */
export interface Operation {
  readonly id: string;
  readonly origin: 'caller' | 'made';
  /** Digest of the request's route and body. A repeat with a different fingerprint throws IDEMPOTENCY_KEY_REUSED. */
  readonly fingerprint: string;
  /** True if the id came with the request, which may therefore be a repeat. Always true for a caller's id. */
  readonly repeat: boolean;
  /**
   * When the service generated the id, in ms since the epoch. An id older than the oldest record throws
   * IDEMPOTENCY_KEY_EXPIRED.
   */
  readonly madeAt?: number;
  /** When the caller stops waiting, in ms since the epoch. */
  readonly deadline: number;
  /** The caller's quota, for layers that the operation adds. */
  readonly quota?: Quota | undefined;
}

/** Number and size of filters and visited sets. */
export interface Usage {
  readonly filters: number;
  /** Total size of their cells, in bytes. */
  readonly bytes: number;
}

/**
 * The characters with which a name prefix can end. Stores count the usage under each such prefix of a name. The hyphen
 * is last, so that a regular expression can use the string in a character class.
 */
export const PREFIX_ENDS = '._:-';

/**
 * Limits on the number and size of all filters and visited sets whose names begin with `prefix`, whichever caller
 * created them. A filter counts from the moment its creation or import begins until it is gone, even while it is being
 * cleared. Filters created without a quota count too, but are never refused.
 */
export interface Quota {
  /** Ends with one of PREFIX_ENDS. */
  readonly prefix: string;
  /** Absent: no limit. */
  readonly maxFilters?: number | undefined;
  /** Absent: no limit. */
  readonly maxBytes?: number | undefined;
}
