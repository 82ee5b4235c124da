import type { Filter } from '#store';
import { LineInput } from '../batches/line-input.js';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import type { Request } from '../request/request.js';

/** A whole number in a query, in its only spelling. */
const WHOLE = /^[1-9]\d{0,9}$/;

/**
 * How many ms the URLs of a request stay seen, from `ttlSeconds` in its query or JSON body; undefined if neither has
 * it. Throws VALIDATION_FAILED.
 */
export function ttlOf({ query, body }: Request): number | undefined {
  const asked = (query as { ttlSeconds?: unknown }).ttlSeconds;
  const inBody =
    body instanceof LineInput ? undefined : (body as { ttlSeconds?: unknown } | null)?.ttlSeconds;
  if (asked !== undefined && inBody !== undefined)
    throw invalid('#/ttlSeconds', 'ttlSeconds must be in the query or in the body, not both');
  if (asked !== undefined && (typeof asked !== 'string' || !WHOLE.test(asked))) throw notWhole(asked);
  const seconds = asked === undefined ? inBody : Number(asked);
  if (seconds === undefined) return undefined;
  if (!Number.isSafeInteger(seconds) || (seconds as number) < 1) throw notWhole(seconds);
  return (seconds as number) * 1_000;
}

/** Throws VALIDATION_FAILED if URLs of the set cannot stay seen for that long. */
export function refuseTtl({ name, maxAgeSeconds }: Filter, ttlMs: number | undefined): void {
  if (ttlMs === undefined) return;
  const seconds = ttlMs / 1_000;
  if (maxAgeSeconds === undefined) {
    throw invalid(
      '#/ttlSeconds',
      `ttlSeconds must be absent, because visited set ${name} has no maxAgeSeconds`,
    );
  }
  if (seconds > maxAgeSeconds) {
    throw invalid(
      '#/ttlSeconds',
      `ttlSeconds must be at most ${maxAgeSeconds}, the maxAgeSeconds of visited set ${name}, not ${seconds}`,
    );
  }
}

function notWhole(value: unknown): Error {
  return invalid('#/ttlSeconds', `ttlSeconds must be a whole number from 1, not ${show(value)}`);
}
