import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { jsonBatch } from './entries.js';
import { PackedItems } from './packed-items.js';

const LIMITS = { maxItems: 3, maxItemBytes: 6 };
const RUNS = 8_000;

function pack(json: string): PackedItems | undefined {
  return PackedItems.of(Buffer.from(json), async () => JSON.parse(json) as unknown);
}

function texts({ keys: { bytes, span, length } }: Pick<PackedItems, 'keys'>): string[] {
  return Array.from({ length }, (_, i) =>
    Buffer.from(bytes.subarray(span[2 * i], span[2 * i + 1])).toString(),
  );
}

/** A body's items, or the error that refuses it. */
async function outcome(body: unknown): Promise<readonly string[] | string> {
  try {
    const batch = body instanceof PackedItems ? await body.entries(LIMITS) : jsonBatch(body, 'items', LIMITS);
    return 'span' in batch ? texts({ keys: batch }) : batch;
  } catch (error) {
    return String(error);
  }
}

/** Texts that the test puts in the wrong places of bodies. */
const PIECES = [
  ...['{', '}', '[', ']', ':', ',', '"', '\\', 'x', '//', '""', '"a"', '"\\u0061"', '"items"', '"items":'],
  ...['"items":["b"],', ',"items":["b"]', '"x":1,', 'null', '1', '{}', '[]'],
  ...['\n', '\0', '\x7f', '\u00a0', '\u2028', '\ufeff'],
];

/** Bodies of items. Most have a piece inserted, deleted, doubled or replaced somewhere. */
function bodies(): fc.Arbitrary<string> {
  const space = fc.constantFrom('', '', '', ' ', '\n', '\r\n\t ');
  const short = fc.oneof(fc.string({ maxLength: 7 }), fc.string({ unit: 'binary', maxLength: 2 }));
  const text = short.map((one) => JSON.stringify(one));
  const item = fc.oneof(
    { weight: 12, arbitrary: text },
    { weight: 1, arbitrary: fc.constantFrom(...PIECES) },
  );
  const items = fc
    .array(fc.tuple(item, space, space), { maxLength: 5 })
    .map((all) => all.flatMap(([one, before, after], i) => [i === 0 ? '' : ',', before, one, after]));
  const around = fc.tuple(space, space, space, space, space);
  const whole = fc
    .tuple(items, around)
    .map(([pieces, [a, b, c, d, e]]) => [a, '{', b, '"items"', c, ':', d, '[', ...pieces, ']', e, '}', a]);
  const how = fc.constantFrom('put' as const, 'take' as const, 'double' as const, 'replace' as const);
  const change = fc.tuple(fc.nat(), how, fc.constantFrom(...PIECES));
  return fc.tuple(whole, fc.array(change, { maxLength: 2 })).map(([pieces, changes]) => {
    for (const [where, how, piece] of changes) {
      const at = where % pieces.length;
      const [old = ''] = pieces.splice(at, how === 'put' ? 0 : 1);
      const put = { put: [piece], take: [], double: [old, old], replace: [piece] };
      pieces.splice(at, 0, ...put[how]);
    }
    return pieces.join('');
  });
}

describe('PackedItems', () => {
  it.each([
    '{"items":["a","b"]}',
    ' \t\r\n{ "items" : [ "a" , "b" ] } \n',
    '{"items":["日本","😀"]}',
    `{"items":["${'x'.repeat(100_000)}"]}`,
  ])('accepts a body of plain items', async (json) => {
    const packed = pack(json)!;
    expect({ items: texts(packed) }).toEqual(JSON.parse(json));
    expect(await packed.parse()).toEqual(JSON.parse(json));
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
  ])('leaves other bodies to the parser: %#', (json) => {
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
  ])('checks its limits: %s', (json, within) => {
    expect(pack(json)?.isWithin(LIMITS)).toBe(within);
  });

  it(`gets the same answer as its parsed form (${RUNS} bodies)`, async () => {
    let packed = 0;
    let taken = 0;
    const holds = async (json: string): Promise<void> => {
      const fast = pack(json);
      if (fast === undefined) return;
      packed++;
      // JSON.parse throws for invalid JSON, so the test fails if such a body was packed.
      const slow = await outcome(JSON.parse(json));
      expect(await outcome(fast)).toEqual(slow);
      if (Array.isArray(slow)) taken++;
    };
    await fc.assert(fc.asyncProperty(bodies(), holds), { numRuns: RUNS });
    expect(packed).toBeGreaterThan(RUNS / 10);
    expect(packed - taken).toBeGreaterThan(RUNS / 100);
    expect(taken).toBeGreaterThan(RUNS / 100);
  });
});
