import { isUtf8 } from 'node:buffer';

const REPLACEMENT = Buffer.from('\ufffd');

/**
 * Size of a step. Decoding many replacement characters in one call is slow, but checking for valid UTF-8 is always
 * fast.
 */
const STEP_BYTES = 2 ** 14;
/** A character has at most four bytes, so a character that a step would cut starts within the last four. */
const MARGIN_BYTES = 4;

/** In bytes that aren't valid UTF-8, the first byte that isn't part of a character. */
export function utf8ErrorAt(raw: Buffer): number {
  let from = 0;
  for (;;) {
    const to = characterStart(raw, Math.min(from + STEP_BYTES, raw.length));
    if (!isUtf8(raw.subarray(from, to))) break;
    from = to;
  }
  return from + replacedAt(raw.subarray(from, from + STEP_BYTES + MARGIN_BYTES));
}

/** The last byte up to `at` that may begin a character, or `at` itself if none of the last four may. */
function characterStart(raw: Buffer, at: number): number {
  for (let start = at; start > at - MARGIN_BYTES; start--) {
    if (((raw[start] ?? 0) & 0xc0) !== 0x80) return start;
  }
  return at;
}

/** The position where decoding inserts a replacement character that isn't in the bytes. */
function replacedAt(bytes: Buffer): number {
  const text = bytes.toString('utf8');
  let at = 0;
  for (let from = 0, next = 0; (next = text.indexOf('\ufffd', from)) >= 0; from = next + 1) {
    at += Buffer.byteLength(text.slice(from, next));
    if (!bytes.subarray(at, at + REPLACEMENT.length).equals(REPLACEMENT)) break;
    at += REPLACEMENT.length;
  }
  return at;
}
