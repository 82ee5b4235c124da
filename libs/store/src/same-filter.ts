import type { Filter, FilterSpec, PerHost } from './port/index.js';

/** The parameters that a caller chooses. Geometry and seed are derived or random. */
export type Chosen = Pick<
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

/** A filter's parameters at creation, regardless of changes by syncs. */
export type Existing = Chosen & Pick<Filter, 'original'>;

/** A parameter in which two filters differ, and its values as JSON (undefined if it isn't set). */
interface Difference {
  readonly parameter: string;
  readonly existing: string | undefined;
  readonly wanted: string | undefined;
}

/** True if an existing filter has the parameters with which a filter is to be created. */
export function isSameFilter(filter: Existing, spec: Chosen): boolean {
  return differences(filter, spec).length === 0;
}

/** The parameters, under their API names, in which a creation differs from an existing filter. */
export function differences(filter: Existing, spec: Chosen): Difference[] {
  const [existing, wanted] = [chosenIn({ ...filter, ...filter.original }), chosenIn(spec)];
  return Object.keys(existing).flatMap((parameter) => [
    ...differing(parameter, existing[parameter], wanted[parameter]),
  ]);
}

const chosenIn = (filter: Chosen): Record<string, unknown> => ({
  kind: filter.kind,
  type: filter.type,
  semantics: filter.semantics,
  capacity: filter.capacity,
  errorRate: filter.errorRate,
  // Compares only whether it grows, because the store and its settings decide the number of layers.
  growth: filter.layers === undefined ? 'none' : 'auto',
  maxAttempts: filter.maxAttempts,
  maxAgeSeconds: filter.maxAgeSeconds,
  perHost: filter.perHost && inSeconds(filter.perHost),
  urlProfile: filter.urlProfile,
});

/** The API gives the delay in seconds. */
const inSeconds = ({ delayMs, ...limits }: PerHost): object => ({
  ...(delayMs !== undefined && { delaySeconds: delayMs / 1_000 }),
  ...limits,
});

/** Compares values as JSON, because after a restart they come from JSON. Compares objects member by member. */
function* differing(parameter: string, existing: unknown, wanted: unknown): Generator<Difference> {
  const members = { ...asObject(existing), ...asObject(wanted) };
  if (asObject(existing) && asObject(wanted)) {
    for (const name of Object.keys(members))
      yield* differing(`${parameter}.${name}`, asObject(existing)?.[name], asObject(wanted)?.[name]);
    return;
  }
  const [one, other] = [JSON.stringify(existing), JSON.stringify(wanted)] as (string | undefined)[];
  if (one !== other) yield { parameter, existing: one, wanted: other };
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
