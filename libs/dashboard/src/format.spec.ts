import { describe, expect, it } from '@jest/globals';
import { bytes, duration, oneIn, perSecond, plural, share, short } from './format.js';

describe('formats for people', () => {
  it.each([
    [bytes(0), '0 B'],
    [bytes(999), '999 B'],
    [bytes(999_600), '1 MB'],
    [bytes(12_100_000), '12.1 MB'],
    [short(9_999), '9,999'],
    [short(12_345), '12.3K'],
    [short(143_000_000), '143M'],
    [share(0), '0 %'],
    [share(0.0001), '0.01 %'],
    [share(0.397), '39.7 %'],
    [share(1), '100 %'],
    [share(4.8e-8), '4.8e-8'],
    [share(1e-9), '1e-9'],
    [oneIn(1e-4), '1 in 10,000'],
    [oneIn(0), 'none'],
    [perSecond(undefined), '–'],
    [perSecond(0), '0'],
    [perSecond(0.254), '0.254'],
    [perSecond(12_340), '12.3K'],
    [duration(0), '0 s'],
    [duration(89), '89 s'],
    [duration(90), '1 min 30 s'],
    [duration(7 * 86_400), '7 d'],
    [duration(9_000), '2 h 30 min'],
    [plural(1, 'filter'), '1 filter'],
    [plural(1_200, 'filter'), '1,200 filters'],
  ])('%s', (text, expected) => {
    expect(text).toBe(expected);
  });
});
