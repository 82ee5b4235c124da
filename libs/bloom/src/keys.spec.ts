import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Geometry } from './geometry.js';
import { HASH_SCHEMES, SEED_BYTES } from './hash-scheme.js';
import { hashBytes, readStrings } from './kernel.js';
import { KERNEL_BINARY } from './kernel-binary.js';
import { sliceKeys, type PackedKeys } from './keys.js';
import { positionsOf } from './positions.js';

const SEED = Uint8Array.from({ length: SEED_BYTES }, (_, i) => i * 3);
const GEOMETRY: Geometry = {
  hashScheme: 2,
  cellBits: 4,
  hashes: 6,
  pageCells: 256,
  pagesPerSegment: 1000,
  segments: 3,
};
const RUNS = 5_000;

/** The strings that readStrings finds in an array at the start of the text, and the text after the array. */
function read(text: string): { texts: string[]; rest: string } | undefined {
  const json = Buffer.from(text);
  const found = readStrings(json, 1);
  if (!found) return undefined;
  const { span, end } = found;
  const texts = Array.from({ length: span.length / 2 }, (_, i) =>
    json.toString('utf8', span[2 * i], span[2 * i + 1]),
  );
  return { texts, rest: json.toString('utf8', end) };
}

function pack(keys: readonly string[]): PackedKeys {
  const bytes = Buffer.from(JSON.stringify(keys));
  return { bytes, span: readStrings(bytes, 1)!.span, length: keys.length };
}

describe('readStrings', () => {
  it.each([
    ['["a","b"]', ['a', 'b'], ''],
    ['["a" ,\r\n\t"b" ]}', ['a', 'b'], '}'],
    ['["",""]x', ['', ''], 'x'],
    ['["ä","日本","😀","\u007f"] ', ['ä', '日本', '😀', '\u007f'], ' '],
    ['["12345678","1234567","123456789"]', ['12345678', '1234567', '123456789'], ''],
    ['["[{:,"]', ['[{:,'], ''],
  ])('reads %j', (text, texts, rest) => {
    expect(read(text)).toEqual({ texts, rest });
  });

  it.each([
    '[]',
    '[ "a"]',
    '["a",]',
    '["a"',
    '["a',
    '["a","b',
    '["a",',
    '["a" "b"]',
    '["a\\n"]',
    '["\\""]',
    '["\\u0061"]',
    '["a\n"]',
    '["a\u0000"]',
    '["a\u001f"]',
    '["a",1]',
    '["a",null]',
    '["a",["b"]]',
    '["a"]'.slice(0, 4),
    "['a']",
    '["12345678\\"]',
    '["1234567',
  ])('leaves %j to the parser', (text) => {
    expect(read(text)).toBeUndefined();
  });

  it('ignores the rest of an earlier text in the kernel’s memory', () => {
    const text = '["first", "second" , "third, of more than eight bytes" ]';
    for (let length = 1; length < text.length; length++) {
      expect(read(text)?.texts).toHaveLength(3);
      expect([length, read(text.slice(0, length))]).toEqual([length, undefined]);
    }
  });

  it(`reads the same strings as JSON.parse, or nothing (${RUNS} arrays)`, () => {
    const element = fc.oneof(
      { weight: 30, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    let plain = 0;
    const holds = (values: readonly unknown[], indent: number): void => {
      const json = JSON.stringify(values, undefined, indent);
      const text = json.replace(/^\[\s*/, '[');
      const found = read(text);
      const isPlain =
        values.length > 0 && values.every((value) => typeof value === 'string') && !text.includes('\\');
      expect(found).toEqual(isPlain ? { texts: JSON.parse(json) as string[], rest: '' } : undefined);
      if (isPlain) plain++;
    };
    fc.assert(fc.property(fc.array(element, { maxLength: 8 }), fc.integer({ min: 0, max: 3 }), holds), {
      numRuns: RUNS,
    });
    expect(plain).toBeGreaterThan(RUNS / 10);
  });

  it('reads text with a changed byte as JSON.parse does, or not at all', () => {
    const json = Buffer.from('["first","zweit\u00e4r" , "third one"]');
    for (let at = 1; at < json.length; at++) {
      for (const byte of Buffer.from('",\\[] \n\u0001x')) {
        const changed = Buffer.from(json);
        changed[at] = byte;
        const text = changed.toString('latin1');
        const found = readStrings(changed, 1);
        if (found === undefined) continue;
        const texts = Array.from({ length: found.span.length / 2 }, (_, i) =>
          text.slice(found.span[2 * i], found.span[2 * i + 1]),
        );
        expect([text, texts]).toEqual([text, JSON.parse(text.slice(0, found.end))]);
      }
    }
  });
});

describe('packed keys', () => {
  const keys = Array.from({ length: 3_000 }, (_, i) => `${['', 'ä', '日本', '😀'][i % 4]!}key ${i}`);
  keys[500] = 'ß'.repeat(300_000);
  keys[2_000] = 'x'.repeat(200_000);
  keys[2_001] = 'y'.repeat(200_000);

  it.each([1, 2])('have the same positions as their strings, hash scheme %d', (hashScheme) => {
    const geometry = { ...GEOMETRY, hashScheme };
    expect(positionsOf(pack(keys), SEED, geometry)).toEqual(positionsOf(keys, SEED, geometry));
  });

  it('can be sliced', () => {
    for (const [from, to] of [
      [0, 0],
      [0, 1],
      [499, 502],
      [1_999, 3_000],
    ] as const) {
      expect(positionsOf(sliceKeys(pack(keys), from, to), SEED, GEOMETRY)).toEqual(
        positionsOf(keys.slice(from, to), SEED, GEOMETRY),
      );
    }
  });
});

describe('the kernel', () => {
  /** The address of the first key in the kernel's memory. */
  function keysBegin(): number {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const kernel = new WebAssembly.Module(Buffer.from(KERNEL_BINARY, 'base64'));
    const { BYTES } = new WebAssembly.Instance(kernel, { env: { memory } }).exports as {
      BYTES: WebAssembly.Global;
    };
    return BYTES.value;
  }

  it('grows its memory before it reads a whole word at the end', () => {
    const end = 100 * 65_536 - keysBegin();
    for (let length = end - 20; length <= end + 2; length++) {
      const bytes = Buffer.alloc(length, 'x');
      for (const scheme of HASH_SCHEMES) expect(hashBytes(scheme, SEED, bytes)).toHaveLength(4);
      bytes[0] = 0x22;
      expect(readStrings(bytes, 0)).toBeUndefined();
    }
  });
});
