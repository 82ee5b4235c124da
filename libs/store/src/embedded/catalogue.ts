import type { Filter } from '../store.js';

/** What the catalogue stores under a filter's name: everything but the name, as JSON, with the seed in base64. */
export function encodeFilter(filter: Filter): Buffer {
  return Buffer.from(JSON.stringify({ ...filter, seed: Buffer.from(filter.seed).toString('base64') }));
}

/** The filter that `encodeFilter` wrote. */
export function decodeFilter(bytes: Uint8Array): Filter {
  const description = JSON.parse(Buffer.from(bytes).toString()) as Omit<Filter, 'seed'> & { seed: string };
  return { ...description, seed: Uint8Array.from(Buffer.from(description.seed, 'base64')) };
}
