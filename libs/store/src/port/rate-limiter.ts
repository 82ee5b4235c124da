/** Limits each caller's calls per second. */
export interface RateLimiter {
  /**
   * Counts a call. Returns 0, or the milliseconds until the caller may try again if the call exceeds the limit. Also
   * returns 0 while the counts cannot be read: they are stored with the filters, so the call itself reports the
   * failure.
   */
  take(caller: string): Promise<number>;
}
