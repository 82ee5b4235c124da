/** Bytes of bodies whose requests are begun in one turn of the event loop: about 3,000 URLs, so 2 to 5 ms of work. */
const BYTES_A_TURN = 256 * 1024;
/** What a request costs beside its body, in bytes of body that take as long. */
const BYTES_A_REQUEST = 8 * 1024;

interface Work {
  readonly cost: number;
  /** How many bytes have been begun when it is due. */
  readonly tag: number;
  readonly start: () => void;
}

/** One caller's work, in order. */
interface Line {
  readonly waiting: Work[];
  /** The tag of its next work, if that comes before. */
  end: number;
}

/**
 * Deals work over the turns of the event loop, and among callers. All that can be read in one turn would otherwise be
 * worked on in that turn, and nothing else done in it: no connection accepted (Node accepts one a turn), no request refused.
 *
 * Between callers the bytes are shared by start-time fair queueing (Goyal, Vin and Cheng 1996): work is due when its
 * caller's earlier work is done, counted in bytes, but not before the work that was begun last, and what is due first is
 * next. So a caller that sends little waits for one piece of work of each other one, not for their queues.
 */
export class Turns {
  private readonly lines = new Map<string | undefined, Line>();
  private waiting = 0;
  private left = BYTES_A_TURN;
  private now = 0;

  /** Calls `start` for work of a caller on so many bytes: now or in a later turn. */
  begin(caller: string | undefined, bytes: number, start: () => void): void {
    const cost = BYTES_A_REQUEST + bytes;
    if (this.left === BYTES_A_TURN) setImmediate(() => this.next());
    let line = this.lines.get(caller);
    if (!line) this.lines.set(caller, (line = { waiting: [], end: 0 }));
    const tag = Math.max(this.now, line.end);
    line.end = tag + cost;
    if (this.waiting > 0 || this.left <= 0) {
      line.waiting.push({ cost, tag, start });
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
      this.lines.clear();
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

  /** What is due first, if anything waits; and forgets callers with nothing left that could hold their next work up. */
  private take(): Work | undefined {
    let next: Line | undefined;
    for (const [caller, line] of this.lines) {
      const [first] = line.waiting;
      if (!first && line.end <= this.now) this.lines.delete(caller);
      else if (first && !(next?.waiting[0] && next.waiting[0].tag <= first.tag)) next = line;
    }
    const work = next?.waiting.shift();
    if (work) this.waiting--;
    return work;
  }
}
