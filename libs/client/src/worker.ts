import type { LeasedUrl } from './api-types.js';
import { backOffMs, pause } from './back-off.js';
import { AnswerError, UnavailableError, UnreachableError } from './errors.js';
import { randomKey } from './random-key.js';
import { reasonOf } from './reason.js';
import type { VisitedSet } from './visited-set.js';

/** What a handler gets with a URL. */
export interface Task extends LeasedUrl {
  /** Aborted when the lease is lost: another worker may have the URL then. */
  readonly signal: AbortSignal;
}

/** Fetches a URL, or does whatever else is to be done. When it throws, the URL comes back later. */
export type Handler = (task: Task) => Promise<unknown>;

/** How a worker works. */
export interface WorkerOptions {
  /** How many URLs are worked on at once (10): 1 to 1,000. */
  readonly concurrency?: number;
  /** How long a lease lasts (60); it is extended while its URL is worked on. It is how long the URLs of a worker that dies are away. */
  readonly leaseSeconds?: number;
  /** How long a request waits for URLs (20): 0 to 30. */
  readonly waitSeconds?: number;
  /** End when nothing waits, is leased by anyone or delayed (false: wait for more, until it is stopped). Dead letters do not count. */
  readonly untilEmpty?: boolean;
  /** How long a URL that failed is away, by the number of its attempts from 1 (1, 2, 4, … s, at most an hour). */
  readonly delaySeconds?: (attempt: number) => number;
  /** Is told of what fails: a handler, with its task, or a call of the service, without. */
  readonly onError?: (error: unknown, task?: Task) => void;
}

/** What a worker has done. */
export interface Work {
  readonly done: number;
  /** Given back, since their handlers threw. */
  readonly failed: number;
  /** Done or failed, but too late: the lease was over. Someone else does them, or has done them. */
  readonly lost: number;
}

const POLL_MS = 500;
const MOST_DELAY_SECONDS = 3_600;
/** How long a worker that is stopped looks after the answer of its last lease. */
const LAST_LEASE_MS = 1_000;

/**
 * Takes URLs out of the queue of a visited set, and hands each to a handler, so many at once: leases them, extends the leases while
 * they last, acknowledges what is done and gives back what fails. While the service is away it waits.
 */
export class Worker {
  private readonly options: Required<WorkerOptions>;
  private readonly running = new Set<Promise<void>>();
  private readonly work = { done: 0, failed: 0, lost: 0 };
  private readonly stopping = new AbortController();
  private freed: (() => void) | undefined;
  private ran: Promise<Work> | undefined;

  constructor(
    private readonly set: VisitedSet,
    private readonly handler: Handler,
    options: WorkerOptions = {},
  ) {
    const { concurrency = 10, leaseSeconds = 60, waitSeconds = 20 } = options;
    this.options = {
      concurrency: whole('concurrency', concurrency, 1, 1_000),
      leaseSeconds: whole('leaseSeconds', leaseSeconds, 1, 86_400),
      waitSeconds: whole('waitSeconds', waitSeconds, 0, 30),
      untilEmpty: options.untilEmpty ?? false,
      delaySeconds: options.delaySeconds ?? ((attempt) => 2 ** (attempt - 1)),
      onError: options.onError ?? (() => undefined),
    };
  }

  /**
   * Works until it is stopped or, with `untilEmpty`, until there is nothing left. Rejects with what the service refuses for good,
   * such as a NotFoundError, once all that had begun is over. Another call answers the same.
   */
  run(): Promise<Work> {
    this.ran ??= this.loop();
    return this.ran;
  }

  /** Takes no more URLs. Resolves when what has begun is over, its URLs acknowledged or given back. */
  async stop(): Promise<void> {
    this.stopping.abort(new DOMException('the worker was stopped', 'AbortError'));
    await this.ran?.catch(() => undefined);
  }

  private isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async loop(): Promise<Work> {
    let failures = 0;
    try {
      while (!this.isStopped()) {
        const free = this.options.concurrency - this.running.size;
        if (free === 0) {
          await this.untilFreed();
          continue;
        }
        try {
          const leased = await this.lease(free);
          failures = 0;
          for (const url of leased) this.begin(url);
          if (leased.length > 0 || !this.options.untilEmpty) continue;
          if (this.running.size > 0) await this.untilFreed(POLL_MS);
          else if (await this.isEmpty()) break;
          else await this.rest(POLL_MS);
        } catch (error) {
          if (this.isStopped()) break;
          if (!mayPass(error)) throw error;
          this.tell(error);
          await this.rest(backOffMs(failures++));
        }
      }
    } finally {
      await Promise.allSettled(this.running);
    }
    return { ...this.work };
  }

