import { describe, expect, it } from '@jest/globals';
import { freshWindows, windowAt, windowSeconds } from './record-window.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const fresh = freshWindows(DAY).caller;

describe('record windows', () => {
  it('last for their length, and are then kept for as long again', () => {
    expect(windowAt(fresh, 'caller', DAY + 23 * HOUR, 1000)).toBe(fresh);
    const second = windowAt(fresh, 'caller', DAY + 25 * HOUR, 1000);
    expect(second).toEqual({ number: 2, startedAt: DAY + 25 * HOUR, previousStartedAt: DAY, bytes: 0 });
    expect(windowSeconds(second, 'caller', DAY + 25 * HOUR)).toBe(86_400);
  });

  it('are both over after twice their length', () => {
    const later = windowAt(fresh, 'made', DAY + 10 * HOUR, 1000);
    expect(later).toEqual({
      number: 3,
      startedAt: DAY + 10 * HOUR,
      previousStartedAt: DAY + 10 * HOUR - 60_000,
      bytes: 0,
    });
    expect(windowSeconds(later, 'made', DAY + 10 * HOUR)).toBe(60);
  });

  it('report their full length until one is dropped', () => {
    expect(windowSeconds(fresh, 'caller', DAY)).toBe(86_400);
  });

  it('shrink at the limit on bytes, and report it', () => {
    const second = windowAt({ ...fresh, bytes: 500 }, 'caller', DAY + HOUR, 1000);
    expect(second.number).toBe(2);
    // The first window is dropped only when the third one starts.
    expect(windowSeconds(second, 'caller', DAY + HOUR)).toBe(86_400);
    const third = windowAt({ ...second, bytes: 500 }, 'caller', DAY + 2 * HOUR, 1000);
    expect(windowSeconds(third, 'caller', DAY + 2 * HOUR)).toBe(3600);
  });

  it('don’t change if the clock is set back', () => {
    const second = windowAt(fresh, 'caller', DAY + 25 * HOUR, 1000);
    expect(windowAt(second, 'caller', DAY + 24 * HOUR, 1000)).toBe(second);
  });
});
