import { type Geometry, segmentsPerRun } from './geometry.js';
import { assertKnown, assertSpread, HOST_HASH_SCHEME, SEED_BYTES } from './hash-scheme.js';
import { BLOCK_KEYS, locate, locateHashes, type Places } from './kernel.js';
import { isPacked, sliceKeys, type Keys } from './keys.js';

/**
 * A batch's positions in a filter. A store knows nothing else about the items. The arrays are parallel, in the caller's
 * order.
 *
 *   hash     4 words per item: its 128-bit hash, which is the identity of the item
 *   host     2 words per item, of HOST_HASH_SCHEME only: the beginning of the hash of its host
 *   segment  1 per item
 *   page     1 per item: index of the page in its segment
 *   cell     k per item: distinct cell indexes in the page, ascending
 *   copies   1 per item, in a folded batch only: the number of duplicates that were removed
 */
export interface Positions extends Places {
  readonly count: number;
  readonly hashes: number;
  readonly copies?: Uint32Array;
}

/**
 * Positions for `count` items with k cells each, all zero, for the caller to fill in. They share one buffer, which is
 * cheaper to allocate than four. `hosts`: whether to include `host`.
 */
export function blankPositions(count: number, hashes: number, hosts = false): Positions {
  const buffer = new ArrayBuffer(count * (24 + 2 * hashes));
  return {
    count,
    hashes,
    hash: new Uint32Array(buffer, 0, count * 4),
    segment: new Uint32Array(buffer, count * 16, count),
    page: new Uint32Array(buffer, count * 20, count),
    cell: new Uint16Array(buffer, count * 24, count * hashes),
    ...(hosts && { host: new Uint32Array(2 * count) }),
  };
}

// All platforms that matter are little-endian. On a big-endian machine, all hashes would silently differ.
if (new Uint8Array(Uint32Array.of(1).buffer)[0] !== 1)
  throw new Error('Unseen needs a little-endian machine');

/**
 * Limit on a block's keys in UTF-16 units or bytes, because the kernel's memory never shrinks. A longer key forms its
 * own block.
 */
const BLOCK_UNITS = 2 ** 18;

/** The end (exclusive) of the block of keys that begins at `from`. */
function blockEnd(keys: Keys, from: number): number {
  const end = Math.min(from + BLOCK_KEYS, keys.length);
  if (isPacked(keys)) {
    const start = keys.span[2 * from] as number;
    for (let to = end; to > from + 1; to--) {
      if ((keys.span[2 * to - 1] as number) - start <= BLOCK_UNITS) return to;
    }
    return from + 1;
  }
  let units = 0;
  for (let to = from; to < end; to++) {
    units += (keys[to] as string).length;
    if (units > BLOCK_UNITS && to > from) return to;
  }
  return end;
}

/**
 * The positions of `keys` for a filter's seed and geometry. This is a pure function, and golden vectors in test/golden
 * pin its results. Keys must be well-formed Unicode, because the encoder would merge lone surrogates. Throws RangeError
 * for an invalid seed, scheme or number of cells. libs/bloom/kernel/positions.ts has the algorithm.
 */
export function positionsOf(keys: Keys, seed: Uint8Array, geometry: Geometry): Positions {
  const blocks = positionsByBlock(keys, seed, geometry);
  for (;;) {
    const { done, value } = blocks.next();
    if (done) return value;
  }
}

/**
 * Like positionsOf, but in steps of a millisecond or less, so that callers can do other work in between. Returns the
 * positions.
 */
export function* positionsByBlock(
  keys: Keys,
  seed: Uint8Array,
  geometry: Geometry,
): Generator<undefined, Positions, undefined> {
  if (seed.length !== SEED_BYTES)
    throw new RangeError(`a seed must have ${SEED_BYTES} bytes, not ${seed.length}`);
  assertKnown(geometry.hashScheme);
  assertSpread(geometry);
  const byHost = geometry.hashScheme === HOST_HASH_SCHEME;
  const positions = blankPositions(keys.length, geometry.hashes, byHost);
  for (let from = 0; from < keys.length;) {
    if (from > 0) yield undefined;
    const to = blockEnd(keys, from);
    locate(to - from === keys.length ? keys : sliceKeys(keys, from, to), seed, geometry, positions, from);
    from = to;
  }
  return positions;
}

