/** Places that are taken and given back, first come, first served. */
class Places {
  private readonly waiting = new Map<() => void, (reason: Error) => void>();

  constructor(private free: number) {}

  get isIdle(): boolean {
    return this.free > 0 && this.waiting.size === 0;
  }

  get queued(): number {
    return this.waiting.size;
  }

  /** Resolves when there is a place. Rejects with the signal's reason if that comes first. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        this.waiting.delete(enter);
        signal.removeEventListener('abort', leave);
      };
      const enter = (): void => {
        end();
        resolve();
      };
      const refuse = (reason: Error): void => {
        end();
        reject(reason);
      };
      const leave = (): void => refuse(signal.reason as Error);
      this.waiting.set(enter, refuse);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  give(): void {
    const [next] = this.waiting.keys();
    if (next === undefined) this.free++;
    else next();
  }

  refuseAll(reason: Error): void {
    for (const refuse of [...this.waiting.values()]) refuse(reason);
  }
}

/** Those who wait for one host. */
interface Line {
  readonly place: Places;
  /** How long the last turn took, with the pause after it. */
  paceMs: number;
  /** Up to when the times to come back are given away. */
  bookedMs: number;
}

/** Ends a turn: the host is left alone for so long. */
export type Leave = (pauseMs: number) => void;

const SECOND_MS = 1_000;
const MOST_BOOKED_SECONDS = 3_600;

/** Who may ask which host when: one request at a time and a pause after it for each host, and so many requests in all. */
export class Turns {
  private readonly lines = new Map<string, Line>();
  private readonly places: Places;
  private stopped: Error | undefined;

  constructor(concurrency: number) {
    this.places = new Places(concurrency);
  }

  /** Resolves when it is this one's turn. Rejects with the reason of the signal, or of `stop`. */
  async enter(host: string, signal: AbortSignal): Promise<Leave> {
    if (this.stopped) throw this.stopped;
    const line = this.lines.get(host) ?? { place: new Places(1), paceMs: SECOND_MS, bookedMs: 0 };
    this.lines.set(host, line);
    await line.place.take(signal);
    try {
      // A slow host holds no place that another could use while it pauses.
      await this.places.take(signal);
    } catch (error) {
      this.next(host, line);
      throw error;
    }
    const begun = performance.now();
    return (pauseMs) => {
      this.places.give();
      line.paceMs = performance.now() - begun + pauseMs;
      setTimeout(() => this.next(host, line), pauseMs).unref();
    };
  }

  /** How many wait for a host. */
  waiting(host: string): number {
    return this.lines.get(host)?.place.queued ?? 0;
  }

  /**
   * In how many seconds one that finds the line of its host too long should come back. Each gets another time, so that not
   * all come back at once.
   */
  book(host: string): number {
    const line = this.lines.get(host);
    if (line === undefined) return 0;
    const now = performance.now();
    line.bookedMs = Math.max(line.bookedMs, now + line.place.queued * line.paceMs) + line.paceMs;
    return Math.min(MOST_BOOKED_SECONDS, Math.ceil((line.bookedMs - now) / SECOND_MS));
  }

  /** Sends all away who wait, and who come later. Turns that have begun go on. */
  stop(reason: Error): void {
    this.stopped = reason;
    this.places.refuseAll(reason);
    for (const { place } of this.lines.values()) place.refuseAll(reason);
  }

  /** A host that nobody asks for is forgotten. */
  private next(host: string, line: Line): void {
    line.place.give();
    if (line.place.isIdle) this.lines.delete(host);
  }
}
