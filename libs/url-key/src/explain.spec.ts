import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SEED } from '../../../test/support/random.js';
import { seeded, randomUrls } from '../testdata/random-urls.js';
import {
  compileExplanation,
  compileProfile,
  InvalidUrl,
  normaliseProfile,
  type Explanation,
  type NormalisedUrlProfile,
} from './index.js';

interface Golden {
  readonly profile: object;
  readonly keys: readonly (readonly [url: string, key: string | { reason: string }])[];
}

const GOLDEN = JSON.parse(
  readFileSync(new URL('../testdata/golden-v1.json', import.meta.url), 'utf8'),
) as Golden[];

const URLS = 4_000;

const PROFILES: readonly object[] = [
  { base: 'strict' },
  {},
  { keepFragments: true },
  { stripTracking: true, stripSession: true, formQuery: true, sortValues: true, dropBlank: true },
  { stripDirIndex: true, stripTrailingSlash: true, collapseSlashes: true, stripSession: true },
  { stripWww: true, ignoreScheme: true, stripUserinfo: true, dropFragments: true },
  { base: 'strict', dropParams: ['a', 'utm_source'], keepParams: ['a', 'b', 'id'], formQuery: true },
  {
    ...{ stripTracking: true, stripSession: true, formQuery: true, sortValues: true, dropBlank: true },
    ...{ stripTrailingSlash: true, stripWww: true, ignoreScheme: true, stripDirIndex: true },
    ...{ collapseSlashes: true, stripUserinfo: true, dropFragments: true, dropParams: ['b'] },
  },
];

/** The first fault in the explanation for a URL with this key, or undefined if it has none. */
function faultIn(url: string, key: string | InvalidUrl, found: Explanation | InvalidUrl): string | undefined {
  if (key instanceof InvalidUrl || found instanceof InvalidUrl) {
    return key === found ? undefined : 'another verdict';
  }
  if (found.key !== key) return 'another key';
  let text = url;
  for (const { before, after } of found.steps) {
    if (before !== text) return 'a gap between steps';
    if (before === after) return 'a step that changes nothing';
    text = after;
  }
  return text === key ? undefined : `it ends with ${text}`;
}

function faultsOf(profile: NormalisedUrlProfile, urls: readonly string[]): object[] {
  const { key } = compileProfile(profile);
  const explain = compileExplanation(profile);
  const judged = urls.map((url) => ({ url, key: key(url), fault: faultIn(url, key(url), explain(url)) }));
  return judged.filter(({ fault }) => fault !== undefined);
}

describe('an explanation leads from the URL to its key, step by step', () => {
  it.each(GOLDEN)('for the golden URLs: $profile', ({ profile, keys }) => {
    expect(
      faultsOf(
        normaliseProfile(profile),
        keys.map(([url]) => url),
      ),
    ).toEqual([]);
  });

  it.each(PROFILES)(`for random URLs, SEED=${SEED}: %j`, (profile) => {
    const next = randomUrls(seeded(SEED));
    expect(faultsOf(normaliseProfile(profile), Array.from({ length: URLS }, next))).toEqual([]);
  });
});

describe('an explanation names the rules that changed something', () => {
  const rulesOf = (url: string, profile: object = {}): string[] => {
    const found = compileExplanation(normaliseProfile(profile))(url);
    if (found instanceof InvalidUrl) throw new Error(found.reason);
    return found.steps.map(({ rule }) => rule);
  };

  it.each<[string, object, string[]]>([
    ['http://a.b/x?p=1', {}, []],
    ['http://a.b', {}, ['S2']],
    ['HTTP://A.B:80/x/../y', {}, ['S2', 'S2']],
    ['http://a.b./', {}, ['S4']],
    ['http://a.b/50%', {}, ['S5']],
    ['http://a.b/%7Ex', {}, ['S6']],
    ['http://a.b/%e9', {}, ['S7']],
    ['http://a.b/\u00e9', {}, ['S8']],
    ['http://a.b/x?', {}, ['S10']],
    ['http://a.b/?p=1&&q=2', {}, ['S10']],
    ['http://a.b/?q=2&p=1', {}, ['S11']],
    ['http://a.b/?q=2&p=1', { base: 'strict' }, []],
    ['http://a.b/#top', {}, ['S12']],
    ['http://a.b/#top', { keepFragments: true }, []],
    ['http://a.b/?utm_source=x&q=2&&p=1', { stripTracking: true }, ['stripTracking', 'S10', 'S11']],
    ['http://a.b/?p=2&p=1', { sortValues: true }, ['sortValues']],
    ['http://www.a.b/x/index.html', { stripWww: true, stripDirIndex: true }, ['stripWww', 'stripDirIndex']],
    [
      'http://a.b/x/index.html/',
      { stripDirIndex: true, stripTrailingSlash: true },
      ['stripTrailingSlash', 'stripDirIndex', 'stripTrailingSlash'],
    ],
    ['http://a.b/?view=1&p=2', { dropParams: ['view'] }, ['dropParams']],
    ['http://a.b/?id=1&x=2', { keepParams: ['id'] }, ['keepParams']],
    ['http://u:p@a.b/#!x', { stripUserinfo: true, dropFragments: true }, ['stripUserinfo', 'dropFragments']],
  ])('%s %j', (url, profile, rules) => {
    expect(rulesOf(url, profile)).toEqual(rules);
  });

  it('in few steps, even for a path crafted to need many', () => {
    const url = `http://a.b${'/index.html'.repeat(700)}`;
    const rules = rulesOf(url, { stripDirIndex: true, stripTrailingSlash: true });
    expect(rules.length).toBeLessThan(10);
  });
});
