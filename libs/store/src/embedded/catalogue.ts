import type { Filter, Sync } from '../port/index.js';
import type { FilterState, OpenSync } from './filter-state.js';

/** The description of a filter as JSON, with the seed in base64. */
export function encodeFilter(filter: Filter): Buffer {
  return Buffer.from(JSON.stringify(plain(filter)));
}

/** The filter that `encodeFilter` wrote. */
export function decodeFilter(bytes: Uint8Array): Filter {
  return revived(JSON.parse(Buffer.from(bytes).toString()) as PlainFilter);
}

/** What the catalogue stores under a filter's name. */
export interface CatalogueEntry {
  readonly filter: Filter;
  readonly nextLayer: number;
  readonly sync?: OpenSync;
  readonly endedSync?: Sync;
}

/** As JSON, with the seed in base64. */
export function encodeEntry({ filter, nextLayer, sync, endedSync }: FilterState): Buffer {
  return Buffer.from(JSON.stringify({ filter: plain(filter), nextLayer, sync: sync?.opened, endedSync }));
}

/** The entry that `encodeEntry` wrote. */
export function decodeEntry(bytes: Uint8Array): CatalogueEntry {
  const entry = JSON.parse(Buffer.from(bytes).toString()) as Omit<CatalogueEntry, 'filter'> & {
    filter: PlainFilter;
  };
  return { ...entry, filter: revived(entry.filter) };
}

type PlainFilter = Omit<Filter, 'seed'> & { seed: string };

function plain(filter: Filter): PlainFilter {
  return { ...filter, seed: Buffer.from(filter.seed).toString('base64') };
}

function revived(filter: PlainFilter): Filter {
  return { ...filter, seed: Uint8Array.from(Buffer.from(filter.seed, 'base64')) };
}
