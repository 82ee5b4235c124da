import type { Filter } from '#store';
import { wholeOptionIn, type OptionSource } from '../batches/batch-options.js';
import { invalid, unwanted } from '../errors/problem.js';

/** How many ms a request's URLs stay seen, or undefined if the request doesn't say. Throws VALIDATION_FAILED. */
export function ttlOf(request: OptionSource): number | undefined {
  const seconds = wholeOptionIn(request, 'ttlSeconds', 1);
  return seconds && seconds * 1_000;
}

/** Throws VALIDATION_FAILED if the set's URLs can't stay seen for that long. */
export function refuseTtl({ name, maxAgeSeconds }: Filter, ttlMs: number | undefined): void {
  if (ttlMs === undefined) return;
  const seconds = ttlMs / 1_000;
  if (maxAgeSeconds === undefined) {
    throw unwanted('ttlSeconds', seconds, `visited set "${name}" has no maxAgeSeconds`);
  }
  if (seconds > maxAgeSeconds) {
    throw invalid(
      '#/ttlSeconds',
      `ttlSeconds must be at most ${maxAgeSeconds}, the maxAgeSeconds of visited set "${name}", not ${seconds}`,
    );
  }
}
