import { describe, expect, it } from '@jest/globals';
import { readOptions } from './options.js';

describe('options of npm run history', () => {
  it('default to a minute on the embedded store, with all its kinds of faults', () => {
    expect(readOptions(['--seed', '7'])).toEqual({
      store: 'embedded',
      seconds: 60,
      seed: 7,
      clients: 16,
      workers: 6,
      byHost: false,
      crawlers: 6,
      faults: ['kill', 'pause', 'cut'],
      wait: 0,
      out: 'history.json',
    });
  });

  it('accept some faults, or none', () => {
    expect(readOptions(['--store', 'redis', '--faults', 'kill,cut'])).toMatchObject({
      faults: ['kill', 'cut'],
    });
    expect(readOptions(['--faults', 'none'])).toMatchObject({ faults: [] });
  });

  it.each([
    [['--store', 'mongo'], '--store is mongo; it must be one of embedded, redis, cluster'],
    [['--seconds', '0'], '--seconds is 0; it must be a whole number from 1 to 86400'],
    [['--clients', 'many'], '--clients is many; it must be a whole number from 0 to 256'],
    [['--faults', 'kill,failover'], '--faults names failover: embedded has kill, pause, cut, or none'],
    [['--wait', '1'], '--wait is 1, but embedded has no replicas: only cluster has'],
  ])('refuses %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
