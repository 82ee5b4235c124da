import type { Workers } from '../measured.js';

/** The operations on a set of seen URLs. */
export type Verb = 'add' | 'check' | 'remove';

/** Unseen or a peer. All get the same calls with the same URLs. */
export interface Contender {
  /** Stable, because it is part of row names. */
  readonly name: string;
  /**
   * What share of the stream it processes, relative to the fastest contender. Slow contenders would take minutes for
   * all of it.
   */
  readonly share: number;
  /** Items per call. */
  readonly batch: number;
  /** Calls in flight. */
  readonly width: number;
  /** The other processes that work for it. */
  readonly workers: Workers;
  /** True if it can remove items. Some contenders can't. */
  readonly removes: boolean;
  /** Replaces its set with an empty one for `capacity` items at ERROR_RATE. */
  reset(capacity: number): Promise<void>;
  /**
   * One call including all of its work, such as hashing and encoding. Resolves with the number of new, present or
   * removed items.
   */
  call(verb: Verb, items: readonly string[]): Promise<number>;
  /** The memory that it takes now, in bytes. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** The error rate of all contenders that have one. */
export const ERROR_RATE = 1e-2;
