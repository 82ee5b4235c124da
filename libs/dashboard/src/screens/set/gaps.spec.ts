import { describe, expect, it } from '@jest/globals';
import { withGaps } from './gaps.js';

const at = (minute: number): { at: string } => ({ at: new Date(minute * 60_000).toISOString() });

describe('points with gaps', () => {
  it('have an empty moment between points that are too far apart', () => {
    const moments = withGaps([at(0), at(1), at(3), at(10), at(11)], 60);
    expect(moments.map(({ at: ms, point }) => [ms / 60_000, point !== undefined])).toEqual([
      [0, true],
      [1, true],
      [3, true],
      [6.5, false],
      [10, true],
      [11, true],
    ]);
  });

  it('are empty without points', () => {
    expect(withGaps([], 60)).toEqual([]);
  });
});
