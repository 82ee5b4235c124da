import { describe, expect, it } from '@jest/globals';
import { mixFrom, repositoryUrls } from './real-stream.js';
import { duplicateShare, madeUpMix, REAL_DUPLICATES } from './mix.js';
import { urlAt } from './workload.js';

describe('the real stream', () => {
  it('has the URLs of a package list, in its order, with repeats', () => {
    const list = {
      a: 'https://a.example/1',
      b: null,
      'c": "d': 'https://a.example/"2"',
      e: 'https://a.example/1',
    };
    expect(repositoryUrls(JSON.stringify(list, undefined, 2))).toEqual([
      'https://a.example/1',
      'https://a.example/"2"',
      'https://a.example/1',
    ]);
  });

  it('leaves out values with line breaks', () => {
    expect(
      repositoryUrls(JSON.stringify({ a: '', b: 'https://a.example/\nb', c: 'x' }, undefined, 2)),
    ).toEqual(['x']);
  });

  it('is cut to whole batches with its share of duplicates', () => {
    const mix = mixFrom({ source: 'made-up URLs', urls: madeUpMix(100_000, urlAt) }, 20_000);
    expect(mix.stream.length % 1_000).toBe(0);
    expect(mix.stream.length).toBeGreaterThan(15_000);
    expect(Math.abs(duplicateShare(mix) - REAL_DUPLICATES)).toBeLessThan(0.05);
  });
});
