import { describe, expect, it } from '@jest/globals';
import type { Geometry } from './geometry.js';
import { HASH_SCHEMES, HOST_HASH_SCHEME, SEED_BYTES } from './hash-scheme.js';
import { hashBytes } from './kernel.js';
import { positionsOf, positionsOfHashes, relocate, select, type Positions } from './positions.js';
import { planGeometry } from './sizing.js';

const SEED = Uint8Array.from({ length: SEED_BYTES }, (_, i) => (i * 37 + 5) & 0xff);
const ITEMS = 200_000;

const geometry: Geometry = {
  hashScheme: 1,
  cellBits: 4,
  hashes: 9,
  pageCells: 512,
  pagesPerSegment: 1000,
  segments: 7,
};

/** The geometry of a scheme. No key here has a host, so a single run takes all of them. */
const underScheme = (hashScheme: number): Geometry => ({
  ...{ ...geometry, hashScheme },
  ...(hashScheme === HOST_HASH_SCHEME && { spread: 1 }),
});

/** i in base 36, padded to `width` characters: 36^4 = 1.7 million keys of four bytes. */
const short = (width: number) => (i: number) => i.toString(36).padStart(width, '0');

/** Typical keys. In keys of up to 4 or 8 bytes, some words of murmur3 x86_128 are equal. */
const KEYS: readonly (readonly [string, (i: number) => string])[] = [
  ['short numbers', (i) => String(i)],
  ['URLs', (i) => `https://www.example.org/articles/${i % 97}/page-${i}?lang=en`],
  [
    'hex digests',
    (i) =>
      Math.imul(i + 1, 0x9e3779b1)
        .toString(16)
        .padStart(8, '0')
        .repeat(5),
  ],
  ['at most 4 bytes', short(4)],
  ['at most 8 bytes', short(8)],
  ['four-byte characters', (i) => String.fromCodePoint(0x1f300 + (i % 1024)) + String(i)],
];

/**
 * Standard score of the chi-square statistic for counts that should be equal. With many cells, it is normal with mean 0
 * and deviation 1. Key and seed are fixed, so comparing it with a bound of 5 always has the same result.
 */
function uniformityScore(counts: Uint32Array): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const statistic = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = counts.length - 1;
  return (statistic - freedom) / Math.sqrt(2 * freedom);
}

function tally(size: number, count: number, bucket: (item: number) => number): Uint32Array {
  const counts = new Uint32Array(size);
  for (let i = 0; i < count; i++) counts[bucket(i)]!++;
  return counts;
}

function batch(key: (i: number) => string, of: Geometry = geometry): Positions {
  return positionsOf(
    Array.from({ length: ITEMS }, (_, i) => key(i)),
    SEED,
    of,
  );
}

/** An item's cells, computed from its hash directly by definition: one by one, with a Set. */
function cellsOf(hash: Uint32Array, { hashScheme, pageCells, hashes }: Geometry): number[] {
  const turn = (word: number, bits: number) => ((word << bits) | (word >>> (32 - bits))) >>> 0;
  const [h0, , h2, h3] = hash as unknown as [number, number, number, number];
  let [s0, s1] = [h2, hashScheme === HOST_HASH_SCHEME ? h3 : (h3 ^ turn(h0, 16)) >>> 0];
  const cells = new Set<number>();
  while (cells.size < hashes) {
    const draw = Math.imul(turn(Math.imul(s0, 0x9e3779bb) >>> 0, 5), 5) >>> 0;
    cells.add(Math.floor((draw / 2 ** 32) * pageCells));
    s1 = (s1 ^ s0) >>> 0;
    s0 = (turn(s0, 26) ^ s1 ^ (s1 << 9)) >>> 0;
    s1 = turn(s1, 13);
  }
  return [...cells].sort((a, b) => a - b);
}

const CASES = HASH_SCHEMES.flatMap((scheme) => KEYS.map(([name, key]) => ({ scheme, name, key })));

