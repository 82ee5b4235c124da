import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compileProfile, type InvalidUrl, normaliseProfile } from './index.js';

type Pair = [a: string, b: string];
interface PairsOfRule {
  about: string;
  pairs: Pair[];
}
interface PairsOfProfile {
  profile: object;
  merge: Pair[];
  apart: Pair[];
}

interface TestData {
  'must-merge': PairsOfRule[];
  'must-stay-apart': PairsOfRule[];
  'opt-in': PairsOfProfile[];
}

/** The pairs are JSON so that clients in other languages can use them too. */
function read<Name extends keyof TestData>(name: Name): TestData[Name] {
  return JSON.parse(
    readFileSync(new URL(`../testdata/${name}.json`, import.meta.url), 'utf8'),
  ) as TestData[Name];
}

function keysUnder(profile: unknown): (url: string) => string | InvalidUrl {
  const { key } = compileProfile(normaliseProfile(profile));
  return (url) => key(url);
}

function expectMerge(key: (url: string) => string | InvalidUrl, [a, b]: Pair): void {
  expect(key(a)).toBe(key(b));
  expect(typeof key(a)).toBe('string');
}

function expectApart(key: (url: string) => string | InvalidUrl, [a, b]: Pair): void {
  expect(key(a)).not.toBe(key(b));
  expect([typeof key(a), typeof key(b)]).toEqual(['string', 'string']);
}

describe('safe: pairs that are one URL', () => {
  for (const { about, pairs } of read('must-merge')) {
    describe(about, () => {
      it.each(pairs)('%j = %j', (...pair) => expectMerge(keysUnder('safe'), pair));
    });
  }
});

describe('safe: pairs that are two URLs', () => {
  for (const { about, pairs } of read('must-stay-apart')) {
    describe(about, () => {
      it.each(pairs)('%j and %j', (...pair) => expectApart(keysUnder('safe'), pair));
    });
  }
});

describe.each(read('opt-in'))('$profile', ({ profile, merge, apart }) => {
  it.each(merge)('%j = %j', (...pair) => expectMerge(keysUnder(profile), pair));
  it.each(apart)('%j and %j', (...pair) => expectApart(keysUnder(profile), pair));
});

describe('the opt-in pairs need their rules', () => {
  it.each(read('opt-in').filter(({ profile }) => !('base' in profile)))(
    'safe alone treats pairs of $profile differently',
    ({ merge, apart }) => {
      const key = keysUnder('safe');
      const otherwise = [
        ...merge.filter(([a, b]) => key(a) !== key(b)),
        ...apart.filter(([a, b]) => key(a) === key(b)),
      ];
      expect(otherwise.length).toBeGreaterThan(0);
    },
  );
});
