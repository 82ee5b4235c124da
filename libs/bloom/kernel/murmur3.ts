import { tail32 } from './tail';

/**
 * MurmurHash3 x86_128 (Austin Appleby, public domain): four 32-bit words from a byte string. It does not resist an
 * adversary who chooses the keys: some keys collide under every seed.
 */
const C1: u32 = 0x239b961b;
const C2: u32 = 0xab0e9789;
const C3: u32 = 0x38b34ae5;
const C4: u32 = 0xa1e38b93;

function finalMix(x: u32): u32 {
  let h = (x ^ (x >>> 16)) * 0x85ebca6b;
  h = (h ^ (h >>> 13)) * 0xc2b2ae35;
  return h ^ (h >>> 16);
}

/**
 * Hashes `length` bytes at `at` with a 32-bit seed and writes the four words of the reference implementation to `out`.
 */
export function murmur3x86_128(at: usize, length: u32, seed: u32, out: usize): void {
  let h1 = seed;
  let h2 = seed;
  let h3 = seed;
  let h4 = seed;
  const end = at + length;
  for (const body = at + (length & ~15); at < body; at += 16) {
    h1 ^= rotl<u32>(load<u32>(at) * C1, 15) * C2;
    h1 = (rotl<u32>(h1, 19) + h2) * 5 + 0x561ccd1b;
    h2 ^= rotl<u32>(load<u32>(at, 4) * C2, 16) * C3;
    h2 = (rotl<u32>(h2, 17) + h3) * 5 + 0x0bcaa747;
    h3 ^= rotl<u32>(load<u32>(at, 8) * C3, 17) * C4;
    h3 = (rotl<u32>(h3, 15) + h4) * 5 + 0x96cd1c35;
    h4 ^= rotl<u32>(load<u32>(at, 12) * C4, 18) * C1;
    h4 = (rotl<u32>(h4, 13) + h1) * 5 + 0x32ac3b17;
  }
  // An empty tail word is 0 and leaves its lane unchanged, so short tails need no special case.
  h4 ^= rotl<u32>(tail32(at + 12, end) * C4, 18) * C1;
  h3 ^= rotl<u32>(tail32(at + 8, end) * C3, 17) * C4;
  h2 ^= rotl<u32>(tail32(at + 4, end) * C2, 16) * C3;
  h1 ^= rotl<u32>(tail32(at, end) * C1, 15) * C2;

  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 += h2 + h3 + h4;
  h2 = finalMix(h2 + h1);
  h3 = finalMix(h3 + h1);
  h4 = finalMix(h4 + h1);
  h1 = finalMix(h1);
  h1 += h2 + h3 + h4;
  store<u32>(out, h1);
  store<u32>(out, h2 + h1, 4);
  store<u32>(out, h3 + h1, 8);
  store<u32>(out, h4 + h1, 12);
}
