import type { ProblemError } from '../errors/problem.js';
import { BOUNDED, noCounts, type Bounded, type Bounds, type Counts } from './bounds.js';
import { overloaded, REFUSALS, type Refusal } from './refusal.js';
import { RequestPermit, type Admission, type Ledger } from './request-permit.js';

/**
 * Counts the resources that requests in flight hold, in total and per caller. Refuses a request that would exceed a
 * bound. Requests never wait here.
 *
 * A caller may hold at most as much as is still free (dynamic thresholds, Choudhury and Hahne 1998). A single caller
 * gets half of the bound, two callers get a third each, and an equal share always stays free for a new caller.
 */
export class InFlight implements Ledger {
  private readonly taken = noCounts();
  private readonly refusals = noCounts();
  private readonly callers = new Map<string, Counts>();

  constructor(readonly bounds: Bounds) {}

  /** Returns a permit for a request, or the reason to refuse it. */
  admit(admission: Admission): RequestPermit | Refusal {
    const { kind, bytes, caller } = admission;
    const refusal =
      this.lack(kind, 1, caller) ??
      this.lack('bytes', bytes, caller) ??
      (this.taken.answers > 0 ? this.lackOfReaders(caller) : undefined);
    return refusal ? this.refuse(refusal) : new RequestPermit(this, admission);
  }

  /** Why `more` of a resource is not available, or undefined. Never refuses a request that needs none of it. */
  lack(of: Bounded, more: number, caller: string | undefined): Refusal | undefined {
    if (more === 0) return undefined;
    const free = this.bounds[of] - this.taken[of];
    if (more > free) return REFUSALS[of].all;
    if (caller === undefined) return undefined;
    return this.heldBy(caller, of) + more > free ? REFUSALS[of].caller : undefined;
  }

  /**
   * True if a caller holds more than half of a resource. This can happen with bytes that are already in memory, which
   * can't be refused.
   */
  exceedsHalf(of: Bounded, caller: string | undefined): boolean {
    return caller !== undefined && this.heldBy(caller, of) > this.bounds[of] / 2;
  }

  refuse(refusal: Refusal): Refusal {
    this.refusals[refusal.bound]++;
    return refusal;
  }

  /** Counts a refusal and returns the error for its caller. */
  problem(refusal: Refusal): ProblemError {
    return overloaded(this.refuse(refusal), this.bounds);
  }

  /** Adds `more` to the amount held, without checking the bounds. `more` may be negative. */
  add(of: Bounded, more: number, caller: string | undefined): void {
    this.taken[of] += more;
    if (caller === undefined) return;
    let held = this.callers.get(caller);
    if (!held) this.callers.set(caller, (held = noCounts()));
    held[of] += more;
    if (more < 0 && BOUNDED.every((one) => held[one] === 0)) this.callers.delete(caller);
  }

  count(of: Bounded): number {
    return this.taken[of];
  }

  /** Number of callers that hold anything. */
  get callerCount(): number {
    return this.callers.size;
  }

  /** How often a bound has caused a refusal since the start. */
  refused(by: Bounded): number {
    return this.refusals[by];
  }

  private heldBy(caller: string, of: Bounded): number {
    return this.callers.get(caller)?.[of] ?? 0;
  }

  /** Answers already exist and can't be refused, so their caller's next request is refused instead. */
  private lackOfReaders(caller: string | undefined): Refusal | undefined {
    if (caller !== undefined) {
      return this.exceedsHalf('answers', caller) ? REFUSALS.answers.caller : undefined;
    }
    return this.taken.answers > this.bounds.answers ? REFUSALS.answers.all : undefined;
  }
}
