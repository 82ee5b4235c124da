/**
 * The time that work on large bodies may take of each turn of the event loop, all requests together: until a turn ends, a
 * process answers nobody. Code that does such work asks before each piece, and goes on in the same step (an `await` in
 * between would let others pass the same question). Once the budget of a turn is spent it waits in line, and each coming
 * turn belongs to the first in the line. So a turn lasts for the budget and one piece, however many requests there are.
 */
export class TurnBudget {
  private readonly waiting: (() => void)[] = [];
  /** By the clock, when this turn's budget is spent; undefined until someone asks in this turn. */
  private spentAt: number | undefined;

  /** `ms` of each turn, by a clock of milliseconds. */
  constructor(
    private readonly ms: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Whether to wait for the `next` turn before going on. */
  isSpent(): boolean {
    if (this.spentAt !== undefined) return this.clock() >= this.spentAt;
    this.open(() => this.endOfFirst());
    return false;
  }

  /** Resolves in a turn to come, whose budget is the caller's: first come, first served. */
  next(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private open(end: () => void): void {
    this.spentAt = this.clock() + this.ms;
    setImmediate(end);
  }

  /**
   * The first immediate after an I/O callback comes before the loop looks for more I/O. Work that waits is left to the
   * one after it, or it would take a second budget from the same turn.
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
