import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import { ProblemError } from '../errors/problem.js';

/** The limit on requests a second of one caller. */
export class RateLimit {
  constructor(private readonly limiter: RateLimiterAbstract) {}

  /**
   * Counts a request of `caller`. RATE_LIMITED if it is one too many. While the counts cannot be had the request is let
   * through: they are where the filters are, and its own call will say so.
   */
  async count(caller: string): Promise<void> {
    try {
      await this.limiter.consume(caller);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) return;
      throw new ProblemError(
        'RATE_LIMITED',
        `no more than ${this.limiter.points} requests a second are taken from one caller (RATE_LIMIT)`,
        { headers: { 'retry-after': String(Math.max(1, Math.ceil(refusal.msBeforeNext / 1_000))) } },
      );
    }
  }
}
