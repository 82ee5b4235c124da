import type { LeasedUrl } from './api-types.js';
import { backOffMs, pause } from './back-off.js';
import { AnswerError, UnavailableError, UnreachableError } from './errors.js';
import { randomKey } from './random-key.js';
import { reasonOf } from './reason.js';
import { RetryAfterError } from './retry-after-error.js';
import type { ReleaseOptions, VisitedSet } from './visited-set.js';
import type { Handler, Task, Work, WorkerOptions } from './worker-options.js';

/** A leased URL. */
interface Held {
  readonly task: Task;
  readonly lost: AbortController;
  /** The lease has not expired before this time, on the clock of `performance.now()`. */
  untilMs: number;
  /** Whether the handler has released or acknowledged the URL. */
  isSettled: boolean;
}

const POLL_MS = 500;
const MOST_DELAY_SECONDS = 3_600;
const LONGEST_DELAY_SECONDS = 86_400;
/** Least delay of a URL that is given up. Without one the queue would hand it out again before it looks empty. */
const GIVEN_UP_SECONDS = 60;
/** A delay ends by the service's clock, which may be adjusted meanwhile. */
const CLOCK_GRACE_MS = 1_000;
/** How long a worker waits for URLs with delays that it does not know. */
const UNKNOWN_DELAY_MS = 60_000;
const DEFAULT_TRIES = 5;
/** How long a worker that is stopped looks after the answer of its last lease. */
const LAST_LEASE_MS = 1_000;

/**
 * Leases URLs from the queue of a visited set and calls a handler for each, up to `concurrency` at a time. Extends the
 * leases while handlers run, acknowledges URLs that are done, and releases URLs that failed. Waits while the service is
 * unavailable.
 */
export class Worker {
  private readonly options: Required<Omit<WorkerOptions, 'tries'>> & { readonly tries: number | undefined };
  /** What the set allows. */
  private maxAttempts = Infinity;
  private readonly running = new Set<Promise<void>>();
  private readonly begunMs = performance.now();
  /**
   * Until then a worker with `untilEmpty` waits for delayed URLs, on the clock of `performance.now()`. Each worker
   * waits for its own retries only: counts of the queue do not tell the retries of other workers from the URLs that
   * these have given up.
   */
  private awaitsUntilMs = 0;
  private readonly work = { done: 0, failed: 0, released: 0, lost: 0 };
  private readonly stopping = new AbortController();
  private freed: (() => void) | undefined;
  private ran: Promise<Work> | undefined;

  constructor(
    private readonly set: VisitedSet,
    private readonly handler: Handler,
    options: WorkerOptions = {},
  ) {
    const { concurrency = 10, leaseSeconds = 60, waitSeconds = 20, untilEmpty = false, tries } = options;
    const most = untilEmpty ? GIVEN_UP_SECONDS : MOST_DELAY_SECONDS;
    this.options = {
      concurrency: whole('concurrency', concurrency, 1, 1_000),
      leaseSeconds: whole('leaseSeconds', leaseSeconds, 1, 86_400),
      waitSeconds: whole('waitSeconds', waitSeconds, 0, 30),
      untilEmpty,
      tries: tries === undefined ? undefined : whole('tries', tries, 1, 1_000_000),
      delaySeconds: options.delaySeconds ?? ((attempt) => Math.min(most, 2 ** (attempt - 1))),
      onError: options.onError ?? (() => undefined),
    };
  }

  /**
   * Works until `stop` or, with `untilEmpty`, until no work is left. Rejects if the service refuses a call permanently,
   * for example with NotFoundError, once all handlers have ended. A second call returns the same promise.
   */
  run(): Promise<Work> {
    this.ran ??= this.loop();
    return this.ran;
  }

  /** Leases no more URLs. Resolves when all handlers have ended and all URLs are acknowledged or released. */
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

  /** Reads the limit of the set, and whether an earlier run or another worker has delayed URLs. */
  private async learn(): Promise<void> {
    const description = await this.set.describe({ signal: this.stopping.signal });
    if ('maxAttempts' in description) this.maxAttempts = description.maxAttempts ?? Infinity;
    if ('queue' in description && description.queue.delayed > 0) this.awaitFor(UNKNOWN_DELAY_MS);
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
      // URLs may have been leased at this moment. The same call then returns them at once.
      const signal = AbortSignal.timeout(LAST_LEASE_MS);
      const late = await this.set.lease(asked, { idempotencyKey, signal }).catch(() => []);
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

  /** Processes one URL. Never rejects. */
  private async perform(url: Held): Promise<void> {
    const { task } = url;
    const extending = this.extend(url);
    let settle: () => Promise<string>;
    let came: 'done' | 'failed' | 'released' = 'done';
    try {
      await this.handler(task);
      settle = () => this.set.ack(task.id);
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
        this.awaitFor(UNKNOWN_DELAY_MS);
      }
    } catch (error) {
      this.work.lost++;
      this.tell(error, task);
    }
  }

