import { describe, expect, it } from '@jest/globals';
import { comparisonTable, compareReports, compareRuns } from './comparison.js';
import type { Row } from './row.js';

/** Five runs whose service CPU is around `micros`. */
const runs = (micros: number): Row[][] =>
  [0, 1, 2, 3, 4].map((i) => [
    { name: 'add', itemsPerSecond: 1e6 / (micros + i), cpu: { client: 1, service: micros + i } },
  ]);

describe('comparison of two versions', () => {
  it('has a verdict for each figure: less CPU and more items per second are better', () => {
    expect(compareRuns(runs(20), runs(10))).toMatchObject([
      { row: 'add', figure: 'service µs', ratio: 12 / 22, verdict: 'faster' },
      { row: 'add', figure: 'items/s', ratio: 22 / 12, verdict: 'faster' },
    ]);
    expect(compareRuns(runs(10), runs(20)).map(({ verdict }) => verdict)).toEqual(['slower', 'slower']);
    expect(compareRuns(runs(10), runs(11)).map(({ verdict }) => verdict)).toEqual(
      Array(2).fill('same within noise'),
    );
  });

  it('compares Redis’ CPU, and its ratio to the reference', () => {
    const run = [{ name: 'add', cpu: { server: 4 }, ratio: { value: 2, against: 'reference/sadd' } }];
    expect(compareRuns([run], [run])).toMatchObject([
      { figure: 'Redis µs', before: [4], ratio: 1, verdict: 'too few rounds' },
      { figure: 'Redis µs relative to reference', before: [2], ratio: 1 },
    ]);
  });

  it('leaves out rows and figures that only one version has', () => {
    const before: Row[] = [
      { name: 'a', itemsPerSecond: 1 },
      { name: 'gone', itemsPerSecond: 1 },
    ];
    const after: Row[] = [
      { name: 'a', cpu: { service: 1 } },
      { name: 'new', itemsPerSecond: 1 },
    ];
    expect(compareRuns([before], [after])).toEqual([]);
  });

  it('compares each row’s rounds in two results, or its single figure', () => {
    const rounds = (micros: number) => [0, 1, 2, 3, 4].map((i) => ({ cpu: { service: micros + i } }));
    const before: Row[] = [{ name: 'a', cpu: { service: 12 }, rounds: rounds(10) }];
    const after: Row[] = [{ name: 'a', cpu: { service: 22 }, rounds: rounds(20) }];
    expect(compareReports(before, after)).toMatchObject([
      { before: [10, 11, 12, 13, 14], after: [20, 21, 22, 23, 24], verdict: 'slower' },
    ]);
    expect(
      compareReports([{ name: 'a', itemsPerSecond: 4 }], [{ name: 'a', itemsPerSecond: 2 }]),
    ).toMatchObject([{ before: [4], after: [2], ratio: 0.5, verdict: 'too few rounds' }]);
  });

  it('is a table of medians, ranges, ratios and verdicts', () => {
    const cells = comparisonTable(compareRuns(runs(20), runs(10)))
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells[2]).toEqual([
      '',
      'add',
      'service µs',
      '22 (20 – 24)',
      '12 (10 – 14)',
      '0.545',
      'faster',
      '',
    ]);
  });
});
