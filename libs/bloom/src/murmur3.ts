/**
 * MurmurHash3 x86_128 (Austin Appleby, public domain): four 32-bit words from a byte string.
 * Not safe against an adversary who chooses the keys; see `hash-scheme.ts`.
 */
const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

function rotateLeft(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits));
}

function finalMix(x: number): number {
  let h = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function word(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

/** Little-endian word of the 0 to 4 bytes from `at` that lie before `end`. */
function tailWord(bytes: Uint8Array, at: number, end: number): number {
  let w = 0;
  for (let i = Math.min(at + 4, end) - 1; i >= at; i--) w = (w << 8) | (bytes[i] as number);
  return w;
}

/**
 * Hashes `bytes[0, length)` with a 32-bit seed into `out[at .. at + 3]`, as unsigned words.
 * Each word is the reference implementation's output word of the same place.
 */
export function murmur3x86_128(
  bytes: Uint8Array,
  length: number,
  seed: number,
  out: Uint32Array,
  at: number,
): void {
  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;
  const body = length & ~15;
  for (let i = 0; i < body; i += 16) {
    h1 ^= Math.imul(rotateLeft(Math.imul(word(bytes, i), C1), 15), C2);
    h1 = (Math.imul(rotateLeft(h1, 19) + h2, 5) + 0x561ccd1b) | 0;
    h2 ^= Math.imul(rotateLeft(Math.imul(word(bytes, i + 4), C2), 16), C3);
    h2 = (Math.imul(rotateLeft(h2, 17) + h3, 5) + 0x0bcaa747) | 0;
    h3 ^= Math.imul(rotateLeft(Math.imul(word(bytes, i + 8), C3), 17), C4);
    h3 = (Math.imul(rotateLeft(h3, 15) + h4, 5) + 0x96cd1c35) | 0;
    h4 ^= Math.imul(rotateLeft(Math.imul(word(bytes, i + 12), C4), 18), C1);
    h4 = (Math.imul(rotateLeft(h4, 13) + h1, 5) + 0x32ac3b17) | 0;
  }
  // A tail word of no bytes is 0 and leaves its lane as it is, so that no case distinction is needed.
  h4 ^= Math.imul(rotateLeft(Math.imul(tailWord(bytes, body + 12, length), C4), 18), C1);
  h3 ^= Math.imul(rotateLeft(Math.imul(tailWord(bytes, body + 8, length), C3), 17), C4);
  h2 ^= Math.imul(rotateLeft(Math.imul(tailWord(bytes, body + 4, length), C2), 16), C3);
  h1 ^= Math.imul(rotateLeft(Math.imul(tailWord(bytes, body, length), C1), 15), C2);

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = finalMix(h2 + h1);
  h3 = finalMix(h3 + h1);
  h4 = finalMix(h4 + h1);
  h1 = finalMix(h1);
  h1 = (h1 + h2 + h3 + h4) | 0;
  out[at] = h1;
  out[at + 1] = h2 + h1;
  out[at + 2] = h3 + h1;
  out[at + 3] = h4 + h1;
}
