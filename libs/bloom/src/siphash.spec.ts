import { describe, expect, it } from '@jest/globals';
import { SEED_BYTES } from './hash-scheme.js';
import { hashBytes } from './kernel.js';

/**
 * vectors_sip128 from the reference implementation. Vector i is the hash of the bytes 0, 1 … i - 1 with the key
 * 0, 1 … 15. OpenSSL gives the same results (`openssl mac -macopt size:16 -macopt hexkey:… -in … SIPHASH`).
 */
const VECTORS = `
a3817f04ba25a8e66df67214c7550293
da87c1d86b99af44347659119b22fc45
8177228da4a45dc7fca38bdef60affe4
9c70b60c5267a94e5f33b6b02985ed51
f88164c12d9c8faf7d0f6e7c7bcd5579
1368875980776f8854527a07690e9627
14eeca338b208613485ea0308fd7a15e
a1f1ebbed8dbc153c0b84aa61ff08239
3b62a9ba6258f5610f83e264f31497b4
264499060ad9baabc47f8b02bb6d71ed
00110dc378146956c95447d3f3d0fbba
0151c568386b6677a2b4dc6f81e5dc18
d626b266905ef35882634df68532c125
9869e247e9c08b10d029934fc4b952f7
31fcefac66d7de9c7ec7485fe4494902
5493e99933b0a8117e08ec0f97cfc3d9
6ee2a4ca67b054bbfd3315bf85230577
473d06e8738db89854c066c47ae47740
a426e5e423bf4885294da481feaef723
78017731cf65fab074d5208952512eb1
9e25fc833f2290733e9344a5e83839eb
568e495abe525a218a2214cd3e071d12
4a29b54552d16b9a469c10528eff0aae
c9d184ddd5a9f5e0cf8ce29a9abf691c
2db479ae78bd50d8882a8a178a6132ad
8ece5f042d5e447b5051b9eacb8d8f6f
9c0b53b4b3c307e87eaee08678141f66
abf248af69a6eae4bfd3eb2f129eeb94
0664da1668574b88b935f3027358aef4
aa4b9dc4bf337de90cd4fd3c467c6ab7
ea5c7f471faf6bde2b1ad7d4686d2287
2939b0183223fafc1723de4f52c43d35
7c3956ca5eeafc3e363e9d556546eb68
77c6077146f01c32b6b69d5f4ea9ffcf
37a6986cb8847edf0925f0f1309b54de
a705f0e69da9a8f907241a2e923c8cc8
3dc47d1f29c448461e9e76ed904f6711
0d62bf01e6fc0e1a0d3c4751c5d3692b
8c03468bca7c669ee4fd5e084bbee7b5
528a5bb93baf2c9c4473cce5d0d22bd9
df6a301e95c95dad97ae0cc8c6913bd8
801189902c857f39e73591285e70b6db
e617346ac9c231bb3650ae34ccca0c5b
27d93437efb721aa401821dcec5adf89
89237d9ded9c5e78d8b1c9b166cc7342
4a6d8091bf5e7d651189fa94a250b14c
0e33f96055e7ae893ffc0e3dcf492902
e61c432b720b19d18ec8d84bdc63151b
f7e5aef549f782cf379055a608269b16
438d030fd0b7a54fa837f2ad201a6403
a590d3ee4fbf04e3247e0d27f286423f
5fe2c1a172fe93c4b15cd37caef9f538
2c97325cbd06b36eb2133dd08b3a017c
92c814227a6bca949ff0659f002ad39e
dce850110bd8328cfbd50841d6911d87
67f14984c7da791248e32bb5922583da
1938f2cf72d54ee97e94166fa91d2a36
74481e9646ed49fe0f6224301604698e
57fca5de98a9d6d8006438d0583d8a1d
9fecde1cefdc1cbed4763674d9575359
e3040c00eb28f15366ca73cbd872e740
7697009a6a831dfecca91c5993670f7a
5853542321f567a005d547a4f04759bd
5150d1772f50834a503e069a973fbd7c
`
  .trim()
  .split(/\s+/);

