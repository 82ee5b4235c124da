import { ValidationError, type Fault } from './errors.js';
import { sendAccepted } from './refused-entries.js';

/** What joins the calls of one verb of one set. */
export interface Joining<Entry, Result> {
  /** Answers a result per entry, in order. */
  readonly send: (entries: readonly Entry[]) => Promise<readonly Result[]>;
  /** How much of a request an entry takes, in characters or so. */
  readonly sizeOf: (entry: Entry) => number;
}

/** Entries of a request. */
export const MOST_ENTRIES = 1_000;
/** A body of so many characters is less than 4 MiB, whatever they are: that is what a service takes by default. */
export const MOST_SIZE = 2 ** 19;
/** Calls wait so long for others while a batch is under way, ms. */
const MOST_WAIT_MS = 5;
/** A million calls made at once are not a thousand requests at once. */
const MOST_UNDER_WAY = 8;

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** Its caller waits no more. */
  gone: boolean;
}

/**
 * Calls of one entry each that are made in the same moment, sent as one. The first goes at the end of the turn of the event
 * loop; while it is under way the next wait for up to 5 ms, or until they are a thousand.
 */
export class JoinedCalls<Entry, Result> {
  private waiting: Waiting<Entry, Result>[] = [];
  private underWay = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly joining: Joining<Entry, Result>) {}

  /** Nobody waits, and nothing is under way. */
  get isIdle(): boolean {
    return this.waiting.length === 0 && this.underWay === 0;
  }

  /** An abort drops this caller, not the batch. */
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
        // What no batch could take waits for this.
        if (this.timer === undefined) this.flush();
      });
    }
  }

  /** Those that have waited longest, as many as a body takes. */
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

  /** Sends a batch. Entries that are refused by name are refused to their callers only; the others go again. */
  private async settle(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    try {
      const { answer = [], places } = await sendAccepted(
        batch.map(({ entry }) => entry),
        this.joining.send,
        (place, fault, error) => batch[place]?.reject(new ValidationError(...ofOne(error, fault))),
      );
      places.forEach((place, i) => batch[place]?.resolve(answer[i] as Result));
    } catch (error) {
      // Nothing happens to a caller whose entry was refused already.
      for (const { reject } of batch) reject(error as Error);
    }
  }
}

/** The refusal of one entry among others, as if it had been alone. */
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
