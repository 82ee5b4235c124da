import { ProblemError, type Fault } from '../errors/problem.js';
import { show } from '../errors/show.js';

/** Checks that a value is an object with only allowed members. Throws VALIDATION_FAILED. */
export function jsonObject(value: unknown, allowed: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `the body must be a JSON object, not ${value === undefined ? 'empty' : show(value)}`,
    );
  }
  for (const name of Object.keys(value)) {
    if (allowed.has(name)) continue;
    const detail = `${show(name)} is not a member of this request; its members are ${[...allowed].join(', ')}`;
    throw refused([{ pointer: '#', detail }]);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Maximum number of faults in an error's message. `errors` lists all faults. */
const MOST_TOLD = 10;

/** VALIDATION_FAILED for several members. */
export function refused(errors: readonly Fault[]): ProblemError {
  const told = errors.slice(0, MOST_TOLD).map(({ detail }) => detail);
  if (errors.length > MOST_TOLD) told.push(`and ${errors.length - MOST_TOLD} more`);
  return new ProblemError('VALIDATION_FAILED', told.join('; '), { errors });
}
