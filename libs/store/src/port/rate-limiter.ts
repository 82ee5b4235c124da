/** Limits the calls of each caller in each second. */
export interface RateLimiter {
  /**
   * Counts a call. Answers 0, or, if it is one too many, the milliseconds until the caller may come again. Also answers
   * 0 while the counts cannot be read: they are where the filters are, so the call itself will report that.
   */
  take(caller: string): Promise<number>;
}
