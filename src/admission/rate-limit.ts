import type { RateLimiter } from '#store';
import { ProblemError } from '../errors/problem.js';

/** Limits the requests per second of each caller. */
export class RateLimit {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly perSecond: number,
  ) {}

  /** Counts a request of `caller`. Throws RATE_LIMITED if the caller exceeds the limit. */
  async count(caller: string): Promise<void> {
    const waitMs = await this.limiter.take(caller);
    if (waitMs === 0) return;
    throw new ProblemError(
      'RATE_LIMITED',
      `one caller may make requests at a rate of at most ${this.perSecond} per second (RATE_LIMIT); wait as Retry-After says`,
      { headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) } },
    );
  }
}
