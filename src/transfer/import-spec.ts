import type { ExportHeader, FilterKind, FilterSpec } from '#store';
import { InvalidUrlProfileError, normaliseProfile } from '#url-key';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { NAME_PATTERN, NAME_REQUIREMENT } from '../validation/name.js';

/**
 * The filter to create from an export, with everything exported except the generation. Throws VALIDATION_FAILED if the
 * export is of the other kind, or if its name or URL profile is invalid.
 */
export function importSpec(header: ExportHeader, kind: FilterKind, name = header.name): FilterSpec {
  if (header.kind !== kind) {
    const [is, path] =
      header.kind === 'filter'
        ? ['a filter', '/v1/filters/import']
        : ['a visited set', '/v1/visited-sets/import'];
    throw invalid('#/kind', `the export contains ${is}: import it with POST ${path}`);
  }
  if (!NAME_PATTERN.test(name)) throw invalid('#/name', `name must ${NAME_REQUIREMENT}, not ${show(name)}`);
  const { type, semantics, capacity, errorRate, geometry, layers, seed } = header;
  const { maxAttempts, maxAgeSeconds, perHost } = header;
  const growth = layers && { layers };
  const spec = { name, kind, type, semantics, capacity, errorRate, geometry, ...growth, seed };
  if (kind !== 'visited-set') return spec;
  return {
    ...spec,
    urlProfile: profileOf(header),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(perHost !== undefined && { perHost }),
  };
}

function profileOf({ urlProfile }: ExportHeader): unknown {
  try {
    return normaliseProfile(urlProfile);
  } catch (error) {
    throw error instanceof InvalidUrlProfileError ? invalid('#/urlProfile', error.message) : error;
  }
}
