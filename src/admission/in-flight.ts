import type { ProblemError } from '../errors/problem.js';
import { BOUNDED, noCounts, type Bounded, type Bounds, type Counts } from './bounds.js';
import { overloaded, REFUSALS, type Refusal } from './refusal.js';
import { RequestPermit, type Admission, type Ledger } from './request-permit.js';

/**
 * What is in flight, how much may be, and how much each caller has. Nothing waits here: a request without room is refused.
 *
 * A caller may take what leaves at least as much free as it then holds (dynamic thresholds, Choudhury and Hahne 1998):
 * one that is alone gets half of all, two get a third each, and there is always as much for the next one.
 */
export class InFlight implements Ledger {
  private readonly taken = noCounts();
  private readonly refusals = noCounts();
  private readonly callers = new Map<string, Counts>();

  constructor(readonly bounds: Bounds) {}

  /** A permit for a request, or why there is none. */
  admit(admission: Admission): RequestPermit | Refusal {
    const { kind, bytes, caller } = admission;
    const refusal =
      this.lack(kind, 1, caller) ??
      this.lack('bytes', bytes, caller) ??
      (this.taken.answers > 0 ? this.lackOfReaders(caller) : undefined);
    return refusal ? this.refuse(refusal) : new RequestPermit(this, admission);
  }

  /** Why there is no room for so many more of something. A request that takes none of it is not refused for it. */
  lack(of: Bounded, more: number, caller: string | undefined): Refusal | undefined {
    if (more === 0) return undefined;
    const free = this.bounds[of] - this.taken[of];
    if (more > free) return REFUSALS[of].all;
    if (caller === undefined) return undefined;
    return this.heldBy(caller, of) + more > free ? REFUSALS[of].caller : undefined;
  }

  /** Whether a caller holds more than half of something. It may come to that with what exists and cannot be refused. */
  exceedsHalf(of: Bounded, caller: string | undefined): boolean {
    return caller !== undefined && this.heldBy(caller, of) > this.bounds[of] / 2;
  }

  /** Counts a refusal. */
  refuse(refusal: Refusal): Refusal {
    this.refusals[refusal.bound]++;
    return refusal;
  }

  /** Counts a refusal; what its caller is told. */
  problem(refusal: Refusal): ProblemError {
    return overloaded(this.refuse(refusal), this.bounds);
  }

  /** Counts so many more as held, or fewer if negative, room or not. */
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

  /** Callers that hold anything. */
  get callerCount(): number {
    return this.callers.size;
  }

  /** How often each bound has refused, since the start. */
  refused(by: Bounded): number {
    return this.refusals[by];
  }

  private heldBy(caller: string, of: Bounded): number {
    return this.callers.get(caller)?.[of] ?? 0;
  }

  /** Answers are there already, so that it is the caller's next request that is refused. */
  private lackOfReaders(caller: string | undefined): Refusal | undefined {
    if (caller !== undefined) {
      return this.exceedsHalf('answers', caller) ? REFUSALS.answers.caller : undefined;
    }
    return this.taken.answers > this.bounds.answers ? REFUSALS.answers.all : undefined;
  }
}
