import { describe, expect, it } from '@jest/globals';
import { CommandError, readCommand, USAGE } from './keys-command-line.js';

const NAMED = ['create', '--name', 'x', '--scope', 'read'];

describe('the arguments of npm run keys', () => {
  it.each([
    [['--help'], { verb: 'help' }],
    [['create', '-h'], { verb: 'help' }],
    [['list'], { verb: 'list' }],
    [['revoke', '0123456789abcdef'], { verb: 'revoke', id: '0123456789abcdef' }],
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
      [...NAMED, '--max-filters', '100', '--max-bytes=1000000000'],
      { verb: 'create', key: { name: 'x', scopes: ['read'], maxFilters: 100, maxBytes: 1_000_000_000 } },
    ],
    [
      [...NAMED, '--max-filters', 'many', '--max-bytes', '1e9'],
      { verb: 'create', key: { name: 'x', scopes: ['read'], maxFilters: 'many', maxBytes: '1e9' } },
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

  it.each([
    [['create', '--scope', 'read'], 'create needs --name NAME\n'],
    [['create', '--name', 'x'], 'create needs --scope SCOPE, one of read, write and admin\n'],
    [['create'], 'create needs --name NAME\n'],
  ])('%j: what is missing is named by its option', (args, message) => {
    expect(() => readCommand(args)).toThrow(CommandError);
    expect(() => readCommand(args)).toThrow(message);
  });
});
