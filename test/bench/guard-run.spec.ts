import { describe, expect, it } from '@jest/globals';
import type { Ratios } from './guard-limits.js';
import { measureBaseline, runGuard, type GuardGroup } from './guard-run.js';

const BASELINE = { a: 1, b: 1 };

/** A group that gives these measurements one after another. */
function scripted(...measurements: readonly Ratios[]): GuardGroup & { taken: number } {
  return {
    name: 'scripted',
    rows: ['a', 'b'],
    taken: 0,
    async measure() {
      const next = measurements[this.taken++];
      if (next === undefined) throw new Error('measured too often');
      return next;
    },
  };
}

/** Runs the guard. Returns the rows that failed and the guard's output. */
async function run(group: GuardGroup): Promise<{ fallen: string[]; said: string }> {
  const lines: string[] = [];
  const fallen = await runGuard([group], BASELINE, (line) => lines.push(line));
  return { fallen: fallen.map(({ row, measured }) => `${row} ${measured}`), said: lines.join('\n') };
}

describe('a run of the guard', () => {
  it('measures once if all rows keep their limits', async () => {
    const group = scripted({ a: 1.3, b: 0.5 });
    expect((await run(group)).fallen).toEqual([]);
    expect(group.taken).toBe(1);
  });

  it('measures a row that fell up to four times more, and lets it pass once it keeps its limit', async () => {
    const slow = { a: 2, b: 1 };
    const group = scripted(slow, slow, slow, slow, { a: 1, b: 1 });
    const { fallen, said } = await run(group);
    expect(fallen).toEqual([]);
    expect(group.taken).toBe(5);
    expect(said).toContain('measured again: a');
  });

  it('fails what fell five times, as last measured', async () => {
    const group = scripted(...[2, 3, 2, 3, 4].map((a) => ({ a, b: 1 })));
    expect((await run(group)).fallen).toEqual(['a 4']);
    expect(group.taken).toBe(5);
  });

  it('does not fail a row for a later attempt that was another row’s', async () => {
    const group = scripted({ a: 2, b: 1 }, { a: 1, b: 2 });
    expect((await run(group)).fallen).toEqual([]);
    expect(group.taken).toBe(2);
  });

  it('says what it skips, and why', async () => {
    const group = { ...scripted(), unavailable: () => 'no server here' };
    expect(await run(group)).toEqual({ fallen: [], said: 'scripted: skipped: no server here' });
  });
});

describe('a new baseline', () => {
  it('is the median of three measurements, and knows no rows of before', async () => {
    const group = scripted({ a: 3, b: 5 }, { a: 1, b: 4 }, { a: 2, b: 6 });
    expect(await measureBaseline([group], { a: 9, gone: 9 }, () => undefined)).toEqual({ a: 2, b: 5 });
  });

  it('keeps the rows of a group that cannot be measured here', async () => {
    const group = { ...scripted(), unavailable: () => 'no server here' };
    expect(await measureBaseline([group], { a: 9, b: 8, gone: 9 }, () => undefined)).toEqual({ a: 9, b: 8 });
  });
});
