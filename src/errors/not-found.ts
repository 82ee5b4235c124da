import type { FilterKind } from '#store';
import { ProblemError } from './problem.js';

/** FILTER_NOT_FOUND or VISITED_SET_NOT_FOUND, depending on the kind. */
export function notFound(kind: FilterKind, name: string): ProblemError {
  return kind === 'visited-set'
    ? new ProblemError('VISITED_SET_NOT_FOUND', `there is no visited set "${name}"`)
    : new ProblemError('FILTER_NOT_FOUND', `there is no filter "${name}"`);
}
