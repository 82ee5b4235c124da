import { show } from '../errors/show.js';
import { invalid } from '../errors/problem.js';
import { jsonObject } from '../validation/json-object.js';

const ALLOWED = new Set(['results']);

/**
 * Whether a query asks for a stream's last line only (`?results=none`), as clients do that send everything before they read.
 * Throws VALIDATION_FAILED.
 */
export function isLastLineOnly(query: unknown): boolean {
  const { results } = jsonObject(query, ALLOWED);
  if (results === undefined || results === 'none') return results === 'none';
  throw invalid('#/results', `results must be "none" or absent, not ${show(results)}`);
}
