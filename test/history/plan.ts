import type { Random } from '../support/random.js';

/** How a client handles an operation. */
export interface Plan {
  /** Whether it is sent with the client's own key. Otherwise the service makes its id. */
  readonly keyed: boolean;
  /** Whether it is sent to two instances at the same time. Only with a key. */
  readonly twin: boolean;
  /** The number of retries while its outcome is unknown. */
  readonly retries: number;
  /**
   * Whether it is sent once more after it got its answer. This happens immediately, or later, after others have changed
   * its items.
   */
  readonly repeat: 'never' | 'at once' | 'later';
}

export interface Planned<Op> {
  readonly operation: Op;
  readonly plan: Plan;
}

export function planFor(random: Random, mutates: boolean): Plan {
  const chance = (percent: number) => random.below(100) < percent;
  const [keyed, twin] = [chance(75), chance(15)];
  const retries = chance(80) ? 4 : 0;
  const repeat = random.pick(['never', 'never', 'never', 'at once', 'later'] as const);
  if (!mutates) return { keyed: false, twin: false, retries: 0, repeat: 'never' };
  return { keyed, twin: keyed && twin, retries, repeat };
}
