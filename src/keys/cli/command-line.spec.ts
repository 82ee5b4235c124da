import { describe, expect, it } from '@jest/globals';
import { CommandError, readCommand, USAGE } from './command-line.js';

describe('the arguments of npm run keys', () => {
  it.each([
    [['--help'], { verb: 'help' }],
    [['create', '-h'], { verb: 'help' }],
    [['list'], { verb: 'list' }],
    [['revoke', '0123456789abcdef'], { verb: 'revoke', id: '0123456789abcdef' }],
    [['create'], { verb: 'create', key: {} }],
    [
      ['create', '--name', 'a b', '--scope', 'read', '--scope', 'write'],
      { verb: 'create', key: { name: 'a b', scopes: ['read', 'write'] } },
    ],
    [
      ['create', '--name=x', '--scope=admin', '--prefix=acme-', '--expires-at=2030-01-31T12:00:00Z'],
      {
        verb: 'create',
        key: { name: 'x', scopes: ['admin'], prefix: 'acme-', expiresAt: '2030-01-31T12:00:00Z' },
      },
    ],
    [
      ['create', '--max-filters', '100', '--max-bytes=1000000000'],
      { verb: 'create', key: { maxFilters: 100, maxBytes: 1_000_000_000 } },
    ],
    [
      ['create', '--max-filters', 'many', '--max-bytes', '1e9'],
      { verb: 'create', key: { maxFilters: 'many', maxBytes: '1e9' } },
    ],
  ])('%j are %j', (args, command) => {
    expect(readCommand(args)).toEqual(command);
  });

  it.each([
    [],
    ['make'],
    ['revoke'],
    ['revoke', 'a', 'b'],
    ['list', 'all'],
    ['create', 'x'],
    ['create', '--colour'],
  ])('are refused with the usage: %j', (...args) => {
    expect(() => readCommand(args)).toThrow(CommandError);
    expect(() => readCommand(args)).toThrow(USAGE);
  });
});
