import type { Random } from '../support/random.js';
import type { Death } from './attempt.js';
import type { Answers } from './answers.js';
import type { Instance } from './client.js';

/** A fault in a system, which also undoes itself. */
export interface FaultSource {
  readonly kind: string;
  /** Faults of different groups may happen at the same time. */
  readonly group: 'processes' | 'connections';
  /** Resolves when the fault has ended. If a master's last writes may be lost, resolves to its death. See Fault. */
  strike(random: Random, answers: Answers): Promise<Death | undefined>;
}

/** One service, or several that share a store, and their possible faults. */
export interface System {
  readonly instances: readonly Instance[];
  readonly faults: readonly FaultSource[];
  /** Failures other than wrong answers. */
  readonly failures: readonly string[];
  /** Restarts every service after the last fault, so that nothing is in progress. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** How long a fault waits for an answer to strike after. */
export const NEXT_ANSWER_MS = 1_000;

/** A random time in ms, for pauses. */
export function between(random: Random, least: number, most: number): number {
  return least + random.below(most - least + 1);
}
