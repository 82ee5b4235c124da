import type { FilterKind } from '#store';
import { ProblemError } from '../errors/problem.js';
import { notFound } from '../errors/not-found.js';
import type { Request } from '../request/request.js';
import { NAME_PATTERN } from '../validation/name.js';
import type { Principal } from '../request/principal.js';
import { SCOPES, type Scope } from '../request/scope.js';

const KINDS: readonly (readonly [path: string, kind: FilterKind])[] = [
  ['/v1/filters/', 'filter'],
  ['/v1/visited-sets/', 'visited-set'],
];

/**
 * Checks that a principal may use its request's route and the name in the path. Throws FORBIDDEN. A name outside the
 * prefix gets the same answer as one that doesn't exist, without a look-up.
 */
export function authorise(principal: Principal, request: Request): void {
  const { access, allNames } = request.routeOptions.config;
  if (access !== undefined && access !== 'public') authoriseScope(principal, access, 'this route');
  if (allNames && principal.prefix !== '') {
    throw new ProblemError(
      'FORBIDDEN',
      `this route needs credentials without a name prefix; these have "${principal.prefix}"`,
    );
  }
  const { name } = request.params as { name?: string };
  // Leave an invalid name alone: it gets the same error later for every caller.
  if (name === undefined || isVisible(principal, name) || !NAME_PATTERN.test(name)) return;
  const { url: route = '' } = request.routeOptions;
  const kind = KINDS.find(([path]) => route.startsWith(path))?.[1];
  throw kind
    ? notFound(kind, name)
    : new ProblemError('ROUTE_NOT_FOUND', 'this route does not exist; see /docs');
}

/** Throws FORBIDDEN if the principal lacks the scope for `use`, such as "this route". */
export function authoriseScope(principal: Principal, access: Scope, use: string): void {
  const least = SCOPES.indexOf(access);
  if (principal.scopes.some((scope) => SCOPES.indexOf(scope) >= least)) return;
  throw new ProblemError(
    'FORBIDDEN',
    `${use} needs the scope "${access}"; the credentials have ${had(principal)}`,
  );
}

/** False for a name outside the prefix. For this principal, such filters and visited sets don't exist. */
export function isVisible({ prefix }: Principal, name: string): boolean {
  return name.startsWith(prefix);
}

/** Throws FORBIDDEN if the name is outside the prefix, whether or not it exists. */
export function authoriseCreation(principal: Principal, name: string): void {
  if (isVisible(principal, name)) return;
  throw new ProblemError(
    'FORBIDDEN',
    `the credentials allow only names that begin with "${principal.prefix}"`,
  );
}

function had({ scopes }: Principal): string {
  return scopes.length === 0 ? 'none' : scopes.map((scope) => `"${scope}"`).join(', ');
}