/** The key of the vectors. */
const KEY = Uint8Array.from({ length: SEED_BYTES }, (_, i) => i);

const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i);

function sipHash128(bytes: Uint8Array, key: Uint8Array): string {
  return Buffer.from(hashBytes(2, key, bytes).buffer).toString('hex');
}

const MASK = 2n ** 64n - 1n;

/** SipHash-2-4-128 in 64-bit arithmetic, exactly as in the paper. */
function plainSipHash128(bytes: Uint8Array, key: Uint8Array): string {
  const view = Buffer.from(key);
  const [k0, k1] = [view.readBigUInt64LE(0), view.readBigUInt64LE(8)];
  const v = [0x736f6d6570736575n, 0x646f72616e646f6dn, 0x6c7967656e657261n, 0x7465646279746573n];
  v.forEach((_, i) => (v[i]! ^= i % 2 === 0 ? k0 : k1));
  v[1]! ^= 0xeen;
  const add = (i: number, j: number): bigint => (v[i] = (v[i]! + v[j]!) & MASK);
  const turn = (i: number, bits: bigint): bigint =>
    (v[i] = ((v[i]! << bits) | (v[i]! >> (64n - bits))) & MASK);
  const half = (i: number, j: number, bits: bigint): void => {
    add(i, j);
    turn(j, bits);
    v[j]! ^= v[i]!;
  };
  const rounds = (count: number): void => {
    for (let round = 0; round < count; round++) {
      half(0, 1, 13n);
      turn(0, 32n);
      half(2, 3, 16n);
      half(0, 3, 21n);
      half(2, 1, 17n);
      turn(2, 32n);
    }
  };
  const padded = Buffer.alloc((Math.floor(bytes.length / 8) + 1) * 8);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length & 0xff;
  for (let at = 0; at < padded.length; at += 8) {
    const word = padded.readBigUInt64LE(at);
    v[3]! ^= word;
    rounds(2);
    v[0]! ^= word;
  }
  const out = Buffer.alloc(16);
  v[2]! ^= 0xeen;
  rounds(4);
  out.writeBigUInt64LE(v[0]! ^ v[1]! ^ v[2]! ^ v[3]!, 0);
  v[1]! ^= 0xddn;
  rounds(4);
  out.writeBigUInt64LE(v[0]! ^ v[1]! ^ v[2]! ^ v[3]!, 8);
  return out.toString('hex');
}

describe('SipHash-2-4-128', () => {
  it('produces all 64 vectors from the reference implementation', () => {
    expect(VECTORS).toHaveLength(64);
    VECTORS.forEach((vector, length) => {
      expect([length, sipHash128(counting(length), KEY)]).toEqual([length, vector]);
    });
  });

  it('agrees with plain arithmetic at every length from 0 to 1,000, with other keys', () => {
    for (let length = 0; length <= 1_000; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 131 + length * 17 + (i >> 3)) & 0xff);
      const key = Uint8Array.from({ length: 16 }, (_, i) => (i * 197 + length * 31) & 0xff);
      expect([length, sipHash128(bytes, key)]).toEqual([length, plainSipHash128(bytes, key)]);
    }
  });

  it.each([0, 5, 8, 21, 64])('reads no byte beyond the length: %d', (length) => {
    for (const before of [0x00, 0xff]) {
      sipHash128(new Uint8Array(200).fill(before), KEY);
      expect(sipHash128(counting(length), KEY)).toBe(plainSipHash128(counting(length), KEY));
    }
  });

  it('is keyed by every byte of the seed', () => {
    const hashes = Array.from({ length: SEED_BYTES + 1 }, (_, changed) =>
      sipHash128(
        counting(40),
        KEY.map((byte, i) => (i === changed ? 0xff : byte)),
      ),
    );
    expect(new Set(hashes).size).toBe(SEED_BYTES + 1);
    expect(hashes.at(-1)).toBe(VECTORS[40]);
  });
});
