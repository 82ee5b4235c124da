/** How a URL is put off. */
export interface RetryAfterOptions {
  /** False if the URL was not tried at all, such as while its host is busy: then this is no failure (true). */
  readonly countAttempt?: boolean;
}

/** A handler throws it when it knows how long its URL should wait: from `Retry-After`, or from a rate limit. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  readonly countAttempt: boolean;

  constructor(
    message: string,
    /** From 0 to 86,400; rounded up. */
    readonly delaySeconds: number,
    { countAttempt = true }: RetryAfterOptions = {},
  ) {
    super(message);
    if (!(delaySeconds >= 0)) throw new RangeError(`delaySeconds must be 0 or more, not ${delaySeconds}`);
    this.countAttempt = countAttempt;
  }
}
