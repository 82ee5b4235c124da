/** The outcome of counting calls. */
export interface Taken {
  /** How many of the calls, starting with the first, are within the limit. */
  readonly within: number;
  /** Milliseconds until the caller may try again, or 0 if all calls are within the limit. */
  readonly waitMs: number;
}

/** Limits each caller's calls per second. */
export interface RateLimiter {
  /**
   * Counts `calls` calls by a caller. If the counts can't be read, treats all calls as within the limit. The counts are
   * stored with the filters, so the calls themselves report the failure.
   */
  take(caller: string, calls: number): Promise<Taken>;
}
