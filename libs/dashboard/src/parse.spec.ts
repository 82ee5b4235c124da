import { describe, expect, it } from '@jest/globals';
import { count, share } from './parse.js';

describe('a typed number', () => {
  it.each([
    ['1000000', 1e6],
    ['1,000,000', 1e6],
    ['1 000', 1e3],
    [' 1e6 ', 1e6],
    ['2.5M', 2_500_000],
    ['3 million', 3e6],
    ['10k', 10_000],
    ['1b', 1e9],
    ['0', 0],
    ['', NaN],
    ['1.5', NaN],
    ['-1', NaN],
    ['many', NaN],
    ['1 dozen', NaN],
  ])('%j is the count %d', (text, value) => {
    expect(count(text)).toBe(value);
  });

  it.each([
    ['0.0001', 1e-4],
    ['1e-4', 1e-4],
    ['0.01 %', 1e-4],
    ['5%', 0.05],
    ['1 in 10,000', 1e-4],
    ['1/100', 0.01],
    ['', NaN],
    ['%', NaN],
    ['2 in 100', NaN],
    ['few', NaN],
    ['1 in 0', NaN],
    ['1e999', NaN],
  ])('%j is the share %d', (text, value) => {
    expect(share(text)).toBe(value);
  });
});
