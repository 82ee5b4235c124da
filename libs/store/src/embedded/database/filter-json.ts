import type { Filter } from '../../port/index.js';

/** A filter's description in a row, with the seed in base64. */
export type FilterJson = Omit<Filter, 'seed'> & { seed: string };

/** Encodes a filter's description as JSON. */
export function encodeFilter(filter: Filter): Buffer {
  return Buffer.from(JSON.stringify(toJson(filter)));
}

/** Decodes a description that `encodeFilter` wrote. */
export function decodeFilter(bytes: Uint8Array): Filter {
  return fromJson(JSON.parse(Buffer.from(bytes).toString()) as FilterJson);
}

export function toJson(filter: Filter): FilterJson {
  return { ...filter, seed: Buffer.from(filter.seed).toString('base64') };
}

export function fromJson(filter: FilterJson): Filter {
  return { ...filter, seed: Uint8Array.from(Buffer.from(filter.seed, 'base64')) };
}
