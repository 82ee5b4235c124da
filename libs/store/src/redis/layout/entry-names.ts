import type { Positions } from '#bloom';
import { decodeEntryName, type EntryName } from '../../entry-id.js';
import { isPlace } from '../scripts/entry-places.js';
import { HOST_BYTES } from '../scripts/queue-state.js';
import type { RedisFilter } from './filter.js';
import { packHashes, packHostWords } from './packing.js';

/** One entry name for each id, or undefined if the id names no entry. */
export type EntryNames = readonly (EntryName | undefined)[];

/** Names for ids. The second of two equal ids names no entry. */
export function entryNames({ generation }: RedisFilter, ids: readonly string[]): EntryNames {
  const known = new Set<string>();
  return ids.map((id) => {
    if (known.has(id)) return undefined;
    known.add(id);
    const name = decodeEntryName(generation, id);
    return name && isPlace(name.place) ? name : undefined;
  });
}

/** Names for ids, one for each of these items. An id that belongs to another item names no entry. */
export function entryNamesOf(filter: RedisFilter, ids: readonly string[], positions: Positions): EntryNames {
  const all = Uint32Array.from(ids.keys());
  const hashes = packHashes(positions, all);
  const hosts = filter.perHost && packHostWords(positions, all);
  return entryNames(filter, ids).map((name, i) => {
    const hash = hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES);
    const hostWord = hosts?.readUInt32BE(i * HOST_BYTES) ?? 0;
    return name && hash.equals(name.hash) && hostWord === name.hostWord ? name : undefined;
  });
}

const HASH_BYTES = 16;
const BIRTH_BYTES = 6;

/**
 * Packs the names at these indexes for scripts/entry-places.ts: length of the place (1 byte), place, birth (6), hash,
 * and in a per-host queue the second word of the host's hash (4). An id that names no entry becomes a single length of
 * 0.
 */
export function packEntryNames({ perHost }: RedisFilter, names: EntryNames, indexes: Uint32Array): Buffer {
  const parts: Uint8Array[] = [];
  for (const index of indexes) {
    const name = names[index];
    parts.push(Buffer.of(name?.place.length ?? 0));
    if (!name) continue;
    const birth = Buffer.allocUnsafe(BIRTH_BYTES);
    birth.writeUIntBE(name.birth, 0, BIRTH_BYTES);
    parts.push(name.place, birth, name.hash);
    if (!perHost) continue;
    const host = Buffer.allocUnsafe(HOST_BYTES);
    host.writeUInt32BE(name.hostWord);
    parts.push(host);
  }
  return Buffer.concat(parts);
}
