/**
 * The identity of a mutation. Its record (fingerprint and answers) is kept with the filter that it changes, per verb.
 * `caller`: the id is the caller's Idempotency-Key, kept for 24 h. `made`: the service made the id, kept for 60 s.
 */
export interface Operation {
  readonly id: string;
  readonly origin: 'caller' | 'made';
  /** Digest of the request's route and body. A repeat with a different fingerprint is IDEMPOTENCY_KEY_REUSED. */
  readonly fingerprint: string;
  /** True if the id came with the request, which may therefore be a repeat. Always true for a caller's id. */
  readonly repeat: boolean;
  /**
   * When the service made the id, in ms since the epoch. An id older than the oldest record is IDEMPOTENCY_KEY_EXPIRED.
   */
  readonly madeAt?: number;
  /** Milliseconds since the epoch. The caller stops waiting then. */
  readonly deadline: number;
  /** The caller's quota, for layers that the operation adds. */
  readonly quota?: Quota | undefined;
}

/** Number and size of filters and visited sets. */
export interface Usage {
  readonly filters: number;
  /** Bytes of their cells. */
  readonly bytes: number;
}

/**
 * The characters that a prefix of names can end with. Stores count the usage of each such prefix of a name. The hyphen
 * is last, so that the text can stand in a character class.
 */
export const PREFIX_ENDS = '._:-';

/**
 * Limits on the number and the bytes of all filters and visited sets whose names begin with `prefix`, regardless of the
 * caller that created them. A filter counts from the moment its creation or import begins until it is gone; clearing it
 * changes nothing. Filters created without a quota count too, but are never refused.
 */
export interface Quota {
  /** Ends with one of PREFIX_ENDS. */
  readonly prefix: string;
  /** Absent: no limit. */
  readonly maxFilters?: number | undefined;
  /** Absent: no limit. */
  readonly maxBytes?: number | undefined;
}
