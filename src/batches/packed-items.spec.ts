import { describe, expect, it } from '@jest/globals';
import { PackedItems } from './packed-items.js';

const LIMITS = { maxItems: 3, maxItemBytes: 6 };

function pack(json: string): PackedItems | undefined {
  return PackedItems.of(Buffer.from(json), () => JSON.parse(json) as unknown);
}

function texts({ keys: { bytes, span, length } }: PackedItems): string[] {
  return Array.from({ length }, (_, i) =>
    Buffer.from(bytes.subarray(span[2 * i], span[2 * i + 1])).toString(),
  );
}

describe('PackedItems', () => {
  it.each([
    '{"items":["a","b"]}',
    ' \t\r\n{ "items" : [ "a" , "b" ] } \n',
    '{"items":["日本","😀"]}',
    `{"items":["${'x'.repeat(100_000)}"]}`,
  ])('takes what has plain items only', (json) => {
    const packed = pack(json)!;
    expect({ items: texts(packed) }).toEqual(JSON.parse(json));
    expect(packed.parse()).toEqual(JSON.parse(json));
  });

  it.each([
    '{"items":[]}',
    '{"items":["a\\n"]}',
    '{"items":["a"],"x":1}',
    '{"items":["a"],"items":["b"]}',
    '{"x":1,"items":["a"]}',
    '{"urls":["a"]}',
    '{"Items":["a"]}',
    '{"items":["a",1]}',
    '{"items":["a"]}}',
    '{"items":["a"]',
    '{"items":["a"}',
    '{"items":"a"}',
    '[{"items":["a"]}]',
    '["a"]',
    '"items"',
    '\ufeff{"items":["a"]}',
    '{"items":\u00a0["a"]}',
    `${' '.repeat(100)}{"items":["a"]}`,
    `{"items":["${'x'.repeat(2 ** 21)}"]}`,
  ])('leaves all else to the parser: %#', (json) => {
    expect(pack(json)).toBeUndefined();
  });

  it.each([
    ['{"items":["a","b","c"]}', true],
    ['{"items":["a","b","c","d"]}', false],
    ['{"items":["123456"]}', true],
    ['{"items":["1234567"]}', false],
    ['{"items":["日本"]}', true],
    ['{"items":["日本語"]}', false],
    ['{"items":["a",""]}', false],
  ])('knows its limits: %s', (json, within) => {
    expect(pack(json)?.isWithin(LIMITS)).toBe(within);
  });
});
