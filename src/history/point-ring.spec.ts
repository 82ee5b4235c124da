import { describe, expect, it } from '@jest/globals';
import { PointRing, type Point } from './point-ring.js';

const point = (at: number): Point => ({
  ...{ at, items: 2 ** 40 + at, fill: 1 / 3, estimatedErrorRate: 1e-9 },
  ...{
    added: at,
    duplicate: 1,
    removed: 2,
    refused: 3,
    waiting: 4,
    leased: 5,
    delayed: 6,
    scheduled: 7,
    dead: 8,
  },
});

describe('a ring of points', () => {
  it('returns its points, oldest first, and keeps the last ones if they are too many', () => {
    const ring = new PointRing(3);
    expect(ring.from(0)).toEqual([]);
    for (let n = 1; n <= 8; n++) {
      ring.push(point(n));
      const kept = [n - 2, n - 1, n].filter((at) => at > 0);
      expect(ring.from(0)).toEqual(kept.map(point));
    }
  });

  it('leaves out points older than the requested time', () => {
    const ring = new PointRing(5);
    for (const at of [10, 20, 30]) ring.push(point(at));
    expect(ring.from(20).map(({ at }) => at)).toEqual([20, 30]);
    expect(ring.from(31)).toEqual([]);
  });
});
