import { describe, expect, it } from '@jest/globals';
import { decimal, seconds, time, whole } from './values.js';

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

  it.each([
    ['2030-01-31T12:00:00Z', '2030-01-31T12:00:00Z'],
    // Passed on unchanged: the service refuses it.
    ['2030-02-31', '2030-02-31'],
    ['1500ms', '2026-01-01T00:00:01.500Z'],
    ['90m', '2026-01-01T01:30:00.000Z'],
    ['2h', '2026-01-01T02:00:00.000Z'],
    ['30d', '2026-01-31T00:00:00.000Z'],
    ['36500d', '2125-12-08T00:00:00.000Z'],
  ])('on New Year’s Day 2026, %s is the time %s', (text, expected) => {
    expect(time(() => Date.parse('2026-01-01T00:00:00Z'))(text)).toBe(expected);
  });

  it.each(['', 'tomorrow', '2030', '90', '1.5h', '-2h', '2 h', '0s', '0d', '36501d', '999999999d'])(
    '%j is not a time',
    (text) => {
      expect(() => time()(text)).toThrow(
        'It must be a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90m, 2h or 30d, from 1ms to 36500d.',
      );
    },
  );

  it.each(['0', '2d', '1500ms', '1.5h', 'h', '5 m', '5w'])(
    '%j is not a time of 1 to 86400 seconds',
    (text) => {
      expect(() => seconds(1, 86_400)(text)).toThrow(
        'It must be a whole number of seconds from 1 to 86400, for example 30s, 90m or 2h.',
      );
    },
  );
});
