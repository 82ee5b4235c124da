/** A handler returns this if it didn't process its URL, for example because the host answered 429 or 503. */
export interface RetryAfter {
  /** 0 to 86,400, rounded up. */
  readonly retryAfterSeconds: number;
  /** See RetryAfterOptions. */
  readonly host?: boolean;
}

/** Options for a RetryAfterError. */
export interface RetryAfterOptions {
  /**
   * With `false`, the attempt doesn't count as failed, because the URL was not tried, for example if its host is busy.
   * Default: true.
   */
  readonly countAttempt?: boolean;
  /**
   * With `true`, no worker gets a URL from the same host until then, if the set was created with `perHost`. In other
   * sets, only this URL waits. Default: false.
   */
  readonly host?: boolean;
}

/** A handler throws this if it knows how long its URL must wait, for example from `Retry-After` or a rate limit. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  readonly countAttempt: boolean;
  readonly host: boolean;

  constructor(
    message: string,
    /** 0 to 86,400, rounded up. */
    readonly delaySeconds: number,
    { countAttempt = true, host = false }: RetryAfterOptions = {},
  ) {
    super(message);
    if (!(delaySeconds >= 0)) throw new RangeError(`delaySeconds must be 0 or more, not ${delaySeconds}`);
    this.countAttempt = countAttempt;
    this.host = host;
  }
}

/** The error that postpones a URL as its handler's result requires, or undefined if the URL was processed. */
export function postponedBy(result: unknown): RetryAfterError | undefined {
  if (typeof result !== 'object' || result === null || !('retryAfterSeconds' in result)) return undefined;
  const { retryAfterSeconds, host = false } = result as RetryAfter;
  if (!(retryAfterSeconds >= 0))
    throw new RangeError(`retryAfterSeconds must be 0 or more, not ${retryAfterSeconds}`);
  return new RetryAfterError('postponed', retryAfterSeconds, { countAttempt: false, host });
}
