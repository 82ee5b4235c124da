import { describe, expect, it } from '@jest/globals';
import { readOptions } from './options.js';

describe('options of npm run crawl', () => {
  it('default to a million URLs and eight workers on the embedded store, without service faults', () => {
    expect(readOptions(['--seed', '7'])).toEqual({
      store: 'embedded',
      urls: 1_000_000,
      workers: 8,
      seed: 7,
      faults: [],
    });
  });

  it.each([
    [['--store', 'cluster'], '--store is cluster; it must be one of embedded, redis'],
    [['--urls', '0'], '--urls is 0; it must be a whole number from 1 to 1600000'],
    [['--faults', 'failover'], '--faults names failover: embedded has kill, pause, cut, or none'],
  ])('refuses %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
