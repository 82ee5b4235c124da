import type { Random } from '../support/random.js';
import type { Answers } from './answers.js';
import type { Instance } from './client.js';

/** Something that can be done to a system, and undone. */
export interface FaultSource {
  readonly kind: string;
  /** Faults of different groups may fall together. */
  readonly group: 'processes' | 'connections';
  /** Resolves when it is over; to the time when a master died, if its last writes may be lost: see Fault. */
  strike(random: Random, answers: Answers): Promise<number | undefined>;
}

/** A service, or several that share a store, and what can happen to them. */
export interface System {
  readonly instances: readonly Instance[];
  readonly faults: readonly FaultSource[];
  /** What has gone wrong beside the answers. */
  readonly failures: readonly string[];
  /** Starts every service anew after the last fault, so that nothing is under way any more. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** How long a fault that is to come right after an answer waits for one. */
export const NEXT_ANSWER_MS = 1_000;

/** A time in ms, for pauses. */
export function between(random: Random, least: number, most: number): number {
  return least + random.below(most - least + 1);
}
