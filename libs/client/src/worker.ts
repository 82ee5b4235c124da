import type { LeasedUrl } from './api-types.js';
import { ackOf } from './again-after.js';
import { backOffMs, pause } from './back-off.js';
import { AnswerError, UnavailableError, UnreachableError } from './errors.js';
import { randomKey } from './random-key.js';
import { Retries } from './retries.js';
import { postponedBy, RetryAfterError } from './retry-after-error.js';
import type { VisitedSet } from './visited-set.js';
import type { Handler, Task, Work, WorkerOptions } from './worker-options.js';

/** A URL that the worker has leased. */
interface Held {
  readonly task: Task;
  readonly lost: AbortController;
  /** The lease can't expire before this time, by `performance.now()`. */
  untilMs: number;
  /** The handler has released or acknowledged it. */
  isSettled: boolean;
}

const POLL_MS = 500;
/**
 * How long a stopped worker tries to get the URLs from its last lease call, in ms, even if the service is unavailable.
 */
const LAST_LEASE_MS = 5_000;
/**
 * How long this last call waits in the service. A proxy may end the aborted call a little later, and until then, that
 * call may still lease URLs.
 */
const LAST_WAIT_SECONDS = 1;

/**
 * Leases URLs from a visited set's queue and calls a handler for each, up to `concurrency` at a time. Extends leases
 * while handlers run, acknowledges handled URLs, and releases URLs whose handlers throw. While the service is
 * unavailable, it waits.
 */
export class Worker {
  private readonly options: Required<Omit<WorkerOptions, 'tries' | 'delaySeconds'>>;
  private readonly retries: Retries;
  private readonly running = new Set<Promise<void>>();
  private readonly work = { done: 0, failed: 0, released: 0, lost: 0 };
  private readonly stopping = new AbortController();
  private freed: (() => void) | undefined;
  private ran: Promise<Work> | undefined;
  private perHost: boolean | undefined;

  constructor(
    private readonly set: VisitedSet,
    private readonly handler: Handler,
    options: WorkerOptions = {},
  ) {
    const { concurrency = 10, leaseSeconds = 60, waitSeconds = 20, untilEmpty = false, tries } = options;
    this.options = {
      concurrency: whole('concurrency', concurrency, 1, 1_000),
      leaseSeconds: whole('leaseSeconds', leaseSeconds, 1, 86_400),
      waitSeconds: whole('waitSeconds', waitSeconds, 0, 30),
      untilEmpty,
      onError: options.onError ?? (() => undefined),
    };
    this.retries = new Retries(
      untilEmpty,
      tries === undefined ? undefined : whole('tries', tries, 1, 1_000_000),
      options.delaySeconds,
    );
  }

  /**
   * Works until it is stopped or, with `untilEmpty`, until the queue is empty. Rejects with a permanent error from the
   * service, such as a NotFoundError, once all running handlers have ended. Later calls return the same promise.
   */
  run(): Promise<Work> {
    this.ran ??= this.loop();
    return this.ran;
  }

  /** Stops leasing URLs. Resolves when running handlers have ended and their URLs are acknowledged or released. */
  async stop(): Promise<void> {
    this.stopping.abort(new DOMException('the worker was stopped', 'AbortError'));
    await this.ran?.catch(() => undefined);
  }

