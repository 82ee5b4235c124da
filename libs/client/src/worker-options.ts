import type { LeasedUrl } from './api-types.js';

/** What a handler gets with a URL. */
export interface Task extends LeasedUrl {
  /** Aborted when the lease is lost: another worker may have the URL then. */
  readonly signal: AbortSignal;
}

/**
 * Does the work of a URL, such as fetching it. When it throws, the URL comes back after `delaySeconds`, or after the
 * time that a RetryAfterError names.
 */
export type Handler = (task: Task) => Promise<unknown>;

/** How a worker works. */
export interface WorkerOptions {
  /** How many URLs are worked on at once (10): 1 to 1,000. */
  readonly concurrency?: number;
  /**
   * How long a lease lasts (60); it is extended while its URL is worked on. The URLs of a worker that dies come back
   * then.
   */
  readonly leaseSeconds?: number;
  /** How long a request waits for URLs (20): 0 to 30. */
  readonly waitSeconds?: number;
  /**
   * End when no URL waits or is leased, and this worker has no retry left (false: wait for more, until it is
   * stopped). It waits at most a minute for URLs that were delayed before it began. Dead letters do not count.
   */
  readonly untilEmpty?: boolean;
  /**
   * With `untilEmpty`: a URL that fails at this attempt or a later one stays in the queue for another run (the
   * `maxAttempts` of the set, or 5 if it has none).
   */
  readonly tries?: number;
  /**
   * Delay before a URL that failed is retried, by the number of its attempts from 1 (1, 2, 4, … s, at most an hour;
   * with `untilEmpty` at most a minute).
   */
  readonly delaySeconds?: (attempt: number) => number;
  /** Called when a handler fails, with its task, or when a call of the service fails, without. */
  readonly onError?: (error: unknown, task?: Task) => void;
}

/** What a worker has done. */
export interface Work {
  readonly done: number;
  /** Given back, since their handlers threw. */
  readonly failed: number;
  /**
   * Given back without a failed attempt: put off or released by their handlers, or leased when the worker was
   * stopped.
   */
  readonly released: number;
  /** Done or failed, but too late: the lease was over. Someone else does them, or has done them. */
  readonly lost: number;
}