describe.each(CASES)('positions of $name, hash scheme $scheme', ({ scheme, key }) => {
  const { segment, page, cell, hashes } = batch(key, underScheme(scheme));
  const at = (values: ArrayLike<number>, i: number) => values[i] as number;

  it('spread evenly over segments, pages and cells', () => {
    expect(uniformityScore(tally(7, ITEMS, (i) => at(segment, i)))).toBeLessThan(5);
    expect(uniformityScore(tally(1000, ITEMS, (i) => at(page, i)))).toBeLessThan(5);
    expect(uniformityScore(tally(512, cell.length, (i) => at(cell, i)))).toBeLessThan(5);
  });

  it('choose segment, page and cells independently of each other', () => {
    const joint = (size: number, bucket: (i: number) => number) =>
      uniformityScore(tally(size, ITEMS, bucket));
    // A random cell of an item is uniform, but its sorted slots are not. i % hashes picks each slot in turn.
    const someCell = (i: number) => at(cell, i * hashes + (i % hashes)) >> 3;
    expect(joint(7 * 1000, (i) => at(segment, i) * 1000 + at(page, i))).toBeLessThan(5);
    expect(joint(7 * 64, (i) => at(segment, i) * 64 + someCell(i))).toBeLessThan(5);
    expect(joint(125 * 64, (i) => (at(page, i) >> 3) * 64 + someCell(i))).toBeLessThan(5);
  });

  it('have distinct, ascending cells inside the page', () => {
    for (let i = 0; i < ITEMS; i++) {
      for (let j = i * hashes + 1; j < (i + 1) * hashes; j++) {
        if (at(cell, j) <= at(cell, j - 1)) throw new Error(`cells of item ${i} are out of order`);
      }
    }
    expect(Math.max(...tally(512, cell.length, (i) => at(cell, i)).keys())).toBe(511);
  });
});

describe('positions', () => {
  it('depend on nothing but key, seed and geometry', () => {
    const keys = ['', 'a', 'ä', '日本', '😀', 'x'.repeat(5000)];
    const once = positionsOf(keys, SEED, geometry);
    expect(positionsOf(keys, SEED, geometry)).toEqual(once);
    expect(positionsOf([...keys].reverse(), SEED, geometry).page.reverse()).toEqual(once.page);
    expect(
      positionsOf(
        keys,
        SEED.map((byte) => byte ^ 1),
        geometry,
      ).hash,
    ).not.toEqual(once.hash);
    expect(positionsOf([], SEED, geometry)).toMatchObject({ count: 0, hashes: 9 });
  });

  it('match the definition for every page size and number of hashes', () => {
    const keys = Array.from({ length: 20 }, (_, i) => `key ${i}`);
    for (const pageCells of [128, 256, 512, 1024, 2048, 4096]) {
      for (let hashes = 1; hashes <= 32; hashes++) {
        const shape = { ...underScheme(1 + (hashes % 3)), pageCells, hashes };
        const { hash, cell } = positionsOf(keys, SEED, shape);
        const cells = keys.map((_, i) => [...cell.subarray(i * hashes, (i + 1) * hashes)]);
        expect(cells).toEqual(keys.map((_, i) => cellsOf(hash.subarray(4 * i, 4 * i + 4), shape)));
      }
    }
  });

  it('are complete when an item takes every cell of the page', () => {
    const { cell } = positionsOf(['all of them'], SEED, { ...geometry, pageCells: 32, hashes: 32 });
    expect([...cell]).toEqual(Array.from({ length: 32 }, (_, i) => i));
  });

  it('throw for more cells per item than possible', () => {
    expect(() => positionsOf(['a'], SEED, { ...geometry, hashes: 33 })).toThrow(
      '33 cells per item; the limit is 32',
    );
    expect(() => positionsOf(['a'], SEED, { ...geometry, pageCells: 8 })).toThrow(
      '9 cells per item; the limit is 8',
    );
  });

  it('are the same in every batch: large, with long keys, in every script', () => {
    const scripts = ['plain', 'ä', '日本', '😀', ''];
    const keys = Array.from({ length: 5_000 }, (_, i) => scripts[i % scripts.length]! + i);
    keys[1_000] = 'ß'.repeat(400_000);
    keys[3_000] = 'x'.repeat(300_000);
    keys[3_001] = 'y'.repeat(300_000);
    const { hash, segment, page, cell, hashes } = positionsOf(keys, SEED, geometry);
    keys.forEach((key, i) => {
      const alone = positionsOf([key], SEED, geometry);
      expect([i, ...alone.hash, alone.segment[0], alone.page[0], ...alone.cell]).toEqual([
        i,
        ...hash.subarray(4 * i, 4 * i + 4),
        segment[i],
        page[i],
        ...cell.subarray(hashes * i, hashes * (i + 1)),
      ]);
    });
  });

  it('throw for lone surrogates that a batch would join', () => {
    expect(() => positionsOf(['a\ud83d', '\ude00b'], SEED, geometry)).toThrow('not well-formed');
  });

  it('throw for a seed of the wrong length', () => {
    expect(() => positionsOf(['a'], new Uint8Array(4), geometry)).toThrow(RangeError);
  });

  // JavaScript's bit operations are signed and 32 bits wide, so the reference uses BigInt.
  it('are exact beyond 2^31: hash words, pages, counter offsets', () => {
    const large: Geometry = { ...geometry, pageCells: 4096, pagesPerSegment: 2 ** 21 - 1, segments: 70_001 };
    const { hash, segment, page, cell, hashes } = batch(KEYS[1]![1], large);
    const scaled = (word: number, n: number) => Number((BigInt(word) * BigInt(n)) >> 32n);
    let words = 0;
    let offsets = 0;
    for (let i = 0; i < ITEMS; i++) {
      const [h0, h1] = [hash[i * 4] as number, hash[i * 4 + 1] as number];
      const exact = [scaled(h0, large.segments), scaled(h1, large.pagesPerSegment)];
      if (segment[i] !== exact[0] || page[i] !== exact[1]) throw new Error(`item ${i}: not ${String(exact)}`);
      if (h0 >= 2 ** 31) words++;
      if ((page[i] as number) * large.pageCells + (cell[i * hashes] as number) >= 2 ** 31) offsets++;
    }
    expect(words / ITEMS).toBeCloseTo(0.5, 2);
    expect(offsets / ITEMS).toBeCloseTo(0.75, 2);
    expect(Math.max(...segment.subarray(0, 1000))).toBeGreaterThan(65_536);
  });
});

