import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Portions } from './portions.js';
import { DEFAULT_SIZES } from '../database/sizes.js';

interface Asked {
  /** Numbers of the changes that may be handed over, in the order in which they were admitted. */
  readonly entered: number[];
  /** By number: tells `Portions` that the change has run. */
  readonly leave: (() => void)[];
}

/** Asks to hand over changes of these sizes, in items. */
function ask(portions: Portions, ...sizes: number[]): Asked {
  const asked: Asked = { entered: [], leave: [] };
  sizes.forEach((items, i) => {
    void portions.enter(items).then((leave) => {
      asked.entered.push(i);
      asked.leave[i] = leave;
    });
  });
  return asked;
}

describe('Portions', () => {
  it('hands over a portion and, when all of it has run, the next one, in order', async () => {
    const { entered, leave } = ask(new Portions(DEFAULT_SIZES.itemsPerTurn), 8_000, 8_000, 1, 10_000, 5);
    await setImmediate();
    expect(entered).toEqual([0, 1]);
    leave[0]?.();
    await setImmediate();
    expect(entered).toEqual([0, 1]);
    leave[1]?.();
    await setImmediate();
    expect(entered).toEqual([0, 1, 2, 3]);
    leave[2]?.();
    leave[3]?.();
    await setImmediate();
    expect(entered).toEqual([0, 1, 2, 3, 4]);
  });

  it('hands over nothing in the turn in which a portion runs', async () => {
    const portions = new Portions(DEFAULT_SIZES.itemsPerTurn);
    const first = ask(portions, 9_000, 1);
    await Promise.resolve();
    first.leave[0]?.();
    const second = ask(portions, 1);
    for (let i = 0; i < 10; i++) await Promise.resolve();
    expect([first.entered, second.entered]).toEqual([[0], []]);
    await setImmediate();
    expect([first.entered, second.entered]).toEqual([[0, 1], [0]]);
  });

  it('has room again when all changes have left, each counted once', async () => {
    const portions = new Portions(DEFAULT_SIZES.itemsPerTurn);
    for (let round = 0; round < 3; round++) {
      const { entered, leave } = ask(portions, 9_000, 9_000);
      await setImmediate();
      expect(entered).toEqual([0]);
      for (let again = 0; again < 2; again++) leave[0]?.();
      await setImmediate();
      expect(entered).toEqual([0, 1]);
      leave[1]?.();
      await setImmediate();
    }
  });
});
