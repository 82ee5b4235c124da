import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { lineBlocks, type ItemLimits, type LineBlock } from './line-blocks.js';
import { maxLineBytes, type LineFormat } from './line-format.js';
import { LineInput } from './line-input.js';

const LIMITS = {
  entries: 'items',
  maxItemBytes: 100,
  maxLineBytes: 602,
  maxStreamBytes: 1e9,
  idleMs: 1_000,
  minBytesPerSecond: 1,
  wholeBlocks: true,
} as const;

async function blocksOf(
  format: LineFormat,
  chunks: Iterable<Buffer>,
  limits: ItemLimits = LIMITS,
): Promise<LineBlock[]> {
  const input = new LineInput(Readable.from(chunks) as IncomingMessage, format);
  const blocks: LineBlock[] = [];
  for await (const block of lineBlocks(input, limits)) blocks.push(block);
  return blocks;
}

/** The bytes in chunks of `size`. */
function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe('lineBlocks', () => {
  const lines = Array.from({ length: 2_345 }, (_, i) => (i % 10 === 0 ? `€ ${i} 😀` : `line ${i}`));

  it.each([1, 7, 100, 65_536, 1e6])('yields the same blocks for any chunk size: %i bytes', async (size) => {
    for (const [format, text] of [
      ['text', lines.join('\r\n')],
      ['ndjson', `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`],
    ] as const) {
      const blocks = await blocksOf(format, cut(Buffer.from(text), size));
      expect(blocks.map(({ from, items, fault }) => [from, items.length, fault])).toEqual([
        [1, 1_000, undefined],
        [1_001, 1_000, undefined],
        [2_001, 345, undefined],
      ]);
      expect(blocks.flatMap(({ items }) => items)).toEqual(lines);
    }
  });

  it('finds where blocks begin by counting lines, not items', async () => {
    const text = `${'\n'.repeat(999)}a\nb\n`;
    const blocks = await blocksOf('text', [Buffer.from(text)]);
    expect(blocks).toEqual([
      { from: 1, items: ['a'] },
      { from: 1_001, items: ['b'] },
    ]);
  });

  it('ignores a byte order mark only at the very start of a text', async () => {
    const text = `\ufeff${'x'.repeat(100)}\r\n\ufeffb\n`;
    for (const size of [1, 2, 1e6]) {
      expect(await blocksOf('text', cut(Buffer.from(text), size))).toEqual([
        { from: 1, items: ['x'.repeat(100), '\ufeffb'] },
      ]);
    }
    expect(await blocksOf('text', [Buffer.from('\ufeff\n\ufeffb')])).toEqual([
      { from: 1, items: ['\ufeffb'] },
    ]);
    expect(await blocksOf('text', [Buffer.from('\ufeff\ufeffb')])).toEqual([{ from: 1, items: ['\ufeffb'] }]);
    expect(await blocksOf('ndjson', [Buffer.from('"\ufeffa"\n')])).toEqual([{ from: 1, items: ['\ufeffa'] }]);
    expect(await blocksOf('ndjson', [Buffer.from('\ufeff"a"\n')])).toMatchObject([{ fault: { line: 1 } }]);
  });

  it.each([1, 64, 1e6])('names the bad line for any chunk size: %i bytes', async (size) => {
    for (const bad of [
      '{}',
      '"',
      'null',
      '',
      '"a" "b"',
      '"a", "b"',
      `"${'x'.repeat(101)}"`,
      'x'.repeat(700),
    ]) {
      const text = `${'"good"\n'.repeat(1_500)}${bad}\n"after"\n`;
      const blocks = await blocksOf('ndjson', cut(Buffer.from(text), size));
      expect(blocks.map(({ from, items, fault }) => [from, items.length, fault?.line])).toEqual([
        [1, 1_000, undefined],
        [1_001, 500, 1_501],
      ]);
      expect(blocks[1]?.fault?.problem).toMatchObject({ code: 'VALIDATION_FAILED', line: 1_501 });
    }
  });

  it('does not accept lines that are strings only when joined', async () => {
    // Joined only by commas, these lines would be two strings.
    const blocks = await blocksOf('ndjson', [Buffer.from('"a\nb"\n"c","d"\n')]);
    expect(blocks).toMatchObject([{ from: 1, items: [], fault: { line: 1 } }]);
  });

  describe('a line that is too long, in a body of URLs', () => {
    const urlLimits = (format: LineFormat): ItemLimits => ({
      ...LIMITS,
      entries: 'urls',
      maxLineBytes: maxLineBytes(format, LIMITS.maxItemBytes),
      cutTo: LIMITS.maxItemBytes,
    });
    const wire = (format: LineFormat, line: string): string =>
      format === 'ndjson' ? JSON.stringify(line) : line;
    const encoded = (format: LineFormat, lines: readonly string[]): Buffer =>
      Buffer.from(lines.map((line) => `${wire(format, line)}\n`).join(''));

    it.each([1, 64, 1_000, 1e6])('is one item for any chunk size: %i bytes', async (size) => {
      for (const format of ['text', 'ndjson'] as const) {
        for (const long of ['x'.repeat(110), 'x'.repeat(700), `${'é'.repeat(500)}\r`, 'x'.repeat(3_000)]) {
          const lines = [...Array<string>(999).fill('a'), long, 'b', long];
          const blocks = await blocksOf(format, cut(encoded(format, lines), size), urlLimits(format));
          const shape = blocks.map(({ from, items, fault }) => [from, items.length, fault]);
          expect([format, shape]).toEqual([
            format,
            [
              [1, 1_000, undefined],
              [1_001, 2, undefined],
            ],
          ]);
          const items = blocks.flatMap((block) => block.items as string[]);
          expect([items[998], items[1_000]]).toEqual(['a', 'b']);
          expect(items[999]).toBe(items[1_001]);
          expect(Buffer.byteLength(items[999]!)).toBeGreaterThan(LIMITS.maxItemBytes);
        }
      }
    });

    it('is the same item for any chunk size, and a different item if one byte differs', async () => {
      for (const format of ['text', 'ndjson'] as const) {
        const item = async (line: string, size: number): Promise<string> => {
          const blocks = await blocksOf(format, cut(encoded(format, [line]), size), urlLimits(format));
          return blocks[0]!.items[0] as string;
        };
        const long = 'x'.repeat(1_000);
        const items = await Promise.all([1, 13, 999, 1e6].map((size) => item(long, size)));
        expect(new Set(items).size).toBe(1);
        for (const other of [`${long}x`, `${long.slice(1)}y`, `y${long.slice(1)}`]) {
          expect(await item(other, 1e6)).not.toBe(items[0]);
        }
      }
    });

    it('takes no more memory than other lines, and hides no fault in a later line', async () => {
      const limits = urlLimits('ndjson');
      const long = Buffer.from(`"${'x'.repeat(10_000)}"\n`);
      const notUtf8 = Buffer.concat([Buffer.alloc(700, 0xff), Buffer.from('\n')]);
      for (const size of [7, 1_000, 1e6]) {
        const chunks = cut(Buffer.concat([long, notUtf8, Buffer.from('{}\n')]), size);
        const [block] = await blocksOf('ndjson', chunks, limits);
        expect(block).toMatchObject({ from: 1, fault: { line: 3 } });
        expect(block!.items).toHaveLength(2);
        for (const item of block!.items as string[])
          expect(item.length).toBeLessThan(LIMITS.maxItemBytes + 100);
      }
    });
  });
});
