import { describe, expect, it } from '@jest/globals';
import type { Row } from '../row.js';
import { mixTargets } from './targets.js';

const SET: Row = { name: 'mix/sadd-sha1-pipelined', cpu: { client: 6, server: 2 } };
const EMBEDDED: Row = { name: 'mix/unseen-embedded-items', cpu: { client: 0.5, service: 1.5 } };
const URLS: Row = { name: 'mix/unseen-embedded-urls', cpu: { client: 0.5, service: 2.25 } };
const REDIS: Row = { name: 'mix/unseen-redis-items', cpu: { client: 1, service: 2, server: 3 } };

/** The measured value of each target, its limit, and whether it is met. */
function targetsOf(row: Row, rows: readonly Row[]): unknown[] {
  return (mixTargets(row, rows).targets ?? []).map(({ measured, limit, met }) => [measured, limit, met]);
}

describe('the targets for the real mix', () => {
  it('compare total CPU with the set’s in the same run', () => {
    expect(targetsOf(EMBEDDED, [SET, EMBEDDED])).toEqual([[0.25, 1, true]]);
    expect(targetsOf(REDIS, [SET, REDIS])).toEqual([
      [0.75, 0.5, false],
      [1.5, 1, false],
    ]);
  });

  it('compare with each peer in the run', () => {
    const cuckoo: Row = { name: 'mix/redisbloom-cuckoo-synced', cpu: { client: 0.5, server: 0.5 } };
    expect(targetsOf(EMBEDDED, [SET, cuckoo, EMBEDDED])).toEqual([
      [0.25, 1, true],
      [2, 1, false],
    ]);
    expect(targetsOf(EMBEDDED, [EMBEDDED])).toEqual([]);
  });

  it('compare URLs with plain items', () => {
    expect(targetsOf(URLS, [EMBEDDED, URLS])).toEqual([[0.75, 0.6, false]]);
  });

  it('apply to the mix only', () => {
    expect(targetsOf({ ...EMBEDDED, name: 'new/unseen-embedded-items' }, [SET, EMBEDDED])).toEqual([]);
    expect(targetsOf(SET, [SET, EMBEDDED])).toEqual([]);
  });
});
