import { describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import * as tr46 from 'tr46';
import { SEED } from '../../../test/support/random.js';
import { seeded } from '../testdata/random-urls.js';
import * as urlKey from './index.js';
import { SWITCHES } from './profile.js';
import { loadCounted } from './testing/counted-steps.js';
import type * as Quadratic from './testing/quadratic.js';

const { exports: counted, steps } = loadCounted<typeof urlKey>(join(import.meta.dirname, 'index.ts'), {
  tr46,
});

/** SHAPES=n tries more shapes. */
const mixtures = Number(process.env['SHAPES'] ?? 500);
const random = seeded(SEED);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

/** All opt-in rules except one of the two that exclude each other. */
const profiles = (['dropFragments', 'keepFragments'] as const).map((without) => {
  const on = [
    ...SWITCHES.filter((name) => name !== without).map((name) => [name, true]),
    ['dropParams', ['b']],
  ];
  return urlKey.normaliseProfile(Object.fromEntries(on));
});

const words = (text: string): string[] => text.split(' ');

const STARTS = [
  ...words('http: http:// http://www. http://a.b: http://u@ http://u: http://[ http://xn-- http://a.b/'),
  ...words('http://a.b/( http://a.b/a: http://a.b/; http://a.b/? http://a.b/?sid= http://a.b/#'),
  ...words('http://a.b/;jsessionid= http://a.b/(A( HTTP://A.b/ HTTP://A.b/? HTTP://A.b/#!'),
  ...words('HTTP://A.b/?cftoken='),
  ...[''],
];
/** Pieces from the alphabet of every rule. */
const PIECES = [
  ...words(
    "% : @ / \\ . - [ & ; = # ? + ' ( ) | ~ _ a 0 A é 中 😀 \u00ad \u0301 \u05d0 \u200d 。 \ufdfa a. a-",
  ),
  ...words('1. 0x %2e %e9 %41 %2C %5B%5D [] /. /.. // http:// www. xn--a index.html /index.php/ (S('),
  ...words('S(abcdefghijklmnopqrstuvwx) A(0a (abcdefghijklmnopqrstuvwx) ;jsessionid= 1A530637289A03B07199A4'),
  ...words('sid= PHPSESSID= cfid=1& cftoken=12345678 utm_ gclid=1& b=& &a =b&a[] !-1 %21 ;= ..;'),
  ...[' ', '\t'],
];
const ENDS = [
  '',
  'x',
  '|',
  '/',
  ')',
  '/x/',
  '=',
  '&a=1',
  ' \ud800',
  ':80',
  '@a.b/',
  'index.html',
  '#',
  '\u05d0.a/',
];

interface Shape {
  readonly start: string;
  readonly part: string;
  readonly end: string;
}

const each = STARTS.flatMap((start) => PIECES.map((part) => ({ start, part, end: pick(ENDS) })));
const mixed = Array.from({ length: mixtures }, () => {
  const part = Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(PIECES)).join('');
  return { start: pick(STARTS), part, end: pick(ENDS) };
});

/** When the length doubles, linear work doubles, sorting grows slightly more, and quadratic work quadruples. */
const MOST = 2.2;

type Count = (url: string) => number;

/**
 * The steps for a length, for twice and for four times that length, if they grow by more than MOST at both doublings.
 * One jump is allowed, because some rules, like the session rule, stop at some length.
 */
function faultOf(count: Count, { start, part, end }: Shape, length: number): string | undefined {
  const repeats = Math.ceil(length / part.length);
  const stepsAt = (times: number): number => count(start + part.repeat(times * repeats) + end);
  const [once, twice] = [stepsAt(1), stepsAt(2)];
  if (twice <= MOST * once) return undefined;
  const fourfold = stepsAt(4);
  if (fourfold <= MOST * twice) return undefined;
  return `${start}(${part}){${repeats}}${end}: ${once}, ${twice}, ${fourfold} steps`;
}

const key = profiles.map((profile) => counted.compileProfile(profile).key);
const explanation = profiles.map((profile) => counted.compileExplanation(profile));

const WORKS = [
  { name: 'key, by the fast path where it can', works: key, length: 400 },
  { name: 'key, too long for the fast path', works: key, length: 4_200 },
  { name: 'explanation', works: explanation, length: 1_000 },
];

describe(`the steps for a URL with every rule on, seed ${SEED}`, () => {
  it.each(WORKS)('grow linearly with its length: $name', ({ works, length }) => {
    // The two profiles differ only for URLs with fragments.
    const worksOf = (url: string): typeof works => (url.includes('#') ? works : works.slice(0, 1));
    const count: Count = (url) => steps(() => worksOf(url).map((work) => work(url)));
    const faults: string[] = [];
    for (const shape of [...each, ...mixed]) {
      const fault = faultOf(count, shape, length);
      if (fault !== undefined) faults.push(fault);
      if (faults.length === 5) break;
    }
    expect(faults).toEqual([]);
  });

  it('are the same in every run', () => {
    const url = `HTTP://A.b/?${'b=a&'.repeat(1_000)}`;
    const counts = Array.from({ length: 100 }, () => steps(() => key.map((work) => work(url))));
    expect(new Set(counts).size).toBe(1);
  });
});

describe('counted steps', () => {
  it('change no key', () => {
    const original = profiles.map((profile) => urlKey.compileProfile(profile).key);
    const urls = [...each, ...mixed].map(({ start, part, end }) => start + part.repeat(3) + end);
    const keysBy = (keys: typeof key): string =>
      JSON.stringify(urls.map((url) => keys.map((one) => one(url))));
    expect(keysBy(key)).toBe(keysBy(original));
  });

  const file = join(import.meta.dirname, 'testing', 'quadratic.ts');
  const quadratic = loadCounted<typeof Quadratic>(file);

  it.each(Object.entries(quadratic.exports))('detect quadratic work: %s', (_, work) => {
    const count: Count = (url) => quadratic.steps(() => work(url));
    expect(faultOf(count, { start: 'http://a.b/', part: 'ab', end: '' }, 400)).toBeDefined();
  });
});
