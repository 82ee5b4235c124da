import { describe, expect, it } from '@jest/globals';
import { seeded } from '../testdata/random-urls.js';
import { compileProfile, normaliseProfile } from './index.js';
import { SWITCHES } from './profile.js';

/** SEED=n repeats a run, SHAPES=n makes it longer. */
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const mixtures = Number(process.env['SHAPES'] ?? 500);
const random = seeded(seed);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

/** All opt-in rules except one of the two that contradict each other. */
const keys = (['dropFragments', 'keepFragments'] as const).map((without) => {
  const on = [
    ...SWITCHES.filter((name) => name !== without).map((name) => [name, true]),
    ['dropParams', ['b']],
  ];
  return compileProfile(normaliseProfile(Object.fromEntries(on))).key;
});

const words = (text: string): string[] => text.split(' ');

const STARTS = [
  ...words('http: http:// http://www. http://a.b: http://u@ http://u: http://[ http://xn-- http://a.b/'),
  ...words('http://a.b/( http://a.b/a: http://a.b/; http://a.b/? http://a.b/?sid= http://a.b/#'),
  ...words('http://a.b/;jsessionid= http://a.b/(A( HTTP://A.b/ HTTP://A.b/? HTTP://A.b/#!'),
  ...words('HTTP://A.b/?cftoken='),
  ...[''],
];
/** Some pieces of every rule's alphabet. */
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

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The least CPU time of some runs, in milliseconds. Other work on the machine only adds to it. */
function cost({ start, part, end }: Shape, length: number, runs: number): number {
  const url = start + part.repeat(Math.ceil(length / part.length)) + end;
  let least = Infinity;
  for (let run = 0; run < runs; run++) {
    const began = cpuMs();
    for (const key of keys) key(url);
    least = Math.min(least, cpuMs() - began);
  }
  return least;
}

/** The lengths are doubled three times. Linear work then grows by 8, quadratic work by 64. */
const FACTOR = 8;
/** The fast path ends between these two lengths. */
const LENGTHS = [500, 5_000];
const MOST = 24;
/** A shape that takes less than this at the longest length is harmless. */
const HARMLESS_MS = 1;

function growth(shape: Shape, length: number, runs: number): number {
  const long = cost(shape, FACTOR * length, runs);
  return long < HARMLESS_MS ? 0 : long / cost(shape, length, runs);
}

function isLinear(shape: Shape): boolean {
  return LENGTHS.every((length) => [1, 4, 16, 32, 128].some((runs) => growth(shape, length, runs) < MOST));
}

describe(`the work on a URL, every rule on, seed ${seed}`, () => {
  it('grows in proportion when its length is doubled three times, whatever is repeated', () => {
    const shapes = [...each, ...mixed];
    const faults: Shape[] = [];
    for (const shape of shapes) {
      if (!isLinear(shape)) faults.push(shape);
      if (faults.length === 5) break;
    }
    expect(faults).toEqual([]);
  }, 600_000);
});
