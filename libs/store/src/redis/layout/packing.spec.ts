import { describe, expect, it } from '@jest/globals';
import { type Geometry, positionsOf } from '#bloom';
import {
  dealChunks,
  isWide,
  itemsPerRead,
  itemsPerScript,
  packHashes,
  packItems,
  packPayloads,
} from './packing.js';

const geometry = (change: Partial<Geometry>): Geometry => ({
  ...{ hashScheme: 1, cellBits: 4, hashes: 6, pageCells: 256, pagesPerSegment: 1000, segments: 1 },
  ...change,
});
const seed = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const keys = Array.from({ length: 500 }, (_, i) => `https://example.org/${i}`);

/** The cells of a packed item as scripts read them, computed from byte offsets and weights. */
function unpackItems(packed: Buffer, shape: Geometry): number[][] {
  const k = shape.hashes;
  const wide = isWide(shape);
  const items: number[][] = [];
  for (let at = 0; at < packed.length;) {
    const [startDigits, endDigits] = [packed[at] as number, packed[at + 1] as number];
    at += 2;
    const high = wide ? packed.subarray(at, (at += k)) : new Uint8Array(k);
    const low = packed.subarray(at, (at += k));
    const weights = packed.subarray(at, (at += k));
    const start = Number(packed.toString('latin1', at, (at += startDigits)));
    const end = Number(packed.toString('latin1', at, (at += endDigits)));
    const cells = [...low].map((offset, j) => {
      const bit = 7 - Math.log2(weights[j] as number);
      const byte = start + (high[j] as number) * 256 + offset;
      expect(byte).toBeLessThanOrEqual(end);
      return (byte * 8 + bit - (shape.cellBits - 1)) / shape.cellBits;
    });
    items.push(cells);
  }
  return items;
}

describe('packed items', () => {
  it.each([
    ['counters', geometry({})],
    ['counters in wide pages', geometry({ hashes: 17, pageCells: 1024 })],
    ['counters beyond 2^24 cells', geometry({ pagesPerSegment: 130_000 })],
    ['bits', geometry({ cellBits: 1, hashes: 9, pageCells: 512 })],
    ['bits in wide pages', geometry({ cellBits: 1, hashes: 26, pageCells: 4096 })],
  ])('have the cells of every item: %s', (_, shape) => {
    const positions = positionsOf(keys, seed, shape);
    const indexes = Uint32Array.from({ length: 250 }, (_unused, i) => i * 2);
    const unpacked = unpackItems(packItems(positions, indexes, shape), shape);
    const k = shape.hashes;
    expect(unpacked).toEqual(
      [...indexes].map((i) =>
        [...positions.cell.subarray(i * k, i * k + k)].map(
          (c) => (positions.page[i] as number) * shape.pageCells + c,
        ),
      ),
    );
  });

  it('have the hashes and payloads of the chosen items', () => {
    const positions = positionsOf(['a', 'b', 'c'], seed, geometry({}));
    const indexes = Uint32Array.of(2, 0);
    const payloads = ['', 'unused', 'https://é.example/'];
    const packed = packPayloads(positions, indexes, payloads);
    const hashes = packHashes(positions, indexes);
    expect(packed.subarray(0, 16)).toEqual(hashes.subarray(0, 16));
    expect(packed.readUInt32BE(16)).toBe(19);
    expect(packed.toString('utf8', 20, 39)).toBe('https://é.example/');
    expect(packed.subarray(39, 55)).toEqual(hashes.subarray(16));
    expect(packed.readUInt32BE(55)).toBe(0);
    expect(packed.length).toBe(59);
    expect(hashes.readUInt32BE(16)).toBe(positions.hash[0]);
  });
});

describe('chunks', () => {
  it('have every item once, in batch order within each segment', () => {
    const segment = Uint32Array.from({ length: 1000 }, (_, i) => (i * 7) % 5);
    const dealt = dealChunks(segment, 6, 64);
    expect(dealt.map(([first]) => first?.segment)).toEqual([0, 1, 2, 3, 4]);
    for (const chunks of dealt) {
      expect(chunks.map((chunk) => chunk.number)).toEqual(chunks.map((_, n) => n));
      const indexes = chunks.flatMap((chunk) => [...chunk.indexes]);
      expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
      expect(indexes.every((i) => segment[i] === chunks[0]?.segment)).toBe(true);
      expect(chunks.slice(0, -1).every((chunk) => chunk.indexes.length === 64)).toBe(true);
    }
    expect(dealt.flat().reduce((sum, chunk) => sum + chunk.indexes.length, 0)).toBe(1000);
    const nothing = new Uint32Array(0);
    expect(dealChunks(nothing, 3, 64)).toEqual([[{ segment: 0, number: 0, indexes: nothing }]]);
  });

  it('hold fewer items if items cost more, but at least one', () => {
    expect(itemsPerScript([geometry({})])).toBeGreaterThanOrEqual(100);
    const costly = geometry({ hashes: 12, pageCells: 512 });
    expect(itemsPerScript([costly])).toBeLessThan(itemsPerScript([geometry({})]));
    expect(itemsPerScript([geometry({}), costly])).toBeLessThan(itemsPerScript([costly]));
    expect(itemsPerRead([geometry({})])).toBeGreaterThan(1.9 * itemsPerScript([geometry({})]));
    expect(itemsPerRead([geometry({}), costly])).toBeLessThan(itemsPerRead([geometry({})]));
    expect(itemsPerScript([geometry({ hashes: 26, pageCells: 4096 })])).toBeGreaterThan(0);
  });
});
