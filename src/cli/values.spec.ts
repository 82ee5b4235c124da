import { describe, expect, it } from '@jest/globals';
import { decimal, seconds, whole } from './values.js';

describe('option values', () => {
  it.each([
    ['1000000', 1_000_000],
    ['1_000_000', 1_000_000],
    ['1e6', 1_000_000],
    ['2.5e3', 2_500],
  ])('%s is the whole number %d', (text, value) => {
    expect(whole(1, 1e9)(text)).toBe(value);
  });

  it.each(['', '0', '1.5', '-1', '1e10', 'many', ' 1', '0x10', '1e', 'Infinity'])(
    '%j is not a whole number from 1 to 1000000000, as the message says',
    (text) => {
      expect(() => whole(1, 1e9)(text)).toThrow('It must be a whole number from 1 to 1000000000.');
    },
  );

  it('decimals are numbers within bounds', () => {
    expect(decimal(0, 1)('1e-4')).toBe(1e-4);
    expect(decimal(0, 1)('0.25')).toBe(0.25);
    for (const text of ['2', '-0.1', 'x', '']) expect(() => decimal(0, 1)(text)).toThrow('from 0 to 1');
  });

  it.each([
    ['90', 90],
    ['90s', 90],
    ['90m', 5_400],
    ['2h', 7_200],
    ['1d', 86_400],
    ['3000ms', 3],
  ])('%s are %d seconds', (text, value) => {
    expect(seconds(1, 86_400)(text)).toBe(value);
  });

  it.each(['0', '2d', '1500ms', '1.5h', 'h', '5 m', '5w'])(
    '%j is not a time of 1 to 86400 seconds',
    (text) => {
      expect(() => seconds(1, 86_400)(text)).toThrow(
        'It must be from 1 to 86400 seconds; write it as 30s, 90m or 2h.',
      );
    },
  );
});
