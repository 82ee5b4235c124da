/** The outcome of counting calls. */
export interface Taken {
  /** Number of the calls that are within the limit: the first ones. */
  readonly within: number;
  /** Milliseconds until the caller may try again; 0 if all calls are within the limit. */
  readonly waitMs: number;
}

/** Limits each caller's calls per second. */
export interface RateLimiter {
  /**
   * Counts `calls` calls of a caller. All of them are within the limit while the counts cannot be read: they are stored
   * with the filters, so the calls themselves report the failure.
   */
  take(caller: string, calls: number): Promise<Taken>;
}
