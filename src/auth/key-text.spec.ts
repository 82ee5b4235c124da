import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { digestSecret, formatKey, makeKeyText, parseKey } from './key-text.js';

describe('the text of a key', () => {
  it('contains an id and 256 random bits, and parses back to the same key', () => {
    const keys = Array.from({ length: 1_000 }, makeKeyText);
    for (const key of keys) {
      expect(formatKey(key)).toMatch(/^unseen_[0-9a-f]{16}_[\w-]{43}$/);
      expect(parseKey(formatKey(key))).toEqual(key);
      expect(Buffer.from(key.secret, 'base64url')).toHaveLength(32);
    }
    expect(new Set(keys.map(({ secret }) => secret)).size).toBe(keys.length);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
  });

  it.each([
    ['a byte more', (key: string) => `${key}A`],
    ['a byte less', (key: string) => key.slice(0, -1)],
    ['a line break', (key: string) => `${key}\n`],
    ['another prefix', (key: string) => key.replace('unseen', 'Unseen')],
    ['an upper-case id', (key: string) => key.replace(/_.{16}_/, '_ABCDEF0123456789_')],
    ['padding', (key: string) => `${key.slice(0, -1)}=`],
    ['no secret', (key: string) => key.slice(0, 24)],
  ])('is invalid with %s', (_, change) => {
    expect(parseKey(change(formatKey(makeKeyText())))).toBeUndefined();
  });

  it('is digested as text, so that a different spelling of the same bytes is a different secret', () => {
    const secret = 'A'.repeat(43);
    const other = `${'A'.repeat(42)}B`;
    expect(Buffer.from(secret, 'base64url')).toEqual(Buffer.from(other, 'base64url'));
    expect(digestSecret(secret)).not.toEqual(digestSecret(other));
    expect(digestSecret(secret)).toEqual(createHash('sha256').update(secret).digest());
  });
});
