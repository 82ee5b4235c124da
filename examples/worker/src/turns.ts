interface Waiter {
  readonly enter: () => void;
  readonly refuse: (reason: Error) => void;
}

/** A limited number of places, first come, first served. */
class Places {
  private readonly queue = new Set<Waiter>();

  constructor(private free: number) {}

  /** The waiters in order. */
  get waiting(): readonly Waiter[] {
    return [...this.queue];
  }

  get isIdle(): boolean {
    return this.free > 0 && this.queue.size === 0;
  }

  /** Resolves when a place is free. Rejects with the reason of the signal if it aborts first. */
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

/** The tasks that wait for one host. */
interface Line {
  readonly place: Places;
  /** When the last turn began. */
  begunMs: number;
  /** Average duration of a turn, including the pause after it. */
  paceMs: number;
  /** End of the return times that were already assigned. */
  bookedMs: number;
}

/** Ends a turn. The next turn of the host starts after the pause. */
export type Leave = (pauseMs: number) => void;

const SECOND_MS = 1_000;
const MOST_BOOKED_SECONDS = 3_600;

/** Controls requests: one at a time for each host with a pause after it, and a limited number in total. */
export class Turns {
  private readonly lines = new Map<string, Line>();
  private readonly places: Places;
  private stopped: Error | undefined;

  constructor(concurrency: number) {
    this.places = new Places(concurrency);
  }

  /** Resolves when it is the turn of the caller. Rejects with the reason of the signal, of `putOff`, or of `stop`. */
  async enter(host: string, signal: AbortSignal): Promise<Leave> {
    if (this.stopped) throw this.stopped;
    const line = this.lines.get(host) ?? { place: new Places(1), begunMs: 0, paceMs: 0, bookedMs: 0 };
    this.lines.set(host, line);
    await line.place.take(signal);
    line.begunMs = performance.now();
    try {
      // Taken last, so that tasks of a slow host do not block places that others could use.
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
   * Shortens slow lines to `keep` tasks, from their ends. Gives each removed task its own return time, when the line
   * will have advanced that far, so that they do not all return at once.
   */
  putOff(keep: number, reason: (seconds: number) => Error): void {
    const now = performance.now();
    for (const line of this.lines.values()) {
      const { waiting } = line.place;
      // If a host has not answered yet, its turn has taken at least this long.
      const pace = Math.max(line.paceMs, now - line.begunMs);
      if (waiting.length * pace < SECOND_MS) continue;
      for (const waiter of waiting.slice(keep)) {
        line.bookedMs = Math.max(line.bookedMs, now + keep * pace) + pace;
        waiter.refuse(reason(Math.min(MOST_BOOKED_SECONDS, Math.ceil((line.bookedMs - now) / SECOND_MS))));
      }
    }
  }

  /** Rejects all waiting and future tasks. Turns in progress continue. */
  stop(reason: Error): void {
    this.stopped = reason;
    const places = [this.places, ...[...this.lines.values()].map(({ place }) => place)];
    for (const { refuse } of places.flatMap(({ waiting }) => waiting)) refuse(reason);
  }

  /** Starts the next turn, or removes the line of a host without tasks. */
  private next(host: string, line: Line): void {
    line.place.give();
    if (line.place.isIdle) this.lines.delete(host);
  }
}
