import { reasonOf } from './reason.js';
import { RetryAfterError } from './retry-after-error.js';
import type { ReleaseOptions } from './visited-set.js';
import type { WorkerOptions } from './worker-options.js';

const MOST_DELAY_SECONDS = 3_600;
const LONGEST_DELAY_SECONDS = 86_400;
/**
 * Minimum delay for a URL that the worker gives up on. With a shorter one, the URL would return before the queue looks
 * empty.
 */
const GIVEN_UP_SECONDS = 60;
/** Delays follow the service's clock, which may be adjusted during a delay. */
const CLOCK_GRACE_MS = 1_000;
/** How long a worker waits for URLs whose delays it does not know. */
const UNKNOWN_DELAY_MS = 60_000;
const DEFAULT_TRIES = 5;

/** Decides when failed URLs are retried, and how long a worker with `untilEmpty` waits for them. */
export class Retries {
  /** The set's `maxAttempts`. */
  maxAttempts = Infinity;
  private readonly begunMs = performance.now();
  /**
   * Until when a worker with `untilEmpty` waits for delayed URLs, by `performance.now()`. Each worker waits only for
   * its own retries, because the queue's counts don't distinguish other workers' retries from URLs that they have given
   * up on.
   */
  private awaitsUntilMs = 0;
  private readonly delaySeconds: (attempt: number) => number;

  constructor(
    private readonly untilEmpty: boolean,
    private readonly tries: number | undefined,
    delaySeconds: WorkerOptions['delaySeconds'],
  ) {
    const most = untilEmpty ? GIVEN_UP_SECONDS : MOST_DELAY_SECONDS;
    this.delaySeconds = delaySeconds ?? ((attempt) => Math.min(most, 2 ** (attempt - 1)));
  }

  /**
   * Returns how to release a URL whose handler threw at this attempt. `awaitedMs`: how long the worker waits for it, or
   * undefined if the URL stays for another run. `knowsHosts`: the set was created with `perHost`.
   */
  releaseOf(
    error: unknown,
    attempt: number,
    knowsHosts: boolean,
  ): { release: ReleaseOptions; awaitedMs?: number } {
    const asked = error instanceof RetryAfterError ? error : undefined;
    const reason = reasonOf(asked?.message ?? error);
    const delay = asked
      ? Math.min(LONGEST_DELAY_SECONDS, Math.ceil(asked.delaySeconds))
      : this.delayOf(attempt);
    const countAttempt = asked?.countAttempt ?? true;
    const hostDelay = knowsHosts && asked?.host === true;
    if (countAttempt && this.isGivenUp(attempt)) {
      // The delay grows with the running time. Otherwise, URLs that were given up would keep returning before the
      // others are done.
      const ranSeconds = Math.ceil((performance.now() - this.begunMs) / 1_000);
      const delaySeconds = Math.min(LONGEST_DELAY_SECONDS, Math.max(GIVEN_UP_SECONDS, ranSeconds, delay));
      return { release: { reason, delaySeconds, ...(hostDelay && { hostDelaySeconds: delay }) } };
    }
    // The URL waits together with its host.
    if (hostDelay) return { release: { reason, hostDelaySeconds: delay, countAttempt } };
    return { release: { reason, delaySeconds: delay, countAttempt }, awaitedMs: delay * 1_000 };
  }

  /** Makes the worker wait for a URL that returns after this time. */
  awaitFor(ms: number): void {
    this.awaitsUntilMs = Math.max(this.awaitsUntilMs, performance.now() + ms + CLOCK_GRACE_MS);
  }

  /** Makes the worker wait for URLs whose delays it does not know. */
  awaitUnknown(): void {
    this.awaitFor(UNKNOWN_DELAY_MS);
  }

  /** True if all URLs that the worker waits for have returned. */
  areOver(): boolean {
    return performance.now() >= this.awaitsUntilMs;
  }

  /**
   * True if a URL that fails at this attempt stays for another run. After the last attempt that its set allows, it
   * becomes a dead letter.
   */
  private isGivenUp(attempt: number): boolean {
    const { untilEmpty, tries = this.maxAttempts === Infinity ? DEFAULT_TRIES : Infinity } = this;
    return untilEmpty && attempt >= tries && attempt < this.maxAttempts;
  }

  private delayOf(attempt: number): number {
    const seconds = Math.ceil(this.delaySeconds(attempt));
    return Number.isNaN(seconds) ? 0 : Math.max(0, Math.min(LONGEST_DELAY_SECONDS, seconds));
  }
}
