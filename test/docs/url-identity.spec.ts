import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compileProfile, INVALID_URL_REASONS, normaliseProfile } from '#url-key';
import { rowsOf } from '../support/markdown.js';

const PAGE = 'docs/url-identity.md';

interface Member {
  readonly type: string;
  readonly default?: unknown;
  readonly description?: string;
}
const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  components: { schemas: { UrlProfile: { properties: Record<string, Member> } } };
};
const MEMBERS = document.components.schemas.UrlProfile.properties;

interface Pair {
  readonly one: string;
  readonly sign: string;
  readonly other: string;
}

/** A cell's pairs. Each is two URLs in backticks with = or ≠ between them. */
function pairsIn(cell = ''): Pair[] {
  return [...cell.matchAll(/`(http[^`]+)` ([=≠]) `(http[^`]+)`/g)].map(
    ([, one = '', sign = '', other = '']) => ({
      one,
      sign,
      other,
    }),
  );
}

/** The sign that belongs between two URLs under a profile. */
function signUnder(profile: unknown, { one, other }: Pair): string {
  const { key } = compileProfile(normaliseProfile(profile));
  const keys = [key(one), key(other)];
  expect(keys.map((found) => typeof found)).toEqual(['string', 'string']);
  return keys[0] === keys[1] ? '=' : '≠';
}

describe('docs/url-identity.md: the profile safe', () => {
  const rows = rowsOf(PAGE, 'rule');
  const pairs = rows.flatMap(([rule = '', , cell]) => pairsIn(cell).map((pair) => ({ rule, ...pair })));

  it('has twelve rules, with a pair for each except the first, which is about invalid URLs', () => {
    expect(rows.map(([rule]) => rule)).toEqual(Array.from({ length: 12 }, (_, i) => `S${i + 1}`));
    expect([...new Set(pairs.map(({ rule }) => rule))]).toEqual(rows.slice(1).map(([rule]) => rule));
  });

  it.each(pairs)('$rule: $one $sign $other', (pair) => {
    expect(signUnder('safe', pair)).toBe(pair.sign);
  });
});

describe('docs/url-identity.md: the optional rules', () => {
  const rows = rowsOf(PAGE, 'member');
  const pairs = rows.flatMap(([member = '', , , cell = '', risk = '']) => {
    const value: unknown = JSON.parse(/with `(.+)`$/.exec(cell)?.[1] ?? 'true');
    return pairsIn(cell).map((pair) => ({ member, value, risk, ...pair }));
  });

  it('are the members that the API describes, with their defaults', () => {
    const documented = rows.map(([member, fallback = '']) => [member, fallback]);
    const described = Object.entries(MEMBERS).map(([name, { default: fallback = '—' }]) => [
      name,
      String(fallback),
    ]);
    expect(documented).toEqual(described);
  });

  it('are the members that the service accepts', () => {
    let message = '';
    try {
      normaliseProfile({ unknown: true });
    } catch (error) {
      ({ message } = error as Error);
    }
    const taken = JSON.parse(`[${/must have only (.+)$/.exec(message)?.[1] ?? ''}]`) as string[];
    expect(Object.keys(MEMBERS).sort()).toEqual(taken.sort());
  });

  it('have a pair and a risk each, except the versions', () => {
    const shown = new Set(pairs.filter(({ risk }) => risk !== '').map(({ member }) => member));
    expect(rows.map(([member]) => member).filter((member = '') => !shown.has(member))).toEqual([
      'version',
      'trackingVersion',
    ]);
  });

  it.each(pairs)('$member: $one $sign $other, and the opposite without it', ({ member, value, ...pair }) => {
    expect(signUnder({ [member]: value }, pair)).toBe(pair.sign);
    expect(signUnder('safe', pair)).toBe(pair.sign === '=' ? '≠' : '=');
  });
});

it('docs/url-identity.md: has the reasons of invalid URLs, except the one about a base, which no request has', () => {
  const reasons = rowsOf(PAGE, 'reason').map(([reason]) => reason);
  expect(reasons).toEqual(INVALID_URL_REASONS.filter((reason) => reason !== 'invalid base'));
});