describe('positions by host', () => {
  const spreads: Geometry = { ...geometry, hashScheme: HOST_HASH_SCHEME, segments: 12, spread: 3 };
  const runOf = (url: string) => Math.floor((positionsOf([url], SEED, spreads).segment[0] as number) / 4);
  const hostWord = (url: string) => positionsOf([url], SEED, spreads).hash[0];

  it.each([
    'http://example.org/',
    'https://example.org/other?a=b#c',
    'https://example.org:8443/',
    'http://user@example.org/',
    'http://user:pass@example.org:8080/x',
    'http://example.org?x=http://other.example/',
    'http://example.org#@other.example',
    'http://example.org/a@other.example:80/',
    'http://example.org',
  ])('are in the host’s run: %s', (url) => {
    expect(hostWord(url)).toBe(hostWord('http://example.org/'));
    expect(runOf(url)).toBe(runOf('http://example.org/'));
  });

  it.each([
    ['http://[::1]/', 'http://[::1]:8080/x'],
    ['http://[2001:db8::1]/', 'http://u:p@[2001:db8::1]:1/'],
    // No URLs.
    ['', 'isbn:9780262033848'],
    ['a', 'urn:a/b://c'],
    ['http:/', 'http:/example.org/'],
  ])('are the same for %s and %s', (one, other) => {
    expect(hostWord(one)).toBe(hostWord(other));
  });

  it.each([
    ['http://example.org/', 'http://www.example.org/'],
    ['http://example.org/', 'http://example.orga/'],
    ['http://[::1]/', 'http://[::1:8080]/'],
    ['http://a:b@c/', 'http://a/'],
  ])('differ for %s and %s', (one, other) => {
    expect(hostWord(one)).not.toBe(hostWord(other));
  });

  it('spread a host’s URLs evenly over its run’s segments, pages and cells', () => {
    const { segment, page, cell, hashes } = batch((i) => `https://www.example.org/${i}`, spreads);
    const run = Math.floor((segment[0] as number) / 4);
    expect(new Set(segment)).toEqual(new Set([0, 1, 2, 3].map((n) => 4 * run + n)));
    const joint = (size: number, bucket: (i: number) => number) =>
      uniformityScore(tally(size, ITEMS, bucket));
    const inRun = (i: number) => (segment[i] as number) - 4 * run;
    const someCell = (i: number) => (cell[i * hashes + (i % hashes)] as number) >> 3;
    expect(joint(4 * 1000, (i) => inRun(i) * 1000 + (page[i] as number))).toBeLessThan(5);
    expect(joint(4 * 64, (i) => inRun(i) * 64 + someCell(i))).toBeLessThan(5);
    expect(joint(125 * 64, (i) => ((page[i] as number) >> 3) * 64 + someCell(i))).toBeLessThan(5);
  });

  it('spread hosts evenly over the runs', () => {
    const { segment } = batch((i) => `https://h${i}.example/`, spreads);
    expect(uniformityScore(tally(12, ITEMS, (i) => segment[i] as number))).toBeLessThan(5);
  });

  it('include two words of each host’s hash, in any block and selection', () => {
    const keys = Array.from({ length: 2_000 }, (_, i) => `http://u@${i % 40}.example:${i}/${i}`);
    const positions = positionsOf(keys, SEED, spreads);
    const bytes = new TextEncoder();
    const hashOf = (i: number) => [...hashBytes(2, SEED, bytes.encode(`${i % 40}.example`)).subarray(0, 2)];
    const wordsOf = ({ host }: Positions, i: number) => [...(host as Uint32Array).subarray(2 * i, 2 * i + 2)];
    const all = keys.map((_, i) => i);
    expect(all.map((i) => wordsOf(positions, i))).toEqual(all.map(hashOf));
    expect(all.map((i) => wordsOf(positions, i)[0])).toEqual(all.map((i) => positions.hash[4 * i]));
    const some = Uint32Array.of(1_999, 7, 7, 1_200);
    const chosen = select(positions, some);
    expect(Array.from(some, (_, i) => wordsOf(chosen, i))).toEqual(Array.from(some, hashOf));
    expect(positionsOf(keys, SEED, underScheme(2)).host).toBeUndefined();
  });

  it('equal those after relocating items, in a layer with more segments', () => {
    const keys = Array.from({ length: 2_000 }, (_, i) => `http://${i % 40}.example/${i}`);
    const larger = { ...spreads, segments: 30, pagesPerSegment: 77 };
    const { hash } = positionsOf(keys, SEED, spreads);
    const there = positionsOf(keys, SEED, larger);
    expect(relocate(positionsOf(keys, SEED, spreads), larger)).toEqual(there);
    expect(positionsOfHashes(hash, larger)).toEqual({ ...there, host: undefined });
  });
});

describe('positionsOfHashes', () => {
  it.each([
    [1e-2, 1],
    [1e-4, 7],
  ])('returns the positions of the items’ keys at %d', (errorRate, minSegments) => {
    const plan = (rate: number) =>
      planGeometry(
        { capacity: 50_000, errorRate: rate, cellBits: 4 },
        { maxSegmentBytes: 2 ** 24, minSegments, minSegmentBytes: 0 },
      );
    const seed = new Uint8Array(16).fill(3);
    const keys = Array.from({ length: 2_500 }, (_, n) => `item ${n}`);
    const target = plan(errorRate);
    const { hash } = positionsOf(keys, seed, plan(1e-6));
    expect(positionsOfHashes(hash, target)).toEqual(positionsOf(keys, seed, target));
    const some = Uint32Array.of(2_400, 7, 7, 0);
    const chosen = Array.from(some, (index) => keys[index] as string);
    expect(positionsOfHashes(hash, target, some)).toEqual(positionsOf(chosen, seed, target));
  });
});
