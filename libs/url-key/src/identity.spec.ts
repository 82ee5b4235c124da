import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SEED } from '../../../test/support/random.js';
import { PARAM_NAMES, randomUrls, seeded } from '../testdata/random-urls.js';
import { compileWithoutScan } from './canonicaliser.js';
import { compileProfile, normaliseProfile, type NormalisedUrlProfile } from './index.js';
import { NAME_LISTS, SWITCHES } from './profile.js';
import { scanCanonical } from './scan.js';

/** URLS=n makes the run longer. */
const count = Number(process.env['URLS'] ?? 10_000);

const random = seeded(SEED);
const randomUrl = randomUrls(random);

function randomProfile(): NormalisedUrlProfile {
  const base = random() < 0.5 ? 'safe' : 'strict';
  const spec: Record<string, unknown> = { base };
  for (const name of SWITCHES) spec[name] = random() < 0.35 && !(name === 'sortValues' && base === 'strict');
  if (spec['dropFragments']) spec['keepFragments'] = false;
  for (const name of NAME_LISTS) {
    if (random() < 0.15) spec[name] = ['id', ...PARAM_NAMES.filter(() => random() < 0.4)];
  }
  return normaliseProfile(spec);
}

const safe = normaliseProfile('safe');
const strict = normaliseProfile('strict');
/** All switches except one of the two that exclude each other. */
const everySwitch = ['dropFragments', 'keepFragments'].map((without) =>
  normaliseProfile(Object.fromEntries(SWITCHES.map((name) => [name, name !== without]))),
);
const profiles = [
  ...[safe, strict, ...everySwitch],
  ...SWITCHES.map((name) => normaliseProfile({ [name]: true })),
  ...Array.from({ length: 60 }, randomProfile),
].map((profile) => ({ profile, fast: compileProfile(profile).key, slow: compileWithoutScan(profile).key }));

interface Pairs {
  pairs?: string[][];
  merge?: string[][];
  apart?: string[][];
}

