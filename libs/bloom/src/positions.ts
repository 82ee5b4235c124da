import type { Geometry } from './geometry.js';
import { hashScheme, SEED_BYTES } from './hash-scheme.js';

/**
 * Where a batch of items lives in a filter: all that a store ever sees of them. Arrays are parallel, in the
 * caller's order.
 *
 *   hash     4 words an item: its 128-bit hash, the item's identity
 *   segment  1 an item
 *   page     1 an item: index of the page inside its segment
 *   cell     k an item: distinct cell indexes inside the page, ascending
 */
export interface Positions {
  readonly count: number;
  readonly hashes: number;
  readonly hash: Uint32Array;
  readonly segment: Uint32Array;
  readonly page: Uint32Array;
  readonly cell: Uint16Array;
}

/** Positions of `count` items with k cells each, all zero: to be filled in. */
export function blankPositions(count: number, hashes: number): Positions {
  return {
    count,
    hashes,
    hash: new Uint32Array(count * 4),
    segment: new Uint32Array(count),
    page: new Uint32Array(count),
    cell: new Uint16Array(count * hashes),
  };
}

const encoder = new TextEncoder();
/** Reused for every key; grown to the longest seen. The words are the same memory. */
let scratch = new Uint8Array(1024);
let scratchWords = new Uint32Array(scratch.buffer);

/** Makes room for a key: UTF-8 takes at most three bytes a UTF-16 unit. */
function growScratch(units: number): void {
  scratch = new Uint8Array(Math.ceil((units * 3) / 4) * 4);
  scratchWords = new Uint32Array(scratch.buffer);
}

/** Bytes as little-endian words, in memory of their own: a seed may lie anywhere in a larger buffer. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

// Every platform that Node supports in earnest; on another one all hashes would differ, silently.
if (new Uint8Array(Uint32Array.of(1).buffer)[0] !== 1)
  throw new Error('Unseen needs a little-endian machine');

/**
 * The positions of `keys` under a filter's seed and geometry. Pure: the same arguments always give the same
 * positions (golden vectors in test/golden pin them). Keys must be well-formed Unicode: the encoder would
 * merge lone surrogates.
 *
 * With h the 128-bit hash of a key, h0 picks the segment and h1 the page (multiply-shift). The cells are drawn
 * from xoroshiro64** (Blackman and Vigna, 2018) seeded with h2 and h3, one full-width draw a cell, until k are
 * distinct. Double hashing would do less work, but breaks the error rate inside a page.
 */
export function positionsOf(keys: readonly string[], seed: Uint8Array, geometry: Geometry): Positions {
  if (seed.length !== SEED_BYTES) throw new RangeError(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  const count = keys.length;
  const k = geometry.hashes;
  const positions = blankPositions(count, k);
  const { hash, segment, page, cell } = positions;
  const scheme = hashScheme(geometry.hashScheme);
  const seedWords = wordsOf(seed);
  const { segments, pagesPerSegment } = geometry;
  const shift = 32 - Math.log2(geometry.pageCells);
  for (let i = 0; i < count; i++) {
    const key = keys[i] as string;
    if (key.length * 3 > scratch.length) growScratch(key.length);
    const { written } = encoder.encodeInto(key, scratch);
    const h = i * 4;
    scheme.hash(scratchWords, written, seedWords, hash, h);
    segment[i] = segmentOf(hash[h] as number, segments);
    page[i] = scale(hash[h + 1] as number, pagesPerSegment);
    // Scheme 1's last words are equal for keys of up to 8 bytes: mixing in h0 keeps 64 bits of their own.
    const h0 = hash[h] as number;
    drawCells(
      hash[h + 2] as number,
      (hash[h + 3] as number) ^ ((h0 << 16) | (h0 >>> 16)),
      k,
      shift,
      cell,
      i * k,
    );
  }
  return positions;
}

/** The segment that an item lives in, of so many: by the first word of its hash. */
export function segmentOf(word: number, segments: number): number {
  return scale(word, segments);
}

/** Maps a 32-bit hash word evenly onto [0, n): a product below 2^53 for every n up to 2^21. */
function scale(word: number, n: number): number {
  return Math.floor((word * n) / 0x1_0000_0000);
}

/** Draws k distinct cells into `out[at .. at + k - 1]`, kept in ascending order. */
function drawCells(
  seed0: number,
  seed1: number,
  k: number,
  shift: number,
  out: Uint16Array,
  at: number,
): void {
  // The all-zero state is the generator's one fixed point.
  let s0 = seed0 | (seed1 === 0 && seed0 === 0 ? 1 : 0);
  let s1 = seed1;
  let drawn = 0;
  while (drawn < k) {
    const product = Math.imul(s0, 0x9e3779bb);
    const c = (Math.imul((product << 5) | (product >>> 27), 5) >>> 0) >>> shift;
    s1 ^= s0;
    s0 = ((s0 << 26) | (s0 >>> 6)) ^ s1 ^ (s1 << 9);
    s1 = (s1 << 13) | (s1 >>> 19);
    let i = at + drawn;
    while (i > at && (out[i - 1] as number) > c) i--;
    if (i > at && out[i - 1] === c) continue;
    for (let j = at + drawn; j > i; j--) out[j] = out[j - 1] as number;
    out[i] = c;
    drawn++;
  }
}
