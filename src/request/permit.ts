import type { ProblemError } from '../errors/problem.js';

/** The resources that one request holds while the service handles it. */
export interface Permit {
  /** The caller to charge, if any. */
  readonly caller: string | undefined;
  /** Charges the request to another caller from now on. Returns OVERLOADED if that caller has no room for it. */
  chargeTo(caller: string | undefined): ProblemError | undefined;
  /** Takes room for a body with a total of `bytes`. Returns OVERLOADED if it isn't available. */
  cover(bytes: number): ProblemError | undefined;
  /** Sets how many bytes of a streamed body are in memory. Returns OVERLOADED if they are too many for one caller. */
  hold(bytes: number): ProblemError | undefined;
  /** Gives the place back while the request only waits for the rest of its body. */
  park(): void;
  /** Takes the place again. Returns OVERLOADED if none is free. */
  unpark(): ProblemError | undefined;
  /** Keeps the place during `work`, even if the client has left. */
  during<T>(work: () => Promise<T>): Promise<T>;
}
