import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import { TurnBudget } from './turn-budget.js';

const BUDGET_MS = 10;

/** A budget with a clock that only work advances. */
function budgetWithClock(): { budget: TurnBudget; work: (ms: number) => void } {
  let now = 0;
  const budget = new TurnBudget(BUDGET_MS, () => now);
  return { budget, work: (ms) => (now += ms) };
}

/** Resolves in an I/O callback, because there the event loop runs its immediates before it polls for more I/O. */
async function afterIo(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const arrived = once(port2, 'message');
  port1.postMessage('');
  await arrived;
  port1.close();
}

/** Asks the budget as workers do. */
async function ask(budget: TurnBudget): Promise<void> {
  if (budget.isSpent()) await budget.next();
}

describe('a turn’s budget', () => {
  it('allows work until it is spent, and again in the next turn', async () => {
    const { budget, work } = budgetWithClock();
    for (let i = 0; i < BUDGET_MS; i++) {
      expect(budget.isSpent()).toBe(false);
      work(1);
    }
    expect(budget.isSpent()).toBe(true);
    await setImmediate();
    expect(budget.isSpent()).toBe(false);
  });

  it('is shared by all workers, and each of them makes progress', async () => {
    const { budget, work } = budgetWithClock();
    const [workers, pieces] = [64, 25];
    const turns = [0];
    const done: number[] = [];
    const worker = async (number: number): Promise<void> => {
      for (let piece = 0; piece < pieces; piece++) {
        if (budget.isSpent()) await budget.next();
        work(1);
        turns[0]!++;
      }
      done.push(number);
    };
    await afterIo();
    const all = Promise.all(Array.from({ length: workers }, (_, number) => worker(number)));
    // Runs after the budget's own immediate in each turn.
    for (let most = 3 * workers * pieces; done.length < workers && most > 0; most--) {
      await setImmediate();
      turns.unshift(0);
    }
    await all;
    expect(Math.max(...turns)).toBe(BUDGET_MS);
    expect(done).toEqual(Array.from({ length: workers }, (_, number) => number));
  });

  it('goes to the work that has waited longest, not to new work', async () => {
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
