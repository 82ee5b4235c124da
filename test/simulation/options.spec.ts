import { expect, it } from '@jest/globals';
import { readOptions } from './options.js';

it('accepts a seed and limits', () => {
  expect(readOptions(['--seed', '7001'])).toEqual({ seed: 7001, count: 1_000, seconds: 60 });
  expect(readOptions(['--seed', '0', '--count', '1', '--seconds', '2'])).toEqual({
    seed: 0,
    count: 1,
    seconds: 2,
  });
});

it('draws a seed by default', () => {
  expect(readOptions([])).toMatchObject({ seed: expect.any(Number) });
});

it('shows help, with any other options', () => {
  expect(readOptions(['--seed', 'x', '--help'])).toBe('help');
});

it.each([
  [['--seed', '-1'], /--seed/],
  [['--seed', '2147483648'], /--seed/],
  [['--seed', '7.5'], /--seed/],
  [['--count', '0'], /--count/],
  [['--seconds', 'x'], /--seconds/],
  [['--clients', '3'], /--clients/],
  [['7001'], /7001/],
])('refuses %j', (args, why) => {
  expect(() => readOptions(args)).toThrow(why);
});
