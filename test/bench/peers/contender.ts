import type { Workers } from '../measured.js';

/** What one asks of a set of seen URLs. */
export type Verb = 'add' | 'check' | 'remove';

/** Unseen or a peer, asked the same questions about the same URLs. */
export interface Contender {
  /** Stable: part of its rows' names. */
  readonly name: string;
  /** How much of the stream it takes, against the fastest: the slow ones would take minutes over all of it. */
  readonly share: number;
  /** Items a call. */
  readonly batch: number;
  /** Calls at a time. */
  readonly width: number;
  /** Who else works for it but this process. */
  readonly workers: Workers;
  /** Some cannot forget. */
  readonly removes: boolean;
  /** An empty one for `capacity` items at an error rate of ERROR_RATE, instead of any before. */
  reset(capacity: number): Promise<void>;
  /** One call, all of its work in it: hashing, encoding. Resolves to how many were new, present or removed. */
  call(verb: Verb, items: readonly string[]): Promise<number>;
  /** Memory that it takes now. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Of all that have one. */
export const ERROR_RATE = 1e-2;
