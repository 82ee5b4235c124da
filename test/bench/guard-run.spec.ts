import { describe, expect, it } from '@jest/globals';
import { least, type Costs, type Ratios } from './guard-limits.js';
import { measureBaseline, runGuard, type GuardGroup } from './guard-run.js';

const BASELINE = { a: 1, b: 1 };

/** Costs with these ratios. */
function costing(ratios: Ratios): Costs {
  return Object.fromEntries(
    Object.entries(ratios).map(([row, ratio]) => [row, { row: ratio, yardstick: 1 }]),
  );
}

/** A group that returns these measurements one after another. */
function scripted(...measurements: readonly Costs[]): GuardGroup & { taken: number } {
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

/** Runs the guard while others use these shares of the CPU, in turn. Returns the failed rows and the guard's output. */
async function run(group: GuardGroup, ...busy: number[]): Promise<{ fallen: string[]; said: string }> {
  const lines: string[] = [];
  const others = () => Promise.resolve(busy.shift() ?? 0);
  const fallen = await runGuard([group], BASELINE, (line) => lines.push(line), others);
  return { fallen: fallen.map(({ row, measured }) => `${row} ${measured}`), said: lines.join('\n') };
}

describe('a run of the guard', () => {
  it('measures once if all rows keep their limits', async () => {
    const group = scripted(costing({ a: 1.3, b: 0.5 }));
    expect((await run(group)).fallen).toEqual([]);
    expect(group.taken).toBe(1);
  });

  it('measures a row beyond its limit up to four times more, and passes it once it keeps the limit', async () => {
    const slow = costing({ a: 2, b: 1 });
    const group = scripted(slow, slow, slow, slow, costing({ a: 1, b: 1 }));
    const { fallen, said } = await run(group);
    expect(fallen).toEqual([]);
    expect(group.taken).toBe(5);
    expect(said).toContain('measured again: a');
  });

  it('fails a row if the minimum costs from five measurements exceed the limit', async () => {
    const group = scripted(...[4, 3, 2, 3, 4].map((a) => costing({ a, b: 1 })));
    expect((await run(group)).fallen).toEqual(['a 2']);
    expect(group.taken).toBe(5);
  });

  it('compares a row’s minimum cost with its yardstick’s, from any measurement', async () => {
    const b = { row: 1, yardstick: 1 };
    const group = scripted({ a: { row: 6, yardstick: 4 }, b }, { a: { row: 5, yardstick: 9 }, b });
    expect((await run(group)).fallen).toEqual([]);
    expect(least({ a: { row: 6, yardstick: 4 } }, { a: { row: 5, yardstick: 9 } })).toEqual({
      a: { row: 5, yardstick: 4 },
    });
    expect(group.taken).toBe(2);
  });

  it('does not let a slow yardstick hide a slow row', async () => {
    const b = { row: 1, yardstick: 1 };
    const slow = { a: { row: 2, yardstick: 1 }, b };
    const group = scripted(slow, slow, slow, slow, { a: { row: 2, yardstick: 4 }, b });
    expect((await run(group)).fallen).toEqual(['a 2']);
  });

  it('does not fail a row because of a later attempt for another row', async () => {
    const group = scripted(costing({ a: 2, b: 1 }), costing({ a: 1, b: 2 }));
    expect((await run(group)).fallen).toEqual([]);
    expect(group.taken).toBe(2);
  });

  it('does not judge a row if others were busy before or after each measurement, and says so', async () => {
    const slow = costing({ a: 2, b: 1 });
    const group = scripted(slow, slow, slow, slow, slow);
    const { fallen, said } = await run(group, 0.9, 0, 0, 0.9, 0.9, 0.9, 0.4, 0.1, 0.1, 0.5);
    expect(fallen).toEqual([]);
    expect(said).toContain('not judged, because other processes used 40 % of the CPU: a');
    expect(group.taken).toBe(5);
  });

  it('fails a row if one of the measurements was made on a quiet machine', async () => {
    const slow = costing({ a: 2, b: 1 });
    const busy = [0.9, 0.9, 0.9, 0.9, 0.1, 0.15, 0.9, 0.9, 0.9, 0.9];
    expect((await run(scripted(slow, slow, slow, slow, slow), ...busy)).fallen).toEqual(['a 2']);
  });

  it('names skipped groups, with the reasons', async () => {
    const group = { ...scripted(), unavailable: () => 'no server here' };
    expect(await run(group)).toEqual({ fallen: [], said: 'scripted: skipped: no server here' });
  });
});

describe('a new baseline', () => {
  it('has the minimum costs from five measurements, and no earlier rows', async () => {
    const group = scripted(...[3, 1, 2, 5, 4].map((a) => costing({ a, b: a + 1 })));
    expect(await measureBaseline([group], { a: 9, gone: 9 }, () => undefined)).toEqual({ a: 1, b: 2 });
  });

  it('keeps the rows of a group that cannot be measured here', async () => {
    const group = { ...scripted(), unavailable: () => 'no server here' };
    expect(await measureBaseline([group], { a: 9, b: 8, gone: 9 }, () => undefined)).toEqual({ a: 9, b: 8 });
  });
});
