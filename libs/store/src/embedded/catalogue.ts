import { isDeepStrictEqual } from 'node:util';
import type { Filter, FilterSpec } from '../store.js';

/** What the catalogue keeps of a filter, under its name: all but the name, as JSON, the seed in base64. */
export function encodeFilter(filter: Filter): Buffer {
  return Buffer.from(JSON.stringify({ ...filter, seed: Buffer.from(filter.seed).toString('base64') }));
}

/** The filter that `encodeFilter` wrote. */
export function decodeFilter(bytes: Uint8Array): Filter {
  const description = JSON.parse(Buffer.from(bytes).toString()) as Omit<Filter, 'seed'> & { seed: string };
  return { ...description, seed: Uint8Array.from(Buffer.from(description.seed, 'base64')) };
}

/** The same filter was asked for: everything a caller chooses is equal. Geometry and seed follow or are random. */
export function sameParameters(filter: Filter, spec: FilterSpec): boolean {
  return (
    filter.name === spec.name &&
    filter.kind === spec.kind &&
    filter.type === spec.type &&
    filter.semantics === spec.semantics &&
    filter.capacity === spec.capacity &&
    filter.errorRate === spec.errorRate &&
    isDeepStrictEqual(asJson(filter.urlProfile), asJson(spec.urlProfile))
  );
}

/** As it reads after a restart. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
