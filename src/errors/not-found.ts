import type { FilterKind } from '#store';
import { ProblemError } from './problem.js';

/** FILTER_NOT_FOUND or VISITED_SET_NOT_FOUND, depending on the kind. */
export function notFound(kind: FilterKind, name: string): ProblemError {
  return kind === 'visited-set'
    ? new ProblemError(
        'VISITED_SET_NOT_FOUND',
        `visited set "${name}" does not exist; check the name, or create the visited set`,
      )
    : new ProblemError(
        'FILTER_NOT_FOUND',
        `filter "${name}" does not exist; check the name, or create the filter`,
      );
}
