import { isDeepStrictEqual } from 'node:util';
import type { Filter, FilterSpec } from './port/index.js';

/** The parameters that a caller chooses. Geometry and seed are derived or random. */
type Chosen = Pick<
  FilterSpec,
  | 'kind'
  | 'type'
  | 'semantics'
  | 'capacity'
  | 'errorRate'
  | 'layers'
  | 'urlProfile'
  | 'maxAttempts'
  | 'maxAgeSeconds'
  | 'perHost'
>;

/** True if an existing filter matches the creation of a filter with its name. Changes by syncs do not matter. */
export function isSameFilter(filter: Chosen & Pick<Filter, 'original'>, spec: Chosen): boolean {
  const { capacity, errorRate } = filter.original ?? filter;
  return (
    filter.kind === spec.kind &&
    filter.type === spec.type &&
    filter.semantics === spec.semantics &&
    capacity === spec.capacity &&
    errorRate === spec.errorRate &&
    // Compares only whether it grows; the store and its settings decide the number of layers.
    (filter.layers === undefined) === (spec.layers === undefined) &&
    filter.maxAttempts === spec.maxAttempts &&
    isDeepStrictEqual(asJson(filter.perHost), asJson(spec.perHost)) &&
    filter.maxAgeSeconds === spec.maxAgeSeconds &&
    isDeepStrictEqual(asJson(filter.urlProfile), asJson(spec.urlProfile))
  );
}

/** The value as it reads after a restart. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
