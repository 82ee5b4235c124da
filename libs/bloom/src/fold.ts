import { select, type Positions } from './positions.js';

/** A batch without duplicates, and each item's index in the original batch. */
export interface Folded {
  /** Includes `copies`. */
  readonly positions: Positions;
  /** For each item in the folded batch, the index of its first occurrence in the original one. */
  readonly original: Uint32Array;
  /** For each item in the original batch, its index in the folded one. */
  readonly folded: Uint32Array;
}

/**
 * Keeps the first occurrence of every item in a batch, by its 128-bit hash. Returns undefined if there are no
 * duplicates, so that the common case copies nothing.
 */
export function foldDuplicates(positions: Positions): Folded | undefined {
  const { count, hash } = positions;
  let size = 16;
  while (size < count * 2) size *= 2;
  const slots = new Int32Array(size).fill(-1);
  const original = new Uint32Array(count);
  const copies = new Uint32Array(count);
  const folded = new Uint32Array(count);
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const h = i * 4;
    // Uses two words, because all of a host's URLs may share the first one.
    let slot = ((hash[h] as number) ^ (hash[h + 1] as number)) & (size - 1);
    let other = slots[slot] as number;
    while (other >= 0 && !sameHash(hash, h, (original[other] as number) * 4)) {
      slot = (slot + 1) & (size - 1);
      other = slots[slot] as number;
    }
    if (other >= 0) {
      copies[other] = (copies[other] as number) + 1;
      folded[i] = other;
      continue;
    }
    slots[slot] = kept;
    folded[i] = kept;
    original[kept++] = i;
  }
  if (kept === count) return undefined;
  const indexes = original.subarray(0, kept);
  return {
    positions: { ...select(positions, indexes), copies: copies.subarray(0, kept) },
    original: indexes,
    folded,
  };
}

function sameHash(hash: Uint32Array, a: number, b: number): boolean {
  return (
    hash[a] === hash[b] &&
    hash[a + 1] === hash[b + 1] &&
    hash[a + 2] === hash[b + 2] &&
    hash[a + 3] === hash[b + 3]
  );
}
