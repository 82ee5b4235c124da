/** Options of a RetryAfterError. */
export interface RetryAfterOptions {
  /**
   * With `false`, the attempt does not count as failed: the URL was not tried, for example because its host is busy.
   * Default: true.
   */
  readonly countAttempt?: boolean;
}

/** Thrown by a handler that knows how long its URL must wait, for example from `Retry-After` or a rate limit. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  readonly countAttempt: boolean;

  constructor(
    message: string,
    /** 0 to 86,400; rounded up. */
    readonly delaySeconds: number,
    { countAttempt = true }: RetryAfterOptions = {},
  ) {
    super(message);
    if (!(delaySeconds >= 0)) throw new RangeError(`delaySeconds must be 0 or more, not ${delaySeconds}`);
    this.countAttempt = countAttempt;
  }
}
