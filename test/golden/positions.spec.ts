import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { HASH_SCHEMES, HOST_HASH_SCHEME, positionsOf, type Geometry } from '#bloom';

/**
 * Positions must never change, or stored filters would be lost. These vectors pin them, also for implementations in
 * other languages. `UPDATE_GOLDEN=1` writes the vectors of a new hash scheme once. An existing scheme is never edited.
 */
interface Vector {
  readonly key: string;
  /** Hex digits. */
  readonly seed: string;
  readonly geometry: Geometry;
  /** The four hash words in hex digits, first word first. */
  readonly hash: string;
  readonly segment: number;
  readonly page: number;
  readonly cells: readonly number[];
}

const FILE = join('test', 'golden', 'positions.json');

const KEYS = [
  '',
  'a',
  'abcd',
  '12345678',
  'the quick brown fox',
  'https://example.org/',
  'https://www.debian.org/News/2024/20241109?lang=en',
  'Ünïcödé',
  '日本語のページ',
  '😀🚀',
  '\u0000',
  'x'.repeat(8192),
];
const SEEDS = ['00000000000000000000000000000000', 'ffeeddccbbaa99887766554433221100'];
const SHAPES: readonly Omit<Geometry, 'hashScheme'>[] = [
  { cellBits: 4, hashes: 6, pageCells: 256, pagesPerSegment: 1, segments: 1 },
  { cellBits: 4, hashes: 9, pageCells: 512, pagesPerSegment: 30_236, segments: 6 },
  { cellBits: 1, hashes: 26, pageCells: 4096, pagesPerSegment: 2_000_003, segments: 100_003 },
];
/** Ordered by scheme, so a new one's vectors come last. */
const GEOMETRIES = HASH_SCHEMES.flatMap((hashScheme) =>
  SHAPES.map((shape) => ({
    ...{ hashScheme, ...shape },
    ...(hashScheme === HOST_HASH_SCHEME && { spread: spreadOf(shape) }),
  })),
);

function spreadOf({ segments }: Pick<Geometry, 'segments'>): number {
  return segments % 3 === 0 ? 3 : 1;
}

function vectorOf(key: string, seed: string, geometry: Geometry): Vector {
  const { hash, segment, page, cell } = positionsOf([key], Buffer.from(seed, 'hex'), geometry);
  return {
    key,
    seed,
    geometry,
    hash: Array.from(hash, (word) => word.toString(16).padStart(8, '0')).join(''),
    segment: segment[0] as number,
    page: page[0] as number,
    cells: [...cell],
  };
}

if (process.env['UPDATE_GOLDEN']) {
  const vectors = GEOMETRIES.flatMap((geometry) =>
    SEEDS.flatMap((seed) => KEYS.map((key) => vectorOf(key, seed, geometry))),
  );
  writeFileSync(FILE, `[\n${vectors.map((vector) => JSON.stringify(vector)).join(',\n')}\n]\n`);
}

describe('golden positions', () => {
  const vectors = JSON.parse(readFileSync(FILE, 'utf8')) as Vector[];

  it('cover every key, seed and geometry', () => {
    expect(vectors).toHaveLength(KEYS.length * SEEDS.length * GEOMETRIES.length);
  });

  it('have never changed', () => {
    for (const vector of vectors) {
      expect(vectorOf(vector.key, vector.seed, vector.geometry)).toEqual(vector);
    }
  });
});
