import type { RateLimiter } from '#store';
import { ProblemError } from '../errors/problem.js';

/** Limits each caller's requests per second. */
export class RateLimit {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly perSecond: number,
  ) {}

  /** Counts one of the caller's requests. Throws RATE_LIMITED if the caller exceeds the limit. */
  async count(caller: string): Promise<void> {
    const { refusal } = await this.countAll(caller, 1);
    if (refusal) throw refusal;
  }

  /** Counts several of the caller's requests. The first `within` of them may run. All later calls get `refusal`. */
  async countAll(caller: string, requests: number): Promise<{ within: number; refusal?: ProblemError }> {
    const { within, waitMs } = await this.limiter.take(caller, requests);
    if (waitMs === 0) return { within };
    const refusal = new ProblemError(
      'RATE_LIMITED',
      `a caller may make at most ${this.perSecond} requests per second (RATE_LIMIT); wait for the time in Retry-After`,
      { headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) } },
    );
    return { within, refusal };
  }
}
