import { tail64 } from './tail';

/**
 * SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; their reference
 * implementation defines the 128-bit form). It is a pseudorandom function: without the key, an attacker can find
 * collisions only by brute force.
 *
 * Hashes `length` bytes at `at`, with the 16-byte key at `key`, into the 16 bytes at `out`. It is one long function
 * because state stays in registers only in local variables.
 */
export function sipHash128(at: usize, length: u32, key: usize, out: usize): void {
  const k0 = load<u64>(key);
  const k1 = load<u64>(key, 8);
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d ^ 0xee;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  // Each half of the result ends with four rounds. The loop runs them as two zero words after the message for the first
  // half, and two more for the second.
  const tail = at + (length & ~7);
  const firstHalf = tail + 16;
  const secondHalf = tail + 32;
  for (; at <= secondHalf; at += 8) {
    let word: u64 = 0;
    if (at < tail) word = load<u64>(at);
    else if (at === tail) word = tail64(at, length & 7) | ((<u64>length) << 56);
    else if (at === tail + 8) v2 ^= 0xee;
    v3 ^= word;
    for (let round = 0; round < 2; round++) {
      v0 += v1;
      v1 = rotl<u64>(v1, 13) ^ v0;
      v0 = rotl<u64>(v0, 32);
      v2 += v3;
      v3 = rotl<u64>(v3, 16) ^ v2;
      v0 += v3;
      v3 = rotl<u64>(v3, 21) ^ v0;
      v2 += v1;
      v1 = rotl<u64>(v1, 17) ^ v2;
      v2 = rotl<u64>(v2, 32);
    }
    v0 ^= word;
    if (at === firstHalf) {
      store<u64>(out, v0 ^ v1 ^ v2 ^ v3);
      v1 ^= 0xdd;
    }
  }
  store<u64>(out, v0 ^ v1 ^ v2 ^ v3, 8);
}
