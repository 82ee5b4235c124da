import type { QueuedItem } from './port/index.js';

/** The entries' hashes in the format of `Positions`: four words each. */
export function hashesOf(entries: readonly Pick<QueuedItem, 'hash'>[]): Uint32Array {
  const hashes = new Uint32Array(4 * entries.length);
  for (const [n, { hash }] of entries.entries()) {
    const view = new DataView(hash.buffer, hash.byteOffset, hash.byteLength);
    for (let word = 0; word < 4; word++) hashes[4 * n + word] = view.getUint32(4 * word);
  }
  return hashes;
}
