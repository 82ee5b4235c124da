import { isUtf8 } from 'node:buffer';
import { HEAD, show } from './show.js';

/** In a text of one character per byte: a sequence that may be a UTF-8 character, or a single byte. */
const BEYOND_ASCII =
  /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

/** An escape: of a backslash, of a pair of surrogates, or of a surrogate made by `lowSurrogate`. */
const LOW_SURROGATE = /\\(?:\\|ud[89ab][\da-f]{2}\\u[\da-f]{4}|udc([89a-f][\da-f]))/g;

/** Bytes as `show` would show their text. Bytes that are not valid UTF-8 appear as `\xff`. */
export function showBytes(bytes: Buffer): string {
  // A unit has at most three bytes, so the text of a longer value is longer than `HEAD`, too.
  const text = bytes
    .subarray(0, 4 * HEAD)
    .toString('latin1')
    .replace(BEYOND_ASCII, (sequence) => {
      const read = Buffer.from(sequence, 'latin1');
      return isUtf8(read) ? read.toString() : sequence.replace(/[^]/g, lowSurrogate);
    });
  return show(text).replace(LOW_SURROGATE, (all, byte?: string) => (byte ? `\\x${byte}` : all));
}

/** A unit that no UTF-8 text contains. It stands for a byte from 0x80. */
function lowSurrogate(byte: string): string {
  return String.fromCharCode(0xdc00 + byte.charCodeAt(0));
}
