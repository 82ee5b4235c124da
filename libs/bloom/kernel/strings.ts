import { BLOCK_KEYS, BYTES, SPAN } from './layout';

const ONES: u64 = 0x0101010101010101;
const HIGHS: u64 = 0x8080808080808080;
const QUOTE: u32 = 0x22;
const COMMA: u32 = 0x2c;
const CLOSE: u32 = 0x5d;

/** The address where reading stopped, and whether that is the end of the array. */
export let stopped: u32 = 0;
export let closed: bool = false;

/**
 * Reads strings without escapes from a JSON array into SPAN: at most BLOCK_KEYS of them, from `at`, where an element
 * must begin, and before `end`. Returns how many it read. Afterwards `stopped` is the start of the next element, the
 * address after the closing bracket (`closed` is true), or -1 if it met anything else. It copies bytes of 0x80 and
 * above as they are, so the caller must check that they are UTF-8.
 */
export function readStrings(at: u32, end: u32): i32 {
  let count = 0;
  stopped = <u32>-1;
  closed = false;
  while (count < BLOCK_KEYS) {
    if (at >= end || load<u8>(at) !== QUOTE) return count;
    const from = at + 1;
    const to = stringEnd(from, end);
    if (to >= end || load<u8>(to) !== QUOTE) return count;
    store<u32>(SPAN + (count << 3), from - <u32>BYTES);
    store<u32>(SPAN + (count << 3), to - <u32>BYTES, 4);
    count++;
    at = skipSpace(to + 1, end);
    if (at >= end) return count;
    const mark = <u32>load<u8>(at);
    if (mark === CLOSE) {
      stopped = at + 1;
      closed = true;
      return count;
    }
    if (mark !== COMMA) return count;
    at = skipSpace(at + 1, end);
  }
  stopped = at;
  return count;
}

/**
 * The address of the first quote, backslash or control character from `at` on, or `end` or more if none comes before
 * it.
 */
function stringEnd(at: u32, end: u32): u32 {
  for (; at < end; at += 8) {
    const bytes = load<u64>(at);
    const found =
      zeros(bytes ^ (ONES * QUOTE)) | zeros(bytes ^ (ONES * 0x5c)) | ((bytes - ONES * 0x20) & ~bytes & HIGHS);
    // Only the lowest bit is certain. Carries may set bits above it.
    if (found !== 0) return at + <u32>(ctz<u64>(found) >>> 3);
  }
  return at;
}

/** Sets the high bit of every zero byte, and of some bytes above one. */
function zeros(bytes: u64): u64 {
  return (bytes - ONES) & ~bytes & HIGHS;
}

function skipSpace(at: u32, end: u32): u32 {
  while (at < end && isSpace(load<u8>(at))) at++;
  return at;
}

function isSpace(byte: u32): bool {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
