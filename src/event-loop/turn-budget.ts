/**
 * Limits the time that work on large bodies takes in each turn of the event loop, across all requests. Until a turn
 * ends, the process answers no request.
 *
 * Such work asks the budget before each piece. It must not `await` between asking and the piece, because other work
 * could then get the same permission. Once a turn's budget is spent, work waits in a queue, and each following turn
 * belongs to the first in the queue. So a turn takes at most the budget plus one piece, for any number of requests.
 */
export class TurnBudget {
  private readonly waiting: (() => void)[] = [];
  /** When this turn's budget is spent, by the clock. Undefined before the first call in a turn. */
  private spentAt: number | undefined;

  /** `ms` is each turn's budget, by a clock in milliseconds. */
  constructor(
    private readonly ms: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** True if the caller must wait for the `next` turn before it continues. */
  isSpent(): boolean {
    if (this.spentAt !== undefined) return this.clock() >= this.spentAt;
    this.open(() => this.endOfFirst());
    return false;
  }

  /** Resolves in a later turn, whose budget belongs to this caller. First come, first served. */
  next(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private open(end: () => void): void {
    this.spentAt = this.clock() + this.ms;
    setImmediate(end);
  }

  /**
   * The first immediate after an I/O callback runs before the loop polls for more I/O. Waiting work starts in the
   * immediate after that one. If it started earlier, it would get a second budget in the same turn.
   */
  private endOfFirst(): void {
    if (this.waiting.length === 0) this.spentAt = undefined;
    else setImmediate(() => this.end());
  }

  private end(): void {
    this.spentAt = undefined;
    const resume = this.waiting.shift();
    if (resume === undefined) return;
    this.open(() => this.end());
    resume();
  }
}