  /** Leases up to so many. What comes after a stop is given back. */
  private async lease(max: number): Promise<readonly LeasedUrl[]> {
    const { leaseSeconds, untilEmpty, waitSeconds } = this.options;
    // Who wants to know whether the queue is empty does not wait for what may never come.
    const asked = { max, leaseSeconds, waitSeconds: untilEmpty ? Math.min(1, waitSeconds) : waitSeconds };
    const idempotencyKey = randomKey();
    try {
      const leased = await this.set.lease(asked, { idempotencyKey, signal: this.stopping.signal });
      if (!this.isStopped()) return leased;
      await this.giveBack(leased);
      return [];
    } catch (error) {
      if (!this.isStopped()) throw error;
      // URLs may have been leased in this very moment. Then the same call answers them at once.
      const signal = AbortSignal.timeout(LAST_LEASE_MS);
      const late = await this.set.lease(asked, { idempotencyKey, signal }).catch(() => []);
      await this.giveBack(late);
      return [];
    }
  }

  private async giveBack(urls: readonly LeasedUrl[]): Promise<void> {
    if (urls.length === 0) return;
    const ids = urls.map(({ id }) => id);
    await this.set
      .release(ids, { reason: 'the worker was stopped' })
      .catch((error: unknown) => this.tell(error));
  }

  private begin(url: LeasedUrl): void {
    const one = this.perform(url).finally(() => {
      this.running.delete(one);
      this.freed?.();
    });
    this.running.add(one);
  }

  /** Handles one URL. Never rejects. */
  private async perform(url: LeasedUrl): Promise<void> {
    const lost = new AbortController();
    const task: Task = { ...url, signal: lost.signal };
    const extending = this.extend(url.id, lost);
    let settle: () => Promise<string>;
    let came: 'done' | 'failed' = 'done';
    try {
      await this.handler(task);
      settle = () => this.set.ack(url.id);
    } catch (error) {
      came = 'failed';
      this.tell(error, task);
      settle = () =>
        this.set.release(url.id, { reason: reasonOf(error), delaySeconds: this.delayOf(url.attempt) });
    } finally {
      clearInterval(extending);
    }
    try {
      const settled = await settle();
      this.work[settled === 'acked' || settled === 'released' ? came : 'lost']++;
    } catch (error) {
      this.work.lost++;
      this.tell(error, task);
    }
  }

  /** Extends a lease again and again, in time for two more tries before it ends. */
  private extend(id: string, lost: AbortController): ReturnType<typeof setInterval> {
    const { leaseSeconds } = this.options;
    return setInterval(
      () => {
        this.set.extend(id, { leaseSeconds }).then(
          (word) => {
            if (word !== 'extended') lost.abort(new DOMException(`the lease is ${word}`, 'AbortError'));
          },
          (error: unknown) => this.tell(error),
        );
      },
      (leaseSeconds * 1_000) / 3,
    );
  }

  private delayOf(attempt: number): number {
    const seconds = Math.ceil(this.options.delaySeconds(attempt));
    return Number.isNaN(seconds) ? 0 : Math.max(0, Math.min(MOST_DELAY_SECONDS, seconds));
  }

  /** Nothing that could be handed out now or later. What was forgotten counts until the queue has passed it. */
  private async isEmpty(): Promise<boolean> {
    const description = await this.set.describe({ signal: this.stopping.signal });
    if (!('queue' in description)) return false;
    const { waiting, leased, delayed } = description.queue;
    return waiting + leased + delayed === 0;
  }

  private async untilFreed(ms?: number): Promise<void> {
    const freed = new Promise<void>((resolve) => (this.freed = resolve));
    await (ms === undefined ? freed : Promise.race([freed, this.rest(ms)]));
  }

  /** Shorter if the worker is stopped. */
  private async rest(ms: number): Promise<void> {
    await pause(ms, this.stopping.signal).catch(() => undefined);
  }

  /** A listener that throws must not lose URLs. */
  private tell(error: unknown, task?: Task): void {
    try {
      this.options.onError(error, task);
    } catch {
      // It has no one else to tell.
    }
  }
}

/** Whether the service may do later what it does not do now. */
function mayPass(error: unknown): boolean {
  if (error instanceof AnswerError) return (error.status ?? 0) >= 500;
  return error instanceof UnreachableError || error instanceof UnavailableError;
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${String(value)}`);
}
