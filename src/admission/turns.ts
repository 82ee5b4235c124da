/** Bytes of bodies that one turn of the event loop begins. This is about 3,000 URLs, or 2 to 5 ms of work. */
const BYTES_A_TURN = 256 * 1024;
/** Cost of a request besides its body, in body bytes that take the same time. */
const BYTES_A_REQUEST = 8 * 1024;

interface Work {
  readonly cost: number;
  /** When the work is due, in virtual time: bytes begun. */
  readonly tag: number;
  readonly start: () => void;
}

/** One caller's work, in order. */
interface Backlog {
  readonly waiting: Work[];
  /** The earliest tag that its next work can have. */
  end: number;
}

/**
 * Spreads work over turns of the event loop, and shares it between callers. Otherwise, one turn would process
 * everything that it can read. Until that turn ended, the service would accept no connection (Node accepts one per
 * turn) and refuse no request.
 *
 * Callers share the bytes by start-time fair queueing (Goyal, Vin and Cheng 1996). Work is due when its caller's
 * earlier work is done, counted in bytes, but no earlier than the work that began last. The work that is due first
 * comes next. So a caller that sends little waits for one piece of work from each other caller, not for their queues.
 */
export class Turns {
  private readonly backlogs = new Map<string | undefined, Backlog>();
  private waiting = 0;
  private left = BYTES_A_TURN;
  private now = 0;

  /** Number of pieces of work that have not begun. */
  get waitingCount(): number {
    return this.waiting;
  }

  /** Calls `start` for a caller's work on a body of `bytes`, now or in a later turn. */
  begin(caller: string | undefined, bytes: number, start: () => void): void {
    const cost = BYTES_A_REQUEST + bytes;
    if (this.left === BYTES_A_TURN) setImmediate(() => this.next());
    let backlog = this.backlogs.get(caller);
    if (!backlog) this.backlogs.set(caller, (backlog = { waiting: [], end: 0 }));
    const tag = Math.max(this.now, backlog.end);
    backlog.end = tag + cost;
    if (this.waiting > 0 || this.left <= 0) {
      backlog.waiting.push({ cost, tag, start });
      this.waiting++;
      return;
    }
    this.left -= cost;
    this.now = tag;
    start();
  }

  private next(): void {
    this.left = BYTES_A_TURN;
    if (this.waiting === 0) {
      this.backlogs.clear();
      return;
    }
    setImmediate(() => this.next());
    while (this.left > 0) {
      const work = this.take();
      if (work === undefined) return;
      this.left -= work.cost;
      this.now = Math.max(this.now, work.tag);
      work.start();
    }
  }

  /** Takes the work that is due first, if any. Forgets callers whose past work can no longer delay their next work. */
  private take(): Work | undefined {
    let next: Backlog | undefined;
    for (const [caller, backlog] of this.backlogs) {
      const [first] = backlog.waiting;
      if (!first && backlog.end <= this.now) this.backlogs.delete(caller);
      else if (first && !(next?.waiting[0] && next.waiting[0].tag <= first.tag)) next = backlog;
    }
    const work = next?.waiting.shift();
    if (work) this.waiting--;
    return work;
  }
}
