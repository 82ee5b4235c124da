import { beforeEach, describe, expect, it } from '@jest/globals';
import { MovedClock } from '../../test/support/moved-clock.js';
import { MOST_NEW_AT_ONCE, MOST_NEW_PER_HOUR, NewSeries, PREFIX_SHARE } from './new-series.js';

const HOUR_MS = 3_600_000;

let clock: MovedClock;
let series: NewSeries;
beforeEach(() => {
  clock = new MovedClock();
  series = new NewSeries(clock);
});

/** How many series there are for callers with a prefix. Takes them all. */
function takeAll(prefix: string): number {
  let count = 0;
  while (series.take(prefix)) count++;
  return count;
}

describe('new series', () => {
  it('come back by the hour, up to what may be taken at a time', () => {
    for (const [prefix, share] of [
      ['', 1],
      ['t-', PREFIX_SHARE],
    ] as const) {
      expect(takeAll(prefix)).toBe(MOST_NEW_AT_ONCE * share);
      clock.advance(HOUR_MS);
      expect(takeAll(prefix)).toBe(MOST_NEW_PER_HOUR * share);
      clock.advance(100 * HOUR_MS);
      expect(takeAll(prefix)).toBe(MOST_NEW_AT_ONCE * share);
    }
  });

  it('of all tenants together are limited, so a hundred prefixes get no more than five', () => {
    let count = 0;
    for (let n = 0; n < 100; n++) count += takeAll(`t${n}-`);
    expect(count).toBe(MOST_NEW_AT_ONCE);
  });

  it('take memory for a limited number of prefixes, and forget none whose share is used', () => {
    let most = 0;
    for (let n = 0; n < 50_000; n++) {
      series.take(`t${n}-`);
      clock.advance(1_000);
      most = Math.max(most, series.prefixes);
    }
    expect(most).toBeLessThanOrEqual(MOST_NEW_AT_ONCE + 2 * MOST_NEW_PER_HOUR);
    clock.advance(2 * HOUR_MS);
    takeAll('used-');
    series.take('other-');
    expect(series.prefixes).toBe(2);
    expect(takeAll('used-')).toBe(0);
  });
});
