import type { ProblemError } from '../errors/problem.js';

/** A request's part of what the service takes on at a time. */
export interface Permit {
  /** Who it is counted for, if anyone. */
  readonly caller: string | undefined;
  /** Counts it as another caller's from now on. OVERLOADED if that has no room for it. */
  chargeTo(caller: string | undefined): ProblemError | undefined;
  /** Takes room for so many bytes of body in all. OVERLOADED if there is none, for the caller to be told. */
  cover(bytes: number): ProblemError | undefined;
  /** Says how many bytes of a streamed body are in memory. OVERLOADED if they are too many for one caller. */
  hold(bytes: number): ProblemError | undefined;
  /** Gives the place back while there is nothing to be done but to wait for the rest of the body. */
  park(): void;
  /** Takes the place again. OVERLOADED if there is none. */
  unpark(): ProblemError | undefined;
  /** Keeps the place while `work` goes on, also when its client is gone. */
  during<T>(work: () => Promise<T>): Promise<T>;
}
