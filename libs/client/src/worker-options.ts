import type { LeasedUrl } from './api-types.js';

/** A handler's argument. */
export interface Task extends LeasedUrl {
  /** Aborted when the lease is lost, because another worker may then have the URL. */
  readonly signal: AbortSignal;
}

/**
 * Processes a URL, for example fetches it. If it throws, the URL is retried after `delaySeconds`, or after the time in
 * a RetryAfterError. If it returns a RetryAfter, the URL is postponed, which doesn't count as an attempt. If it returns
 * an AgainAfter, the URL is acknowledged and comes back after that time.
 */
export type Handler = (task: Task) => Promise<unknown>;

/** Worker options. */
export interface WorkerOptions {
  /** How many handlers run at the same time, 1 to 1,000. Default: 10. */
  readonly concurrency?: number;
  /**
   * How long a lease lasts, in seconds. Default: 60. The worker extends it while the handler runs. If the worker is
   * killed, its URLs return to the queue after this time.
   */
  readonly leaseSeconds?: number;
  /** How long a `lease` waits for URLs, 0 to 30. Default: 20. */
  readonly waitSeconds?: number;
  /**
   * With `true`, the worker ends when no URL is waiting or leased and it has no retries left. It waits at most one
   * minute for URLs that were delayed before it started. Dead letters and scheduled URLs don't count. Default: false,
   * which waits for URLs until `stop`.
   */
  readonly untilEmpty?: boolean;
  /**
   * With `untilEmpty`: a URL that fails at this attempt or a later one stays in the queue for another run. Default: the
   * set's `maxAttempts`, or 5.
   */
  readonly tries?: number;
  /**
   * Returns the delay before a failed URL is retried. `attempt` starts at 1. Default: 1, 2, 4, … s, at most an hour, or
   * with `untilEmpty` at most a minute.
   */
  readonly delaySeconds?: (attempt: number) => number;
  /** Called with the task when a handler fails, and without a task when a call to the service fails. */
  readonly onError?: (error: unknown, task?: Task) => void;
}

/** A worker's counts. */
export interface Work {
  readonly done: number;
  /** Number of URLs whose handlers threw. */
  readonly failed: number;
  /**
   * Number of URLs released without a failed attempt: postponed or released by their handlers, or leased when the
   * worker was stopped.
   */
  readonly released: number;
  /** Number of URLs processed too late: their lease had ended, so another worker may have processed them too. */
  readonly lost: number;
}
