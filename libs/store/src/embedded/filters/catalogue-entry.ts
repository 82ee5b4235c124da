import type { Filter, Sync } from '../../port/index.js';
import { fromJson, toJson, type FilterJson } from '../database/filter-json.js';
import type { FilterState, OpenSync } from './filter-state.js';

/** A filter's catalogue entry. */
export interface CatalogueEntry {
  readonly filter: Filter;
  readonly nextLayer: number;
  readonly sync?: OpenSync;
  readonly endedSync?: Sync;
}

/** Encodes the entry as JSON, with the seed in base64. */
export function encodeEntry({ filter, nextLayer, sync, endedSync }: FilterState): Buffer {
  return Buffer.from(JSON.stringify({ filter: toJson(filter), nextLayer, sync: sync?.opened, endedSync }));
}

/** Decodes an entry that `encodeEntry` wrote. */
export function decodeEntry(bytes: Uint8Array): CatalogueEntry {
  const entry = JSON.parse(Buffer.from(bytes).toString()) as Omit<CatalogueEntry, 'filter'> & {
    filter: FilterJson;
  };
  return { ...entry, filter: fromJson(entry.filter) };
}
