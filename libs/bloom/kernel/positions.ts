import { hostLength, hostStart, findHost } from './host';
import { BYTES, CELL, HASH, HOST, HOST_HASH, PAGE, SEED, SEGMENT, SPAN } from './layout';
import { murmur3x86_128 } from './murmur3';
import { sipHash128 } from './siphash';

/**
 * Hashes `count` keys from SPAN into HASH, with hash scheme 1, 2 or 3. Scheme 3 also writes HOST. Spans count from
 * `origin`, which lies at BYTES.
 */
export function hash(scheme: i32, count: i32, origin: u32): void {
  for (let i: usize = 0; i < <usize>count; i++) {
    const start = load<u32>(SPAN + (i << 3));
    const length = load<u32>(SPAN + (i << 3), 4) - start;
    const from = BYTES + start - origin;
    if (scheme === 1) murmur3x86_128(from, length, load<u32>(SEED), HASH + (i << 4));
    else sipHash128(from, length, SEED, HASH + (i << 4));
    if (scheme === 3) {
      findHost(from, length);
      sipHash128(hostStart, hostLength, SEED, HOST_HASH);
      store<u32>(HASH + (i << 4), load<u32>(HOST_HASH));
      store<u64>(HOST + (i << 3), load<u64>(HOST_HASH));
    }
  }
}

/**
 * Computes SEGMENT, PAGE and CELL from HASH. If h is the 128-bit hash of a key, h0 picks the segment and h1 the page
 * (multiply-shift), and h2, h3 and h0 seed drawCells. `shift` is 32 minus log2 of the cells per page.
 *
 * In scheme 3, h0 comes from the host and only picks a run of `perRun` segments. h1 picks the segment in the run, and
 * its remainder the page; h2 and h3 seed drawCells. In the other schemes, `perRun` is 0.
 */
export function place(
  count: i32,
  segments: u32,
  perRun: u32,
  pagesPerSegment: u32,
  hashes: i32,
  shift: u32,
): void {
  for (let i: usize = 0; i < <usize>count; i++) {
    const words = HASH + (i << 4);
    const h0 = load<u32>(words);
    const h1 = load<u32>(words, 4);
    if (perRun > 0) {
      store<u32>(SEGMENT + (i << 2), scale(h0, segments / perRun) * perRun + scale(h1, perRun));
      store<u32>(PAGE + (i << 2), scale(h1 * perRun, pagesPerSegment));
      drawCells(load<u32>(words, 8), load<u32>(words, 12), hashes, shift, CELL + i * 2 * hashes);
      continue;
    }
    store<u32>(SEGMENT + (i << 2), scale(h0, segments));
    store<u32>(PAGE + (i << 2), scale(h1, pagesPerSegment));
    // In scheme 1, the last words are equal for keys of up to 8 bytes. Mixing in h0 keeps 64 independent bits.
    drawCells(
      load<u32>(words, 8),
      load<u32>(words, 12) ^ rotl<u32>(h0, 16),
      hashes,
      shift,
      CELL + i * 2 * hashes,
    );
  }
}

/** Maps a 32-bit hash word evenly onto [0, n). */
function scale(word: u32, n: u32): u32 {
  return <u32>((<u64>word * n) >> 32);
}

/**
 * Draws `hashes` distinct cells into `out`, in ascending order, from xoroshiro64** (Blackman and Vigna, 2018), with one
 * full-width draw per cell. Double hashing would be cheaper, but would raise the error rate within a page.
 */
function drawCells(seed0: u32, seed1: u32, hashes: i32, shift: u32, out: usize): void {
  // The generator would never leave the all-zero state.
  let s0: u32 = (seed0 | seed1) === 0 ? 1 : seed0;
  let s1 = seed1;
  const end = out + 2 * hashes;
  let last = out;
  while (last < end) {
    const cell: u32 = (rotl<u32>(s0 * 0x9e3779bb, 5) * 5) >>> shift;
    s1 ^= s0;
    s0 = rotl<u32>(s0, 26) ^ s1 ^ (s1 << 9);
    s1 = rotl<u32>(s1, 13);
    let at = last;
    while (at > out && <u32>load<u16>(at - 2) > cell) at -= 2;
    if (at > out && <u32>load<u16>(at - 2) === cell) continue;
    for (let i = last; i > at; i -= 2) store<u16>(i, load<u16>(i - 2));
    store<u16>(at, <u16>cell);
    last += 2;
  }
}
