interface Waiter {
  readonly enter: () => void;
  readonly refuse: (reason: Error) => void;
}

/** Places that are taken and given back, first come, first served. */
class Places {
  private readonly queue = new Set<Waiter>();

  constructor(private free: number) {}

  /** Who waits, in order. */
  get waiting(): readonly Waiter[] {
    return [...this.queue];
  }

  get isIdle(): boolean {
    return this.free > 0 && this.queue.size === 0;
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
        this.queue.delete(waiter);
        signal.removeEventListener('abort', leave);
      };
      const waiter: Waiter = {
        enter: () => {
          end();
          resolve();
        },
        refuse: (reason) => {
          end();
          reject(reason);
        },
      };
      const leave = (): void => waiter.refuse(signal.reason as Error);
      this.queue.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  give(): void {
    const [next] = this.queue;
    if (next === undefined) this.free++;
    else next.enter();
  }
}

/** Those who wait for one host. */
interface Line {
  readonly place: Places;
  /** When the last turn began. */
  begunMs: number;
  /** How long turns take, with the pauses after them. */
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

  /** Resolves when it is this one's turn. Rejects with the reason of the signal, of `putOff`, or of `stop`. */
  async enter(host: string, signal: AbortSignal): Promise<Leave> {
    if (this.stopped) throw this.stopped;
    const line = this.lines.get(host) ?? { place: new Places(1), begunMs: 0, paceMs: 0, bookedMs: 0 };
    this.lines.set(host, line);
    await line.place.take(signal);
    line.begunMs = performance.now();
    try {
      // Last, so that who waits for a slow host holds no place that another could use.
      await this.places.take(signal);
    } catch (error) {
      this.next(host, line);
      throw error;
    }
    return (pauseMs) => {
      this.places.give();
      line.paceMs = (line.paceMs + performance.now() - line.begunMs + pauseMs) / 2;
      setTimeout(() => this.next(host, line), pauseMs).unref();
    };
  }

  /**
   * Shortens lines that go slowly to `keep`, from their ends. Each who is sent away is told in how many seconds to come back:
   * when the line will have come so far, so that they do not all come back at once.
   */
  putOff(keep: number, reason: (seconds: number) => Error): void {
    const now = performance.now();
    for (const line of this.lines.values()) {
      const { waiting } = line.place;
      // Of a host that has not answered yet it is known how long it has not.
      const pace = Math.max(line.paceMs, now - line.begunMs);
      if (waiting.length * pace < SECOND_MS) continue;
      for (const waiter of waiting.slice(keep)) {
        line.bookedMs = Math.max(line.bookedMs, now + keep * pace) + pace;
        waiter.refuse(reason(Math.min(MOST_BOOKED_SECONDS, Math.ceil((line.bookedMs - now) / SECOND_MS))));
      }
    }
  }

  /** Sends all away who wait, and who come later. Turns that have begun go on. */
  stop(reason: Error): void {
    this.stopped = reason;
    const places = [this.places, ...[...this.lines.values()].map(({ place }) => place)];
    for (const { refuse } of places.flatMap(({ waiting }) => waiting)) refuse(reason);
  }

  /** A host that nobody asks for is forgotten. */
  private next(host: string, line: Line): void {
    line.place.give();
    if (line.place.isIdle) this.lines.delete(host);
  }
}
