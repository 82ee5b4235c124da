import type { FilterClient, Verb } from './filter-client.js';
import { measured, type Measured, type Workers } from './measured.js';
import { assertSetUp } from './row.js';
import { BATCH } from './workload.js';

/** The four cases of work on a filter. Each prepares the next. */
export const CASES = ['add-new', 'add-present', 'check', 'remove'] as const;
export type Case = (typeof CASES)[number];
export type Rounds = Record<Case, Measured[]>;

export const VERB: Readonly<Record<Case, Verb>> = {
  'add-new': 'add',
  'add-present': 'add',
  check: 'check',
  remove: 'remove',
};

export const noRounds = (): Rounds => ({ 'add-new': [], 'add-present': [], check: [], remove: [] });

/** Runs all bodies through a filter that contains none of their items, case by case, and removes the items again. */
export async function runRound(
  filter: FilterClient,
  bodies: readonly Buffer[],
  workers: Workers,
  rounds: Rounds,
): Promise<void> {
  const items = bodies.length * BATCH;
  for (const name of CASES) {
    let hits = 0;
    rounds[name].push(
      await measured(workers, items, async () => {
        hits = await filter.batches(VERB[name], bodies);
      }),
    );
    const expected = name === 'add-present' ? 0 : items;
    // About one in a hundred new items tests positive by chance in a full filter, which then doesn't store it.
    const chance = name === 'add-new' || name === 'remove' ? 0.02 * items : 0;
    assertSetUp(Math.abs(hits - expected) <= chance, `${name}: ${hits} of ${items}, not ${expected}`);
  }
}
