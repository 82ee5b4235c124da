import type { Random } from '../support/random.js';

/** How a client handles an operation. */
export interface Plan {
  /** Sent under a key of the client's own; otherwise under the id that the service makes. */
  readonly keyed: boolean;
  /** Sent to two instances at once. Only with a key. */
  readonly twin: boolean;
  /** How often it is sent again while its outcome is unknown. */
  readonly retries: number;
  /** Whether it is sent once more after it has been answered: at once, or later when others have changed its items. */
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
