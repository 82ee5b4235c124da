import { ValidationError, type Fault } from './errors.js';
import { sendAccepted } from './refused-entries.js';

/** How to join calls to one verb on one set. */
export interface Joining<Entry, Result> {
  /** Returns one result per entry, in order. */
  readonly send: (entries: readonly Entry[]) => Promise<readonly Result[]>;
  /** Approximate size of an entry in a request, in characters. */
  readonly sizeOf: (entry: Entry) => number;
}

/** Maximum number of entries in a request. */
export const MOST_ENTRIES = 1_000;
/** A body with this many characters is always less than 4 MiB, the service's default limit. */
export const MOST_SIZE = 2 ** 19;
/** How long calls wait for others while a batch is in progress, in ms. */
const MOST_WAIT_MS = 5;
/** Limits the requests in flight if a program makes a million calls at once. */
const MOST_UNDER_WAY = 8;

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** The caller has stopped waiting. */
  gone: boolean;
}

/**
 * Sends concurrent calls with one entry each as one request. The first request starts at the end of the turn of the
 * event loop. While it is in progress, the next calls wait for up to 5 ms, or until a thousand of them are waiting.
 */
export class JoinedCalls<Entry, Result> {
  private waiting: Waiting<Entry, Result>[] = [];
  private underWay = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly joining: Joining<Entry, Result>) {}

  /** True if no call is waiting or in progress. */
  get isIdle(): boolean {
    return this.waiting.length === 0 && this.underWay === 0;
  }

  /** Sends an entry with those of other calls. An abort ends this caller's wait, not the batch. */
  call(entry: Entry, signal?: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const leave = (): void => {
        one.gone = true;
        reject(signal?.reason as Error);
      };
      const stay = (): void => signal?.removeEventListener('abort', leave);
      const one: Waiting<Entry, Result> = {
        entry,
        gone: false,
        resolve: (result) => {
          stay();
          resolve(result);
        },
        reject: (error) => {
          stay();
          reject(error);
        },
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.waiting.push(one);
      if (this.waiting.length >= MOST_ENTRIES) this.flush();
      else this.timer ??= setTimeout(() => this.flush(), this.underWay > 0 ? MOST_WAIT_MS : 0);
    });
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    while (this.underWay < MOST_UNDER_WAY) {
      const batch = this.take();
      if (batch.length === 0) return;
      this.underWay++;
      void this.settle(batch).finally(() => {
        this.underWay--;
        // Sends the calls that waited for a request to end.
        if (this.timer === undefined) this.flush();
      });
    }
  }

  /** Takes the calls that have waited longest, up to the size of a body. */
  private take(): readonly Waiting<Entry, Result>[] {
    const batch: Waiting<Entry, Result>[] = [];
    let size = 0;
    let at = 0;
    for (; at < this.waiting.length && batch.length < MOST_ENTRIES; at++) {
      const one = this.waiting[at] as Waiting<Entry, Result>;
      if (one.gone) continue;
      size += this.joining.sizeOf(one.entry);
      if (size > MOST_SIZE && batch.length > 0) break;
      batch.push(one);
    }
    this.waiting.splice(0, at);
    return batch;
  }

  /**
   * Sends a batch. If the service refuses single entries, only their callers get the error, and all other entries are
   * resent.
   */
  private async settle(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    try {
      const { answer = [], places } = await sendAccepted(
        batch.map(({ entry }) => entry),
        this.joining.send,
        (place, fault, error) => batch[place]?.reject(new ValidationError(...ofOne(error, fault))),
      );
      places.forEach((place, i) => batch[place]?.resolve(answer[i] as Result));
    } catch (error) {
      // Callers whose entries were refused already have their own errors, so this doesn't affect them.
      for (const { reject } of batch) reject(error as Error);
    }
  }
}

/** One entry's refusal, worded as if the entry had been sent alone. */
function ofOne(
  { refusal, message }: ValidationError,
  { pointer, detail }: Fault,
): ConstructorParameters<typeof ValidationError> {
  const alone = {
    pointer: pointer.replace(/\/\d+$/, '/0'),
    detail: detail.replace(/\[\d+\]/, '[0]'),
  };
  const call = /\(([^()]*)\)$/.exec(message)?.[1] ?? '';
  return [{ ...refusal, detail: alone.detail, errors: [alone] }, call];
}
