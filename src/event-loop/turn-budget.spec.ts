import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { TurnBudget } from './turn-budget.js';

const BUDGET_MS = 10;

/** A budget by a clock that only work moves on. */
function budgetWithClock(): { budget: TurnBudget; work: (ms: number) => void } {
  let now = 0;
  const budget = new TurnBudget(BUDGET_MS, () => now);
  return { budget, work: (ms) => (now += ms) };
}

/** As workers ask. */
async function ask(budget: TurnBudget): Promise<void> {
  if (budget.isSpent()) await budget.next();
}

describe('the budget of a turn', () => {
  it('lets work go on at once until it is spent, and again in the next turn', async () => {
    const { budget, work } = budgetWithClock();
    for (let i = 0; i < BUDGET_MS; i++) {
      expect(budget.isSpent()).toBe(false);
      work(1);
    }
    expect(budget.isSpent()).toBe(true);
    await setImmediate();
    expect(budget.isSpent()).toBe(false);
  });

  it('is one for all who work, and each of them gets on', async () => {
    const { budget, work } = budgetWithClock();
    const [workers, pieces] = [64, 25];
    let inTurn = 0;
    let mostInTurn = 0;
    let left = workers;
    const done: number[] = [];
    const worker = async (number: number): Promise<void> => {
      for (let piece = 0; piece < pieces; piece++) {
        if (budget.isSpent()) await budget.next();
        work(1);
        mostInTurn = Math.max(mostInTurn, ++inTurn);
      }
      left--;
      done.push(number);
    };
    const all = Promise.all(Array.from({ length: workers }, (_, number) => worker(number)));
    for (let turns = 0; left > 0 && turns < workers * pieces; turns++) {
      await setImmediate();
      inTurn = 0;
    }
    await all;
    // A turn as it is seen here need not begin with one of the budget's.
    expect(mostInTurn).toBeLessThanOrEqual(2 * BUDGET_MS);
    expect(done).toEqual(Array.from({ length: workers }, (_, number) => number));
  });

  it('goes to who has waited longest, not to who came in between', async () => {
    const { budget, work } = budgetWithClock();
    await ask(budget);
    work(BUDGET_MS);
    const order: string[] = [];
    const first = ask(budget).then(() => {
      order.push('first');
      work(BUDGET_MS);
    });
    const second = ask(budget).then(() => order.push('second'));
    await first;
    const late = ask(budget).then(() => order.push('late'));
    await Promise.all([second, late]);
    expect(order).toEqual(['first', 'second', 'late']);
  });
});
