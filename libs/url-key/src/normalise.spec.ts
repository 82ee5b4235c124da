import { describe, expect, it } from '@jest/globals';
import { InvalidUrlProfileError, normaliseProfile } from './index.js';

describe('a normalised profile', () => {
  it.each([
    ['safe', { base: 'safe', version: 1 }],
    ['strict', { base: 'strict', version: 1 }],
    [{}, { base: 'safe', version: 1 }],
    [{ base: 'safe' }, { base: 'safe', version: 1 }],
    [
      { base: 'strict', version: 1, stripWww: false, dropParams: [] },
      { base: 'strict', version: 1 },
    ],
    [
      { base: undefined, stripWww: undefined },
      { base: 'safe', version: 1 },
    ],
    [{ stripWww: true }, { base: 'safe', version: 1, stripWww: true }],
    [
      { keepFragments: true, dropFragments: false },
      { base: 'safe', version: 1, keepFragments: true },
    ],
    [{ stripTracking: true }, { base: 'safe', version: 1, stripTracking: true, trackingVersion: 1 }],
    [
      { stripTracking: true, trackingVersion: 1 },
      { base: 'safe', version: 1, stripTracking: true, trackingVersion: 1 },
    ],
    [{ dropParams: ['b', 'a', 'b'] }, { base: 'safe', version: 1, dropParams: ['a', 'b'] }],
    [{ keepParams: ['a[]', 'a%5b%5d', '%61'] }, { base: 'safe', version: 1, keepParams: ['a', 'a%5B%5D'] }],
    [
      { dropParams: ["it's", 'é', '100%'] },
      { base: 'safe', version: 1, dropParams: ['%C3%A9', '100%25', 'it%27s'] },
    ],
    [
      { dropParams: ['__proto__', 'constructor'] },
      { base: 'safe', version: 1, dropParams: ['__proto__', 'constructor'] },
    ],
    [
      { formQuery: true, dropParams: ['a+b', 'a%20b', 'c,d'] },
      { base: 'safe', version: 1, formQuery: true, dropParams: ['a%20b', 'c%2Cd'] },
    ],
  ])('%j', (input, expected) => {
    const normalised = normaliseProfile(input);
    expect(normalised).toEqual(expected);
    expect(
      Object.keys(normalised).every((name) => normalised[name as keyof typeof normalised] !== undefined),
    ).toBe(true);
    expect(JSON.stringify(normaliseProfile(JSON.parse(JSON.stringify(normalised))))).toBe(
      JSON.stringify(normalised),
    );
  });

  it('is the same JSON for every order of the request', () => {
    const one = normaliseProfile({ stripWww: true, base: 'safe', keepParams: ['b', 'a'], dropBlank: true });
    const two = normaliseProfile({
      dropBlank: true,
      keepParams: ['a', 'b'],
      stripWww: true,
      stripSession: false,
    });
    expect(JSON.stringify(one)).toBe(JSON.stringify(two));
  });

  it('does not change at the limits', () => {
    const dropParams = Array.from({ length: 1_000 }, (_, i) => `${i}`.padEnd(256, 'x'));
    const normalised = normaliseProfile({ dropParams });
    expect(normalised.dropParams).toHaveLength(1_000);
    expect(normaliseProfile(normalised)).toEqual(normalised);
    expect(normaliseProfile({ dropParams: ['é'.repeat(42)] }).dropParams?.[0]).toHaveLength(252);
  });

  it('ignores inherited properties', () => {
    expect(normaliseProfile(Object.create({ stripWww: true, nonsense: 1 }))).toEqual({
      base: 'safe',
      version: 1,
    });
  });
});

describe('a refused profile', () => {
  it.each<[unknown, string]>([
    ['lax', 'URL profile is "lax"; it must be "safe" or "strict"'],
    ['', 'URL profile is ""; it must be'],
    ['Safe', 'URL profile is "Safe"'],
    ['__proto__', 'URL profile is "__proto__"'],
    ['x'.repeat(10_000), `URL profile is "${'x'.repeat(64)}…"`],
    [null, 'URL profile is null'],
    [undefined, 'URL profile is undefined'],
    [1, 'URL profile is 1'],
    [true, 'URL profile is true'],
    [['safe'], 'URL profile is an array of 1'],
    [{ base: 'lax' }, 'base is "lax"; it must be "safe" or "strict"'],
    [{ base: null }, 'base is null'],
    [{ base: ['safe'] }, 'base is an array of 1'],
    [{ version: 2 }, 'version is 2; it must be 1'],
    [{ version: '1' }, 'version is "1"; it must be 1'],
    [{ version: null }, 'version is null'],
    [{ stripWWW: true }, 'URL profile has "stripWWW"; it must have only "base", "version", "stripTracking"'],
    [{ toString: true }, 'URL profile has "toString"'],
    [JSON.parse('{"__proto__":{"stripWww":true}}'), 'URL profile has "__proto__"'],
    [JSON.parse('{"constructor":1}'), 'URL profile has "constructor"'],
    [{ stripWww: 1 }, 'stripWww is 1; it must be true or false'],
    [{ stripWww: 'true' }, 'stripWww is "true"'],
    [{ stripWww: null }, 'stripWww is null'],
    [{ dropFragments: {} }, 'dropFragments is an object'],
    [{ trackingVersion: 1 }, 'trackingVersion is 1; it must be absent unless stripTracking is true'],
    [{ stripTracking: true, trackingVersion: 2 }, 'trackingVersion is 2; it must be 1'],
    [{ base: 'strict', sortValues: true }, "sortValues is true; it must be false with base 'strict'"],
    [
      { keepFragments: true, dropFragments: true },
      'keepFragments is true; it must be false with dropFragments',
    ],
    [{ dropParams: 'a' }, 'dropParams is "a"; it must be an array of at most 1000 names'],
    [{ dropParams: null }, 'dropParams is null'],
    [{ dropParams: { length: 1 } }, 'dropParams is an object'],
    [{ dropParams: Array.from({ length: 1_001 }, () => 'a') }, 'dropParams is an array of 1001'],
    [{ keepParams: [] }, 'keepParams is an empty array; it must contain at least one name'],
    [{ keepParams: [''] }, 'keepParams has ""; each must be a parameter name'],
    [{ keepParams: [1] }, 'keepParams has 1'],
    [{ keepParams: ['a', null] }, 'keepParams has null'],
    [{ keepParams: ['a&b'] }, 'keepParams has "a&b"'],
    [{ keepParams: ['a=b'] }, 'keepParams has "a=b"'],
    [{ keepParams: ['#a'] }, 'keepParams has "#a"'],
    [{ keepParams: ['\ud800'] }, 'keepParams has "\\ud800"'],
    [{ keepParams: ['x'.repeat(257)] }, `keepParams has "${'x'.repeat(64)}…"`],
    [{ keepParams: ['é'.repeat(43)] }, 'when escaped'],
  ])('%j', (input, message) => {
    expect(() => normaliseProfile(input)).toThrow(InvalidUrlProfileError);
    expect(() => normaliseProfile(input)).toThrow(message);
    try {
      normaliseProfile(input);
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(500);
    }
  });
});