const listed = ['must-merge', 'must-stay-apart', 'opt-in'].flatMap((name) => {
  const groups = JSON.parse(
    readFileSync(new URL(`../testdata/${name}.json`, import.meta.url), 'utf8'),
  ) as Pairs[];
  return groups.flatMap(({ pairs = [], merge = [], apart = [] }) => [...pairs, ...merge, ...apart].flat());
});
const real = readFileSync(new URL('../../../test/data/debian-homepages-sample.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '');

/**
 * Describes a fault in a URL's key, or undefined if it has none. Uses no `expect`, because a million calls would take
 * minutes.
 */
function faultOf({ profile, fast, slow }: (typeof profiles)[number], url: string): string | undefined {
  const key = fast(url);
  const fault = (what: string) => `${what}: ${JSON.stringify({ url, key, profile })}`;
  if (key !== slow(url)) return fault('fast and slow path differ');
  if (typeof key !== 'string') return undefined;
  if (!/^https?:\/\/[!-~]+$/.test(key)) return fault('not ASCII');
  if (fast(key) !== key || slow(key) !== key) return fault('not its own key');
  // Built-in parsers differ on non-ASCII names.
  if (!key.includes('xn--') && new URL(key).href !== key)
    return fault('not as the built-in parser writes it');
  return undefined;
}

/** The bytes that a component stands for, and its unescaped reserved characters, both in order. */
function meaningOf(component: string): [bytes: string, reserved: string] {
  const escapes = /%([0-9a-f]{2})/gi;
  const bytes = component.replace(escapes, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return [bytes, component.replace(escapes, '').replace(/[^!$&'()*+,;=:@/?#]/g, '')];
}

/** The URL as the built-in parser writes it. Undefined if the parser rejects it. */
function parsed(url: string): string | undefined {
  try {
    const { href, protocol } = new URL(url);
    return /^https?:$/.test(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

function partsOf(href: string): unknown[] {
  const { protocol, username, password, hostname, port, pathname, search } = new URL(href);
  const meanings = [username, password, pathname, search].map(meaningOf);
  return [protocol, hostname.replace(/(?<!\.)\.$/, ''), port, ...meanings];
}

describe(`every key, seed ${SEED}`, () => {
  it.each([
    ['listed', listed],
    ['real', real.filter((_, i) => i % 10 === 0)],
  ])('is its own key, and the same without the fast path, for %s URLs and every profile', (_, urls) => {
    const faults = profiles.flatMap((profile) => urls.map((url) => faultOf(profile, url)));
    expect(faults.filter((fault) => fault !== undefined).slice(0, 5)).toEqual([]);
  });

  it('is its own key, and the same without the fast path, for random URLs and profiles', () => {
    const tally = { invalid: 0, scanned: 0, parsed: 0 };
    const faults: string[] = [];
    for (let i = 0; i < count && faults.length < 5; i++) {
      const url = randomUrl();
      for (const profile of [profiles[0], profiles[1], profiles[Math.floor(random() * profiles.length)]]) {
        const fault = profile && faultOf(profile, url);
        if (fault !== undefined) faults.push(fault);
      }
      const valid = typeof profiles[0]?.fast(url) === 'string';
      tally[valid ? (scanCanonical(url) === undefined ? 'parsed' : 'scanned') : 'invalid']++;
    }
    expect(faults).toEqual([]);
    // The generator must reach every branch.
    for (const times of Object.values(tally)) expect(times).toBeGreaterThan(count / 20);
  });

  it('has the host, bytes and delimiters that the built-in parser finds', () => {
    const { key } = compileProfile(strict);
    const faults: unknown[] = [];
    let compared = 0;
    for (let i = 0; i < count; i++) {
      const url = randomUrl();
      const own = key(url);
      const given = parsed(url);
      if (given === undefined || typeof own !== 'string') {
        // Only the library rejects hosts of dots, long hosts and lone surrogates. Built-in parsers differ on non-ASCII
        // names.
        const agreed =
          typeof own === 'string'
            ? own.includes('xn--')
            : given === undefined || own.reason !== 'invalid host' || given.includes('xn--');
        if (!agreed) faults.push({ url, own, given });
        continue;
      }
      // Older Node versions leave dot segments here (ada-url/ada#935).
      if (given.includes('xn--') || /\/\.\.?(?:\/|$)/.test(new URL(given).pathname)) continue;
      compared++;
      const [before, after] = [partsOf(given), partsOf(own)];
      if (JSON.stringify(before) !== JSON.stringify(after)) faults.push({ url, own, before, after });
    }
    expect(faults.slice(0, 5)).toEqual([]);
    expect(compared).toBeGreaterThan(count / 3);
  });
});

describe('the fast path', () => {
  it('agrees with the parser on every character and escape in every position', () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
    const pieces = [
      ...bytes.flatMap((hex) => [`%${hex}`, `%${hex.toUpperCase()}`, `%25${hex}`]),
      ...Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)),
      ...[
        '\u200d',
        '\u3002',
        '\ud800',
        '\udfff',
        '\ufeff',
        '\uff0e',
        '\uffff',
        '/.',
        '/..',
        '--',
        '.1',
        '.0x1',
      ],
    ];
    const places = [
      ...[
        '_://a.b/',
        'http://_a.b/',
        'http://a_a.b/',
        'http://a._b/',
        'http://a.b_',
        'http://a.b_/',
        'http://a.b/_',
      ],
      ...[
        'http://a.b/x_',
        'http://a.b/x_/y',
        'http://a.b/x/_y',
        'http://a.b/?_',
        'http://a.b/?x_=1',
        'http://a.b/?x=1_',
      ],
      ...['http://a.b/?x=1&_y', 'http://a.b/#_', 'http://a.b/#x_', 'http://a.b/?x#_'],
    ];
    const faults = profiles.slice(0, 2).flatMap((profile) =>
      pieces.flatMap((piece) =>
        places.map((place) =>
          faultOf(
            profile,
            place.replace('_', () => piece),
          ),
        ),
      ),
    );
    expect(faults.filter((fault) => fault !== undefined).slice(0, 5)).toEqual([]);
  });

  it('recognises most real URLs as canonical', () => {
    const proven = real.filter((url) => scanCanonical(url) !== undefined);
    expect(proven.length / real.length).toBeGreaterThan(0.99);
  });
});