/**
 * The positions of all items, or of those at `indexes`, in another of the filter's layers. Cells and page shapes are
 * the same, and segment and page are computed from the hash. Throws RangeError for an unfit geometry.
 */
export function relocate(positions: Positions, geometry: Geometry, indexes?: Uint32Array): Positions {
  const { hashes, pagesPerSegment } = geometry;
  assertSpread(geometry);
  if (hashes !== positions.hashes) throw new RangeError(`${hashes} cells per item, not ${positions.hashes}`);
  const relocated = indexes ? select(positions, indexes) : { ...positions, ...blankPlaces(positions.count) };
  const { count, hash, segment, page } = relocated;
  const { segments, spread } = geometry;
  if (spread === undefined) {
    // Two loops: a single one for both cases takes a third longer.
    for (let i = 0; i < count; i++) {
      segment[i] = scale(hash[4 * i] as number, segments);
      page[i] = scale(hash[4 * i + 1] as number, pagesPerSegment);
    }
    return relocated;
  }
  const perRun = segmentsPerRun(geometry);
  for (let i = 0; i < count; i++) {
    const h1 = hash[4 * i + 1] as number;
    segment[i] = scale(hash[4 * i] as number, spread) * perRun + scale(h1, perRun);
    page[i] = scale(Math.imul(h1, perRun) >>> 0, pagesPerSegment);
  }
  return relocated;
}

/**
 * The positions of all items, or of those at `indexes`, from their hashes (four words each). The hashes must be
 * computed with the geometry's hash scheme and the filter's seed. The positions equal those of the items' keys, but
 * lack `host`. Throws RangeError for a `spread` that doesn't fit.
 */
export function positionsOfHashes(hash: Uint32Array, geometry: Geometry, indexes?: Uint32Array): Positions {
  assertSpread(geometry);
  const count = indexes ? indexes.length : hash.length / 4;
  const positions = blankPositions(count, geometry.hashes);
  if (!indexes) positions.hash.set(hash);
  for (let to = 0; indexes && to < count; to++) {
    const from = 4 * (indexes[to] as number);
    for (let j = 0; j < 4; j++) positions.hash[4 * to + j] = hash[from + j] as number;
  }
  for (let from = 0; from < count; from += BLOCK_KEYS) {
    locateHashes(Math.min(BLOCK_KEYS, count - from), geometry, positions, from);
  }
  return positions;
}

/** The number of duplicates removed from a batch, for all its items or those at `indexes`. */
export function copiesIn({ copies }: Positions, indexes?: Uint32Array): number {
  if (!copies) return 0;
  let sum = 0;
  if (indexes) for (const index of indexes) sum += copies[index] as number;
  else for (const one of copies) sum += one;
  return sum;
}

function blankPlaces(count: number): Pick<Positions, 'segment' | 'page'> {
  return { segment: new Uint32Array(count), page: new Uint32Array(count) };
}

/** The items at `indexes`, in that order, as a new batch. Drops `copies`. */
export function select(positions: Positions, indexes: Uint32Array): Positions {
  const { hashes: k, host } = positions;
  const count = indexes.length;
  const chosen = blankPositions(count, k, host !== undefined);
  for (let to = 0; to < count; to++) {
    const from = indexes[to] as number;
    for (let j = 0; j < 4; j++) chosen.hash[to * 4 + j] = positions.hash[from * 4 + j] as number;
    for (let j = 0; j < k; j++) chosen.cell[to * k + j] = positions.cell[from * k + j] as number;
    chosen.segment[to] = positions.segment[from] as number;
    chosen.page[to] = positions.page[from] as number;
  }
  if (host)
    for (const [to, from] of indexes.entries())
      chosen.host?.set(host.subarray(2 * from, 2 * from + 2), 2 * to);
  return chosen;
}

/** An item's segment, from the first two words of its hash. */
export function segmentOf(h0: number, h1: number, geometry: Pick<Geometry, 'segments' | 'spread'>): number {
  const { segments, spread } = geometry;
  if (spread === undefined) return scale(h0, segments);
  const perRun = segmentsPerRun(geometry);
  return scale(h0, spread) * perRun + scale(h1, perRun);
}

/** Maps a 32-bit hash word evenly onto [0, n). For n up to 2^21 the product is below 2^53, so it is exact. */
function scale(word: number, n: number): number {
  return Math.floor((word * n) / 0x1_0000_0000);
}