  private isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async loop(): Promise<Work> {
    let failures = 0;
    let isReady = !this.options.untilEmpty;
    try {
      while (!this.isStopped()) {
        const free = this.options.concurrency - this.running.size;
        if (free === 0) {
          await this.untilFreed();
          continue;
        }
        try {
          if (!isReady) await this.learn();
          isReady = true;
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

  /** Reads the set's `maxAttempts`, and whether an earlier run or another worker has delayed URLs. */
  private async learn(): Promise<void> {
    const description = await this.set.describe({ signal: this.stopping.signal });
    if ('maxAttempts' in description) this.retries.maxAttempts = description.maxAttempts ?? Infinity;
    if ('queue' in description && description.queue.delayed > 0) this.retries.awaitUnknown();
  }

  /** Leases up to `max` URLs. Releases URLs that arrive after a stop. */
  private async lease(max: number): Promise<readonly Held[]> {
    const { leaseSeconds, untilEmpty, waitSeconds } = this.options;
    // With `untilEmpty`, a long wait would only delay the end.
    const asked = { max, leaseSeconds, waitSeconds: untilEmpty ? Math.min(1, waitSeconds) : waitSeconds };
    const idempotencyKey = randomKey();
    const untilMs = this.leaseEnd();
    try {
      const leased = await this.set.lease(asked, { idempotencyKey, signal: this.stopping.signal });
      if (!this.isStopped()) return leased.map((url) => held(url, untilMs));
      await this.giveBack(leased);
      return [];
    } catch (error) {
      if (!this.isStopped()) throw error;
      // The aborted call may have leased URLs. If so, a retry with the same key returns them.
      const signal = AbortSignal.timeout(LAST_LEASE_MS);
      const retry = { ...asked, waitSeconds: Math.min(LAST_WAIT_SECONDS, asked.waitSeconds) };
      const late = await this.set.lease(retry, { idempotencyKey, signal }).catch(() => []);
      await this.giveBack(late);
      return [];
    }
  }

  private async giveBack(urls: readonly LeasedUrl[]): Promise<void> {
    if (urls.length === 0) return;
    const ids = urls.map(({ id }) => id);
    try {
      await this.set.release(ids, { reason: 'the worker was stopped', countAttempt: false });
      this.work.released += ids.length;
    } catch (error) {
      this.tell(error);
    }
  }

  private begin(url: Held): void {
    const one = this.perform(url).finally(() => {
      this.running.delete(one);
      this.freed?.();
    });
    this.running.add(one);
  }

  /** Handles one URL. Never rejects. */
  private async perform(url: Held): Promise<void> {
    const { task } = url;
    const extending = this.extend(url);
    let settle: () => Promise<string>;
    let came: 'done' | 'failed' | 'released' = 'done';
    try {
      const result = await this.handler(task);
      const postponed = postponedBy(result);
      const ack = ackOf(result);
      if (postponed) came = 'released';
      settle = () => (postponed ? this.comeBack(task, postponed) : this.set.ack(task.id, ack));
    } catch (error) {
      came = error instanceof RetryAfterError && !error.countAttempt ? 'released' : 'failed';
      if (came === 'failed') this.tell(error, task);
      settle = () => this.comeBack(task, error);
    } finally {
      clearInterval(extending);
    }
    try {
      const word = await settle();
      if (word === 'acked' || word === 'released') this.work[came]++;
      else if (!this.wasSettled(url, word)) this.work.lost++;
      else {
        this.work.released++;
        this.retries.awaitUnknown();
      }
    } catch (error) {
      this.work.lost++;
      this.tell(error, task);
    }
  }

  /** Releases a URL whose handler threw or postponed it. */
  private async comeBack({ id, attempt }: Task, error: unknown): Promise<string> {
    const knowsHosts = error instanceof RetryAfterError && error.host && (await this.knowsHosts());
    const { release, awaitedMs } = this.retries.releaseOf(error, attempt, knowsHosts);
    let isDelayed = true;
    try {
      const word = await this.set.release(id, release);
      isDelayed = word === 'released';
      return word;
    } finally {
      // Even if the answer got lost, the service may have executed the release.
      if (isDelayed && awaitedMs !== undefined) this.retries.awaitFor(awaitedMs);
    }
  }

  /** True if the set was created with `perHost`. */
  private async knowsHosts(): Promise<boolean> {
    this.perHost ??= 'perHost' in (await this.set.describe());
    return this.perHost;
  }

  /** If the lease can't have expired yet, `expired` means that the handler has settled the URL. */
  private wasSettled({ isSettled, lost, untilMs }: Held, word: string): boolean {
    if (lost.signal.aborted) return false;
    return isSettled || (word === 'expired' && performance.now() < untilMs);
  }

  /** Extends a lease repeatedly, early enough for two more attempts before it ends. */
  private extend(url: Held): ReturnType<typeof setInterval> {
    const { leaseSeconds } = this.options;
    const once = async (): Promise<void> => {
      const untilMs = this.leaseEnd();
      const word = await this.set.extend(url.task.id, { leaseSeconds });
      if (word === 'extended') url.untilMs = untilMs;
      else if (this.wasSettled(url, word)) url.isSettled = true;
      else url.lost.abort(new DOMException(`the lease is ${word}`, 'AbortError'));
    };
    return setInterval(
      () => void once().catch((error: unknown) => this.tell(error)),
      (leaseSeconds * 1_000) / 3,
    );
  }

  /** The earliest time at which a lease requested now can end. */
  private leaseEnd(): number {
    return performance.now() + this.options.leaseSeconds * 1_000;
  }

  /** True if no work is left for this worker. Forgotten URLs count as work until the queue reaches them. */
  private async isEmpty(): Promise<boolean> {
    const isOver = this.retries.areOver();
    const description = await this.set.describe({ signal: this.stopping.signal });
    if (!('queue' in description)) return false;
    const { waiting, leased, delayed } = description.queue;
    return waiting + leased === 0 && (isOver || delayed === 0);
  }

  private async untilFreed(ms?: number): Promise<void> {
    const freed = new Promise<void>((resolve) => (this.freed = resolve));
    await (ms === undefined ? freed : Promise.race([freed, this.rest(ms)]));
  }

  /** Pauses, or returns immediately if the worker is stopped. */
  private async rest(ms: number): Promise<void> {
    await pause(ms, this.stopping.signal).catch(() => undefined);
  }

  /** Calls the listener. If the listener throws, the worker continues, so that no URL is lost. */
  private tell(error: unknown, task?: Task): void {
    try {
      this.options.onError(error, task);
    } catch {
      // A failing listener must not stop the worker.
    }
  }
}

function held(url: LeasedUrl, untilMs: number): Held {
  const lost = new AbortController();
  return { task: { ...url, signal: lost.signal }, lost, untilMs, isSettled: false };
}

/** True if a later retry may succeed. */
function mayPass(error: unknown): boolean {
  if (error instanceof AnswerError) return (error.status ?? 0) >= 500;
  return error instanceof UnreachableError || error instanceof UnavailableError;
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${String(value)}`);
}
