import type { ProblemError } from '../errors/problem.js';
import type { Permit } from '../request/permit.js';
import type { Bounded, RequestKind } from './bounds.js';
import { REFUSALS, type Refusal } from './refusal.js';

/** What a request asks for. */
export interface Admission {
  readonly kind: RequestKind;
  /** Of its body, as announced. They are not taken: what is announced may never come. */
  readonly bytes: number;
  /** The caller that the request counts for. A request without one may have all that is free. */
  readonly caller: string | undefined;
  /** Told when the request gets its place, and when it gives it back. */
  readonly connection?: { setBusy(busy: boolean): void };
}

/** Where a permit counts what it holds. */
export interface Ledger {
  /** Why there is no room for so many more of something, if there is none. */
  lack(of: Bounded, more: number, caller: string | undefined): Refusal | undefined;
  /** Whether a caller holds more than half of something. */
  exceedsHalf(of: Bounded, caller: string | undefined): boolean;
  /** Counts so many more as held, or fewer if negative, room or not. */
  add(of: Bounded, more: number, caller: string | undefined): void;
  /** Counts a refusal, and returns the error for its caller. */
  problem(refusal: Refusal): ProblemError;
}

/**
 * One request's part of what is in flight. It has its place while something is done for it: not while its body is waited
 * for at length, nor while its answer waits to be read. The store goes on with a call whose client is gone, and clients
 * that give up and come again must not pile up calls, so the place is kept until all work for it has ended.
 */
export class RequestPermit implements Permit {
  /** Who is counted for it, if anyone. */
  caller: string | undefined;
  /** Its exchange, until that has its answer, and the work that goes on for it. */
  private uses = 1;
  private parked = false;
  private bytes = 0;
  private isAnswered = false;
  private unread = 0;

  constructor(
    private readonly inFlight: Ledger,
    private readonly admission: Omit<Admission, 'bytes'>,
  ) {
    this.caller = admission.caller;
    this.count(1);
  }

  /** Counts the request as another caller's from now on, or says why that has no room for it. */
  chargeTo(caller: string | undefined): ProblemError | undefined {
    // Without a use its client left while it was found out who that was: nothing is counted for it any more.
    if (caller === this.caller || this.uses === 0) return undefined;
    const { kind } = this.admission;
    this.count(-1);
    const refusal = this.parked ? undefined : this.inFlight.lack(kind, 1, caller);
    if (!refusal) this.caller = caller;
    this.count(1);
    return refusal && this.inFlight.problem(refusal);
  }

  /** Takes what it lacks for so many bytes of body in all, or says why there is no room. */
  cover(bytes: number): ProblemError | undefined {
    const more = bytes - this.bytes;
    if (more <= 0) return undefined;
    const refusal = this.uses > 0 ? this.inFlight.lack('bytes', more, this.caller) : undefined;
    if (refusal) return this.inFlight.problem(refusal);
    if (this.uses > 0) this.inFlight.add('bytes', more, this.caller);
    this.bytes = bytes;
    return undefined;
  }

  /**
   * Says how many bytes of body it holds now. They are there already, so they are not refused;
   * the answer is an error if the caller then holds more than half of all.
   */
  hold(bytes: number): ProblemError | undefined {
    const more = bytes - this.bytes;
    if (this.uses > 0) this.inFlight.add('bytes', more, this.caller);
    this.bytes = bytes;
    if (more <= 0 || !this.inFlight.exceedsHalf('bytes', this.caller)) return undefined;
    return this.inFlight.problem(REFUSALS.bytes.caller);
  }

  /** Gives its place back until `unpark`: there is nothing to be done but to wait for the rest of the body. */
  park(): void {
    if (this.parked) return;
    if (this.uses > 0) this.count(-1, 0);
    this.parked = true;
  }

  /** Takes the place again, or says why there is none. */
  unpark(): ProblemError | undefined {
    if (!this.parked) return undefined;
    const refusal = this.uses > 0 ? this.inFlight.lack(this.admission.kind, 1, this.caller) : undefined;
    if (refusal) return this.inFlight.problem(refusal);
    this.parked = false;
    if (this.uses > 0) this.count(1, 0);
    return undefined;
  }

  /** Keeps the permit while `work` goes on; takes it again if it was given back, as when that outlives its sender. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.uses++ === 0) this.count(1);
    try {
      return await work();
    } finally {
      if (--this.uses === 0) this.count(-1);
    }
  }

  /** Once: its answer is made, and so many bytes of that wait in memory for the client to take them. */
  answered(unread: number): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    this.unread = unread;
    if (unread > 0) this.inFlight.add('answers', unread, this.caller);
    if (--this.uses === 0) this.count(-1);
  }

  /** The answer is taken, or will never be. */
  over(): void {
    this.answered(0);
    if (this.unread > 0) this.inFlight.add('answers', -this.unread, this.caller);
    this.unread = 0;
  }

  /** Counts its place, unless it is parked, and bytes that it holds: once more, or once less. */
  private count(sign: 1 | -1, bytes = this.bytes): void {
    if (!this.parked) {
      this.inFlight.add(this.admission.kind, sign, this.caller);
      this.admission.connection?.setBusy(sign > 0);
    }
    if (bytes > 0) this.inFlight.add('bytes', sign * bytes, this.caller);
  }
}
