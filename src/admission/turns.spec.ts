import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.js';

const KIB = 1024;

/** Begins requests with bodies of these sizes. When a request starts, the returned array gets its index. */
function begin(turns: Turns, ...bodies: number[]): number[] {
  const started: number[] = [];
  bodies.forEach((bytes, i) => turns.begin(undefined, bytes, () => started.push(i)));
  return started;
}

describe('Turns', () => {
  it('begins a few small requests at once', () => {
    expect(begin(new Turns(), 100, 100 * KIB, 0)).toEqual([0, 1, 2]);
  });

  it('begins the rest in later turns, in order, at least one per turn', async () => {
    const started = begin(new Turns(), 200 * KIB, 100 * KIB, 9_000 * KIB, 1, 1);
    expect(started).toEqual([0, 1]);
    await setImmediate();
    expect(started).toEqual([0, 1, 2]);
    await setImmediate();
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  it('also limits requests without a body', async () => {
    const started = begin(new Turns(), ...new Array<number>(100).fill(0));
    expect(started).toHaveLength(32);
    await setImmediate();
    expect(started).toHaveLength(64);
    for (let turn = 0; turn < 2; turn++) await setImmediate();
    expect(started).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it('starts no request before those that wait', async () => {
    const turns = new Turns();
    const order: string[] = [];
    turns.begin('a', 900 * KIB, () => order.push('large'));
    turns.begin('a', 0, () => order.push('first'));
    await setImmediate();
    turns.begin('a', 0, () => order.push('second'));
    expect(order).toEqual(['large', 'first', 'second']);
    await setImmediate();
    turns.begin('a', 0, () => order.push('third'));
    expect(order).toEqual(['large', 'first', 'second', 'third']);
  });

  it('shares bytes of work between callers, so a caller that sends little waits for one piece of another’s work', async () => {
    const turns = new Turns();
    const order: string[] = [];
    for (let i = 0; i < 20; i++) turns.begin('greedy', 900 * KIB, () => order.push('greedy'));
    for (let i = 0; i < 4; i++) turns.begin('modest', KIB, () => order.push('modest'));
    turns.begin('other', KIB, () => order.push('other'));
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    expect(order.slice(0, 6).sort()).toEqual(['greedy', 'modest', 'modest', 'modest', 'modest', 'other']);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(order).toHaveLength(25);
  });

  it('gives callers with equal demand equal bytes, for any number of requests', async () => {
    const turns = new Turns();
    const done = { large: 0, small: 0 };
    for (let i = 0; i < 20; i++) turns.begin('large', 248 * KIB, () => (done.large += 256));
    for (let i = 0; i < 640; i++) turns.begin('small', 0, () => (done.small += 8));
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    expect(Math.abs(done.large - done.small)).toBeLessThanOrEqual(2 * 256);
  });
});
