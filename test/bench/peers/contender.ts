import type { Workers } from '../measured.js';

/** The operations on a set of seen URLs. */
export type Verb = 'add' | 'check' | 'remove';

/** Unseen or a peer. All get the same questions about the same URLs. */
export interface Contender {
  /** Stable, because it is part of its rows' names. */
  readonly name: string;
  /**
   * The share of the stream that it processes, against the fastest. The slow ones would take minutes over all of it.
   */
  readonly share: number;
  /** Items per call. */
  readonly batch: number;
  /** Calls in flight. */
  readonly width: number;
  /** The processes that work for it besides this one. */
  readonly workers: Workers;
  /** Whether it can remove. Some contenders cannot. */
  readonly removes: boolean;
  /** Replaces its set by an empty one for `capacity` items at an error rate of ERROR_RATE. */
  reset(capacity: number): Promise<void>;
  /**
   * One call with all of its work, such as hashing and encoding. Resolves to how many items were new, present or
   * removed.
   */
  call(verb: Verb, items: readonly string[]): Promise<number>;
  /** The memory that it takes now. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** The error rate of all contenders that have one. */
export const ERROR_RATE = 1e-2;
