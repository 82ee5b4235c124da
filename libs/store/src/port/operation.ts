/**
 * The identity of a mutation. Records (fingerprint and answers) are kept with the filter that it changes, per verb.
 * `caller`: an Idempotency-Key of the caller's own, kept 24 h. `made`: an id that the service made, kept 60 s.
 */
export interface Operation {
  readonly id: string;
  readonly origin: 'caller' | 'made';
  /** Digest of the request's route and body. A repeat with another one is IDEMPOTENCY_KEY_REUSED. */
  readonly fingerprint: string;
  /** Whether the id came with the request, so that it may have been executed before. Always true for a caller's id. */
  readonly repeat: boolean;
  /**
   * When a made id was made, in ms since the epoch. An id older than the records that are kept is
   * IDEMPOTENCY_KEY_EXPIRED.
   */
  readonly madeAt?: number;
  /** Milliseconds since the epoch. After it the caller no longer waits. */
  readonly deadline: number;
  /** The caller's: for layers that a filter grows by. */
  readonly quota?: Quota | undefined;
}

/** Number and size of filters and visited sets. */
export interface Usage {
  readonly filters: number;
  /** Bytes of their cells. */
  readonly bytes: number;
}

/**
 * Limits on how many filters and visited sets, and how many bytes, there may be under names that begin with `prefix`,
 * whoever made them. A filter counts from the moment its creation or import begins until it is gone. Clearing it makes
 * no difference. Filters made without a quota count, too, but are not refused.
 */
export interface Quota {
  /** Ends with ".", "_" or "-". */
  readonly prefix: string;
  /** If absent, any number. */
  readonly maxFilters?: number | undefined;
  /** If absent, any number. */
  readonly maxBytes?: number | undefined;
}
