import { describe, expect, it } from '@jest/globals';
import { readCompareOptions } from './compare-options.js';
import { readGuardOptions } from './guard-options.js';

describe('options of --compare', () => {
  it('compare a commit with this build, or two commits', () => {
    expect(readCompareOptions(['--compare', 'HEAD~1'])).toEqual({
      ...{ of: 'commits', before: 'HEAD~1', after: undefined },
      ...{ rows: /^(embedded-batch|redis)$/, rounds: 5, seconds: 1 },
    });
    const args = ['--compare', 'v1', 'v2', '--rows', 'stream', '--rounds', '7', '--seconds', '3'];
    expect(readCompareOptions(args)).toEqual({
      ...{ of: 'commits', before: 'v1', after: 'v2' },
      ...{ rows: /stream/, rounds: 7, seconds: 3 },
    });
  });

  it('compare two files of results', () => {
    expect(readCompareOptions(['--compare', 'a.json', 'b.json'])).toEqual({
      ...{ of: 'files', before: 'a.json', after: 'b.json' },
    });
  });

  it.each([
    [['--compare'], "'--compare <value>' argument missing"],
    [['--compare', 'a', 'b', 'c'], '--compare takes at most two versions; leave out c'],
    [['--compare', 'a.json'], '--compare a.json: takes two commits, or two .json files of results'],
    [['--compare', 'a.json', 'b'], '--compare a.json b: takes two commits, or two .json files of results'],
    [['--compare', 'a', '--rounds', '4'], '--rounds is 4; it must be a whole number from 5 to 50'],
    [['--compare', 'a', '--rounds', '5.5'], '--rounds is 5.5; it must be a whole number from 5 to 50'],
    [['--compare', 'a', '--seconds', '0'], '--seconds is 0; it must be a whole number from 1 to 600'],
    [['--compare', 'a', '--guard'], "Unknown option '--guard'"],
    [
      ['--compare', 'a.json', 'b.json', '--rounds', '5'],
      '--rounds is for commits: files of results have fixed rows and rounds',
    ],
  ])('refuses %j', (args, message) => {
    expect(() => readCompareOptions(args)).toThrow(message);
  });
});

describe('options of --guard', () => {
  it('compare with the baseline, or write it', () => {
    expect(readGuardOptions(['--guard'])).toEqual({ update: false });
    expect(readGuardOptions(['--guard', '--update'])).toEqual({ update: true });
  });

  it.each([
    [['--guard', '--update', 'FILE'], "Unexpected argument 'FILE'"],
    [['--guard', '--quick'], "Unknown option '--quick'"],
  ])('refuses %j', (args, message) => {
    expect(() => readGuardOptions(args)).toThrow(message);
  });
});
