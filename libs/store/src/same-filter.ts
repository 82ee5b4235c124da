import { isDeepStrictEqual } from 'node:util';
import type { Filter, FilterSpec } from './port/index.js';

/** What a caller chooses of a filter. Geometry and seed follow, or are random. */
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
>;

/** Whether an existing filter is what a creation under its name asks for. What a sync has changed since does not matter. */
export function isSameFilter(filter: Chosen & Pick<Filter, 'original'>, spec: Chosen): boolean {
  const { capacity, errorRate } = filter.original ?? filter;
  return (
    filter.kind === spec.kind &&
    filter.type === spec.type &&
    filter.semantics === spec.semantics &&
    capacity === spec.capacity &&
    errorRate === spec.errorRate &&
    // Whether it grows. By how many layers is for the store and its settings to say.
    (filter.layers === undefined) === (spec.layers === undefined) &&
    filter.maxAttempts === spec.maxAttempts &&
    filter.maxAgeSeconds === spec.maxAgeSeconds &&
    isDeepStrictEqual(asJson(filter.urlProfile), asJson(spec.urlProfile))
  );
}

/** The value as it reads after a restart. */
function asJson(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}
