import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compileProfile, InvalidUrl, normaliseProfile } from './index.js';

/**
 * Keys that must never change, because stored sets of version 1 contain them. `node scripts/golden-keys.mjs <version>`
 * checks that another Node version computes the same keys.
 */
interface Golden {
  'golden-v1': { profile: object; keys: [url: string, key: string | { reason: string }][] }[];
  /** SHA-256 of the keys for all one-character hosts in a range. */
  'golden-v1-hosts': [from: string, to: string, digest: string][];
}

function read<Name extends keyof Golden>(name: Name): Golden[Name] {
  return JSON.parse(
    readFileSync(new URL(`../testdata/${name}.json`, import.meta.url), 'utf8'),
  ) as Golden[Name];
}

/** Rows may be added to the file, but never changed. */
describe.each(read('golden-v1'))('version 1, forever: $profile', ({ profile, keys }) => {
  it.each(keys)('%j', (url, expected) => {
    const key = compileProfile(normaliseProfile(profile)).key(url);
    expect(key instanceof InvalidUrl ? { reason: key.reason } : key).toEqual(expected);
    expect(normaliseProfile(profile)).toEqual(profile);
  });
});

describe('version 1, forever: keys for one-character hosts', () => {
  const { key } = compileProfile(normaliseProfile('strict'));

  it.each(read('golden-v1-hosts'))('from %s to %s', (from, to, digest) => {
    const sum = createHash('sha256');
    for (let code = Number.parseInt(from, 16); code <= Number.parseInt(to, 16); code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const char = String.fromCodePoint(code);
      for (const host of [`a${char}\u0301b.example`, `${char}.example`]) {
        const own = key(`http://${host}/`);
        sum.update(own instanceof InvalidUrl ? own.reason : own).update('\n');
      }
    }
    expect(sum.digest('hex')).toBe(digest);
  });
});
