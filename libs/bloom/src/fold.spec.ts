import { describe, expect, it } from '@jest/globals';
import { foldDuplicates } from './fold.js';
import type { Geometry } from './geometry.js';
import { HOST_HASH_SCHEME } from './hash-scheme.js';
import { positionsOf, select } from './positions.js';

const geometry: Geometry = {
  hashScheme: 1,
  cellBits: 4,
  hashes: 7,
  pageCells: 256,
  pagesPerSegment: 10,
  segments: 3,
};
const positions = (keys: readonly string[]) => positionsOf(keys, new Uint8Array(16), geometry);

describe('folding a batch', () => {
  it('keeps first occurrences in order, with their original indexes', () => {
    const folded = foldDuplicates(positions(['a', 'b', 'a', 'c', 'b', 'a', 'd']));
    expect(folded?.positions).toEqual({
      ...positions(['a', 'b', 'c', 'd']),
      copies: Uint32Array.of(2, 1, 0, 0),
    });
    expect([...(folded?.original ?? [])]).toEqual([0, 1, 3, 6]);
    expect([...(folded?.folded ?? [])]).toEqual([0, 1, 0, 2, 1, 0, 3]);
  });

  it.each([0, 1, 2, 1000])('copies nothing when all %d items are distinct', (count) => {
    expect(foldDuplicates(positions(Array.from({ length: count }, (_, i) => `item ${i}`)))).toBeUndefined();
  });

  it('finds every duplicate of a large batch', () => {
    const keys = Array.from({ length: 10_000 }, (_, i) => `item ${i % 3_333}`);
    const folded = foldDuplicates(positions(keys));
    expect([...(folded?.original ?? [])]).toEqual(Array.from({ length: 3_333 }, (_, i) => i));
  });
});

describe('folding a batch of one host’s URLs', () => {
  it('probes few slots for each URL', () => {
    const keys = Array.from({ length: 10_000 }, (_, i) => `http://example.org/${i}`);
    const all = positionsOf(keys, new Uint8Array(16), {
      ...geometry,
      hashScheme: HOST_HASH_SCHEME,
      spread: 1,
    });
    let reads = 0;
    const hash = new Proxy(all.hash, {
      get: (words, at) => {
        reads++;
        return Reflect.get(words, at) as unknown;
      },
    });
    expect(foldDuplicates({ ...all, hash })).toBeUndefined();
    expect(reads / keys.length).toBeLessThan(10);
  });
});

describe('selecting items from a batch', () => {
  it('returns them in the requested order', () => {
    const all = positions(['a', 'b', 'c', 'd']);
    expect(select(all, Uint32Array.of(3, 0, 0))).toEqual(positions(['d', 'a', 'a']));
    expect(select(all, Uint32Array.of())).toEqual(positions([]));
  });
});

describe('items whose hashes differ in only one word', () => {
  it.each([0, 1, 2, 3])('are still two items: word %d', (word) => {
    const two = positions(['a', 'a']);
    const at = 4 + word;
    two.hash[at] = (two.hash[at] as number) ^ 0x8000_0000;
    expect(foldDuplicates(two)).toBeUndefined();
  });
});
