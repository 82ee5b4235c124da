import type { Random } from '../support/random.js';
import type { Answers } from './answers.js';
import type { Instance } from './client.js';

/** Something that can be done to a system, and undone. */
export interface FaultSource {
  readonly kind: string;
  /** Faults of different groups may happen at the same time. */
  readonly group: 'processes' | 'connections';
  /**
   * Resolves when the fault is over. If the last writes of a master may be lost, it answers when the master died: see
   * Fault.
   */
  strike(random: Random, answers: Answers): Promise<number | undefined>;
}

/** One service, or several that share a store, and the faults that they can have. */
export interface System {
  readonly instances: readonly Instance[];
  readonly faults: readonly FaultSource[];
  /** What has gone wrong beside the answers. */
  readonly failures: readonly string[];
  /** Restarts every service after the last fault, so that nothing is under way any more. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** How long a fault waits for an answer that it is to follow. */
export const NEXT_ANSWER_MS = 1_000;

/** A random time in ms, for pauses. */
export function between(random: Random, least: number, most: number): number {
  return least + random.below(most - least + 1);
}
