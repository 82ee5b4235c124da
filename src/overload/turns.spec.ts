import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.js';

const KIB = 1024;

/** Begins requests with so many bytes of body; a list of those that have been started. */
function begin(turns: Turns, ...bodies: number[]): number[] {
  const started: number[] = [];
  bodies.forEach((bytes, i) => turns.begin(bytes, () => started.push(i)));
  return started;
}

describe('Turns', () => {
  it('begins what little comes at once', () => {
    expect(begin(new Turns(), 100, 100 * KIB, 0)).toEqual([0, 1, 2]);
  });

  it('begins the rest in later turns, in order, at least one a turn', async () => {
    const started = begin(new Turns(), 200 * KIB, 100 * KIB, 9_000 * KIB, 1, 1);
    expect(started).toEqual([0, 1]);
    await setImmediate();
    expect(started).toEqual([0, 1, 2]);
    await setImmediate();
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  it('bounds requests without a body, too', async () => {
    const started = begin(new Turns(), ...new Array<number>(100).fill(0));
    expect(started).toHaveLength(32);
    await setImmediate();
    expect(started).toHaveLength(64);
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    expect(started).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it('lets nobody in before those that wait', async () => {
    const turns = new Turns();
    const order: string[] = [];
    turns.begin(900 * KIB, () => order.push('large'));
    turns.begin(0, () => order.push('first'));
    await setImmediate();
    turns.begin(0, () => order.push('second'));
    expect(order).toEqual(['large', 'first', 'second']);
    await setImmediate();
    turns.begin(0, () => order.push('third'));
    expect(order).toEqual(['large', 'first', 'second', 'third']);
  });
});