  /** Releases a URL whose handler threw. */
  private async comeBack({ id, attempt }: Task, error: unknown): Promise<string> {
    const asked = error instanceof RetryAfterError ? error : undefined;
    const release: ReleaseOptions = { reason: reasonOf(asked?.message ?? error) };
    const delay = asked
      ? Math.min(LONGEST_DELAY_SECONDS, Math.ceil(asked.delaySeconds))
      : this.delayOf(attempt);
    const countAttempt = asked?.countAttempt ?? true;
    if (countAttempt && this.isGivenUp(attempt)) {
      // The longer the work takes, the longer the delay: otherwise URLs would be back before the others are done,
      // forever.
      const ranSeconds = Math.ceil((performance.now() - this.begunMs) / 1_000);
      const delaySeconds = Math.min(LONGEST_DELAY_SECONDS, Math.max(GIVEN_UP_SECONDS, ranSeconds, delay));
      return this.set.release(id, { ...release, delaySeconds });
    }
    let isDelayed = true;
    try {
      const word = await this.set.release(id, { ...release, delaySeconds: delay, countAttempt });
      isDelayed = word === 'released';
      return word;
    } finally {
      // A release that was not answered may have been executed.
      if (isDelayed) this.awaitFor(delay * 1_000);
    }
  }

  private awaitFor(ms: number): void {
    this.awaitsUntilMs = Math.max(this.awaitsUntilMs, performance.now() + ms + CLOCK_GRACE_MS);
  }

  /**
   * Whether a URL that fails at this attempt stays for another run. At the last attempt of its set it is a dead
   * letter.
   */
  private isGivenUp(attempt: number): boolean {
    const { untilEmpty, tries = this.maxAttempts === Infinity ? DEFAULT_TRIES : Infinity } = this.options;
    return untilEmpty && attempt >= tries && attempt < this.maxAttempts;
  }

  /** An id whose lease has not ended by itself is expired only if the handler has settled it. */
  private wasSettled({ isSettled, lost, untilMs }: Held, word: string): boolean {
    if (lost.signal.aborted) return false;
    return isSettled || (word === 'expired' && performance.now() < untilMs);
  }

  /** Extends a lease at intervals that leave time for two more tries before it ends. */
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

  /** The earliest end of a lease that is requested now. */
  private leaseEnd(): number {
    return performance.now() + this.options.leaseSeconds * 1_000;
  }

  private delayOf(attempt: number): number {
    const seconds = Math.ceil(this.options.delaySeconds(attempt));
    return Number.isNaN(seconds) ? 0 : Math.max(0, Math.min(LONGEST_DELAY_SECONDS, seconds));
  }

  /** Whether nothing is left for this worker. Forgotten URLs count until the queue has passed them. */
  private async isEmpty(): Promise<boolean> {
    const isOver = performance.now() >= this.awaitsUntilMs;
    const description = await this.set.describe({ signal: this.stopping.signal });
    if (!('queue' in description)) return false;
    const { waiting, leased, delayed } = description.queue;
    return waiting + leased === 0 && (isOver || delayed === 0);
  }

  private async untilFreed(ms?: number): Promise<void> {
    const freed = new Promise<void>((resolve) => (this.freed = resolve));
    await (ms === undefined ? freed : Promise.race([freed, this.rest(ms)]));
  }

  /** Ends early if the worker is stopped. */
  private async rest(ms: number): Promise<void> {
    await pause(ms, this.stopping.signal).catch(() => undefined);
  }

  /** An error of the listener must not lose URLs. */
  private tell(error: unknown, task?: Task): void {
    try {
      this.options.onError(error, task);
    } catch {
      // Nothing else can receive the error.
    }
  }
}

function held(url: LeasedUrl, untilMs: number): Held {
  const lost = new AbortController();
  return { task: { ...url, signal: lost.signal }, lost, untilMs, isSettled: false };
}

/** Whether the service may accept the call later. */
function mayPass(error: unknown): boolean {
  if (error instanceof AnswerError) return (error.status ?? 0) >= 500;
  return error instanceof UnreachableError || error instanceof UnavailableError;
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${String(value)}`);
}
