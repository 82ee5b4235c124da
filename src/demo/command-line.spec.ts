import { describe, expect, it } from '@jest/globals';
import { readCommandLine } from './command-line.js';

describe('the demo’s command line', () => {
  it('has a default for everything', () => {
    expect(readCommandLine([])).toEqual({ help: false, file: undefined, url: undefined, errorRate: 1e-4 });
  });

  it.each([
    { args: ['--file', 'a.txt'] },
    { args: ['a.txt'] },
    { args: ['a.txt', '--url', 'http://127.0.0.1:3000', '--error-rate', '0.01'] },
  ])('accepts the input list as an option or as an argument: $args', ({ args }) => {
    expect(readCommandLine(args).file).toBe('a.txt');
  });

  it('accepts two input lists to sync', () => {
    for (const args of [
      ['--sync', 'old.txt', 'new.txt'],
      ['old.txt', 'new.txt', '--sync'],
    ]) {
      expect(readCommandLine([...args, '--error-rate', '0.01'])).toEqual({
        ...{ help: false, file: undefined, url: undefined, errorRate: 0.01 },
        sync: { old: 'old.txt', now: 'new.txt' },
      });
    }
  });

  it('reads a URL and an error rate', () => {
    const { url, errorRate } = readCommandLine(['--url', 'http://127.0.0.1:3000', '--error-rate', '1e-2']);
    expect(url?.port).toBe('3000');
    expect(errorRate).toBe(0.01);
  });

  it.each([
    { args: ['a.txt', 'b.txt'], says: 'give one list, not' },
    { args: ['--file', 'a.txt', 'b.txt'], says: 'give one list, not' },
    { args: ['--url', '127.0.0.1:3000'], says: '--url' },
    { args: ['--url', 'redis://127.0.0.1'], says: 'http' },
    { args: ['--error-rate', '0'], says: '1e-9 to 0.5' },
    { args: ['--error-rate', ''], says: '1e-9 to 0.5' },
    { args: ['--error-rate', 'few'], says: '1e-9 to 0.5' },
    { args: ['--fiel', 'a.txt'], says: '--fiel' },
    { args: ['--sync', 'old.txt'], says: 'two lists' },
    { args: ['--sync', 'a', 'b', 'c'], says: 'two lists' },
    { args: ['--sync', 'a', '--file', 'b'], says: 'two lists' },
  ])('refuses $args', ({ args, says }) => {
    expect(() => readCommandLine(args)).toThrow(says);
  });
});
