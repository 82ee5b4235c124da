import { isUtf8 } from 'node:buffer';

const REPLACEMENT = Buffer.from('\ufffd');

/** Decoding at large is slow where there are many replacement characters; asking whether bytes are UTF-8 never is. */
const STEP_BYTES = 2 ** 14;
/** A character has at most four bytes: a step that ends within one has its end in the next so many. */
const MARGIN_BYTES = 4;

/** The first byte that belongs to no character, of bytes that are not UTF-8. */
export function utf8ErrorAt(raw: Buffer): number {
  let from = 0;
  for (;;) {
    const to = characterStart(raw, Math.min(from + STEP_BYTES, raw.length));
    if (!isUtf8(raw.subarray(from, to))) break;
    from = to;
  }
  return from + replacedAt(raw.subarray(from, from + STEP_BYTES + MARGIN_BYTES));
}

/** The last byte up to `at` that may begin a character; `at` itself if there is none among the four up to it. */
function characterStart(raw: Buffer, at: number): number {
  for (let start = at; start > at - MARGIN_BYTES; start--) {
    if (((raw[start] ?? 0) & 0xc0) !== 0x80) return start;
  }
  return at;
}

/** Where decoding puts a replacement character that is not in the bytes. */
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
