import { describe, expect, it } from '@jest/globals';
import { duplicateShare, madeUpMix, mixOf, REAL_DUPLICATES, sampleOf } from './mix.js';
import { urlAt } from './workload.js';

describe('the mix of new and seen URLs', () => {
  it('repeats as many made-up URLs as the real list, the same ones in every run', () => {
    const stream = madeUpMix(50_000, urlAt);
    expect(stream).toHaveLength(50_000);
    expect(duplicateShare(mixOf(stream))).toBeCloseTo(REAL_DUPLICATES, 2);
    expect(madeUpMix(50_000, urlAt)).toEqual(stream);
  });

  it('keeps distinct URLs in order of first arrival', () => {
    expect(mixOf(['b', 'a', 'b', 'c', 'a']).distinct).toEqual(['b', 'a', 'c']);
    expect(duplicateShare(mixOf(['b', 'a', 'b', 'c', 'a']))).toBeCloseTo(0.4, 10);
    expect(duplicateShare(mixOf([]))).toBe(0);
  });

  it('samples whole URLs with all their repeats, in order', () => {
    const urls = madeUpMix(40_000, urlAt);
    const sample = sampleOf(urls, 4_000);
    expect(sample.length).toBeGreaterThan(3_000);
    expect(sample.length).toBeLessThan(5_000);
    const taken = new Set(sample);
    expect(urls.filter((url) => taken.has(url))).toEqual(sample);
  });

  it('takes all URLs if more are requested than exist', () => {
    expect(sampleOf(['a', 'b', 'a'], 10)).toEqual(['a', 'b', 'a']);
  });
});
