import type { ProblemError } from '../errors/problem.js';
import type { Permit } from '../request/permit.js';
import type { Bounded, RequestKind } from './bounds.js';
import { REFUSALS, type Refusal } from './refusal.js';

/** The resources that a request needs. */
export interface Admission {
  readonly kind: RequestKind;
  /** The body's announced bytes. They are checked but not reserved, because they may never arrive. */
  readonly bytes: number;
  /** The caller to charge. A request without a caller may use everything that is free. */
  readonly caller: string | undefined;
  /** Notified when the request takes its place and gives it back. */
  readonly connection?: { setBusy(busy: boolean): void };
}

/** Counts the places and bytes that permits hold. */
export interface Ledger {
  /** Why `more` of a resource is not available, or undefined. */
  lack(of: Bounded, more: number, caller: string | undefined): Refusal | undefined;
  /** True if a caller holds more than half of a resource. */
  exceedsHalf(of: Bounded, caller: string | undefined): boolean;
  /** Adds `more` to the amount held, without checking the bounds. `more` may be negative. */
  add(of: Bounded, more: number, caller: string | undefined): void;
  /** Counts a refusal and returns the error for its caller. */
  problem(refusal: Refusal): ProblemError;
}

/**
 * The resources that one request holds while it is in flight. The request has a place only while the service works on
 * it, not while it waits long for its body, or while its answer waits for the client. It keeps the place until all its
 * work has ended, because the store finishes a call even if its client has left. Otherwise, clients that time out and
 * retry would pile up calls.
 */
export class RequestPermit implements Permit {
  /** The caller to charge, if any. */
  caller: string | undefined;
  /** Number of uses: the exchange until its answer is complete, and each piece of work in progress. */
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

  /** Charges the request to another caller from now on. Returns an error if that caller has no room for it. */
  chargeTo(caller: string | undefined): ProblemError | undefined {
    // No uses are left if the client has disconnected during authentication. The request then no longer counts.
    if (caller === this.caller || this.uses === 0) return undefined;
    const { kind } = this.admission;
    this.count(-1);
    const refusal = this.parked ? undefined : this.inFlight.lack(kind, 1, caller);
    if (!refusal) this.caller = caller;
    this.count(1);
    return refusal && this.inFlight.problem(refusal);
  }

  /** Takes the missing bytes for a body with a total of `bytes`. Returns an error if they aren't available. */
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
   * Sets how many bytes of its body the request holds now. They are already in memory, so they always count. Returns an
   * error if they have grown and the caller now holds more than half of all bytes.
   */
  hold(bytes: number): ProblemError | undefined {
    const more = bytes - this.bytes;
    if (this.uses > 0) this.inFlight.add('bytes', more, this.caller);
    this.bytes = bytes;
    if (more <= 0 || !this.inFlight.exceedsHalf('bytes', this.caller)) return undefined;
    return this.inFlight.problem(REFUSALS.bytes.caller);
  }

  /** Gives the place back until `unpark`, while the request only waits for the rest of its body. */
  park(): void {
    if (this.parked) return;
    if (this.uses > 0) this.count(-1, 0);
    this.parked = true;
  }

  /** Takes the place again. Returns an error if none is free. */
  unpark(): ProblemError | undefined {
    if (!this.parked) return undefined;
    const refusal = this.uses > 0 ? this.inFlight.lack(this.admission.kind, 1, this.caller) : undefined;
    if (refusal) return this.inFlight.problem(refusal);
    this.parked = false;
    if (this.uses > 0) this.count(1, 0);
    return undefined;
  }

  /**
   * Keeps the permit during `work`. Takes it again if it was given back, for example if work starts after the client
   * left.
   */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.uses++ === 0) this.count(1);
    try {
      return await work();
    } finally {
      if (--this.uses === 0) this.count(-1);
    }
  }

  /**
   * Ends the request's work: the answer is complete, and `unread` bytes of it wait in memory for the client. Only the
   * first call has an effect.
   */
  answered(unread: number): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    this.unread = unread;
    if (unread > 0) this.inFlight.add('answers', unread, this.caller);
    if (--this.uses === 0) this.count(-1);
  }

  /** Ends the permit. Call this when the client has received the answer, or never will. */
  over(): void {
    this.answered(0);
    if (this.unread > 0) this.inFlight.add('answers', -this.unread, this.caller);
    this.unread = 0;
  }

  /**
   * Adds the request's bytes, and its place unless it is parked, to the resources in use. With sign -1, subtracts them.
   */
  private count(sign: 1 | -1, bytes = this.bytes): void {
    if (!this.parked) {
      this.inFlight.add(this.admission.kind, sign, this.caller);
      this.admission.connection?.setBusy(sign > 0);
    }
    if (bytes > 0) this.inFlight.add('bytes', sign * bytes, this.caller);
  }
}
