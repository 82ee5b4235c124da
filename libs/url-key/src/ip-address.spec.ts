import { describe, expect, it } from '@jest/globals';
import { SEED } from '../../../test/support/random.js';
import { seeded } from '../testdata/random-urls.js';
import { compileProfile, InvalidUrl, normaliseProfile } from './index.js';

const random = seeded(SEED);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
const join = (most: number, by: string, piece: () => string): string =>
  Array.from({ length: 1 + Math.floor(random() * most) }, piece).join(by);

const { key } = compileProfile(normaliseProfile('safe'));

/** The built-in parser is the reference, because addresses are plain ASCII, on which all versions agree. */
function parsed(url: string): string | undefined {
  try {
    return new URL(url).href;
  } catch {
    return undefined;
  }
}

function faults(host: () => string): unknown[] {
  const wrong: unknown[] = [];
  for (let i = 0; i < 20_000; i++) {
    const url = `http://${host()}/`;
    const own = key(url);
    const expected = parsed(url);
    // The library removes the trailing dot of a name (S4) and rejects a host that consists of dots.
    const same =
      own instanceof InvalidUrl
        ? expected === undefined || /^http:\/\/\.+\/$/.test(expected)
        : own === expected?.replace(/(?<!\.)\.\/$/, '/');
    if (!same) wrong.push({ url, own, expected });
  }
  return wrong.slice(0, 5);
}

describe(`IP addresses match the built-in parser, seed ${SEED}`, () => {
  it('IPv4: decimal, octal and hexadecimal, one to four parts, and invalid texts', () => {
    const parts =
      '0 1 9 09 010 255 256 0x 0xff 0XFF 0x100 65535 65536 16777216 4294967295 4294967296 a'.split(' ');
    expect(faults(() => join(5, '.', () => pick([...parts, ''])))).toEqual([]);
  });

  it('IPv6: every form of compression, embedded IPv4, and invalid texts', () => {
    const groups = '0 0 0 0 1 00 0000 00000 abcd ABCD f 1.2.3.4 01.2.3.4 1.2.3 1.2.3.256 g'.split(' ');
    const address = () => join(9, ':', () => pick([...groups, '']));
    expect(faults(() => `[${pick(['', '', '::'])}${address()}${pick(['', '', '::'])}]`)).toEqual([]);
    const zeros = () => Array.from({ length: 8 }, () => pick(['0', '0', '1', 'ff'])).join(':');
    expect(faults(() => `[${zeros()}]`)).toEqual([]);
  });
});
