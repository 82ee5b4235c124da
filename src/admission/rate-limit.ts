import type { RateLimiter } from '#store';
import { ProblemError } from '../errors/problem.js';

/** The limit on requests a second of one caller. */
export class RateLimit {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly perSecond: number,
  ) {}

  /** Counts a request of `caller`. RATE_LIMITED if it is one too many. */
  async count(caller: string): Promise<void> {
    const waitMs = await this.limiter.take(caller);
    if (waitMs === 0) return;
    throw new ProblemError(
      'RATE_LIMITED',
      `the service takes at most ${this.perSecond} requests per second from one caller (RATE_LIMIT); wait as Retry-After says`,
      { headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) } },
    );
  }
}
