import { MAX_SCHEDULE_MS, PRIORITIES, type Filter, type Priority } from '#store';
import { optionIn, wholeOptionIn, type OptionSource } from '../batches/batch-options.js';
import { invalid, unwanted } from '../errors/problem.js';
import { show } from '../errors/show.js';

/** How far ahead a URL can be scheduled. */
export const MAX_SCHEDULE_SECONDS = MAX_SCHEDULE_MS / 1_000;

/** When the queue hands out the URLs of a request. See the port's Queued. */
export interface Order {
  readonly priority?: Priority | undefined;
  readonly delayMs?: number | undefined;
}

/** Throws VALIDATION_FAILED. */
export function orderOf(request: OptionSource): Order {
  const delaySeconds = wholeOptionIn(request, 'delaySeconds', 0, MAX_SCHEDULE_SECONDS);
  return { priority: priorityOf(request), delayMs: delaySeconds && delaySeconds * 1_000 };
}

function priorityOf(request: OptionSource): Priority | undefined {
  const priority = optionIn(request, 'priority');
  if (priority === undefined || isPriority(priority)) return priority;
  throw invalid('#/priority', `priority must be high, normal or low, not ${show(priority)}`);
}

function isPriority(value: unknown): value is Priority {
  return (PRIORITIES as readonly unknown[]).includes(value);
}

/**
 * In a set that ages, throws VALIDATION_FAILED if URLs could expire before their delay ends. Such URLs could be
 * discovered again, and the queue would hold them twice.
 */
export function refuseDelay(
  { name, maxAgeSeconds }: Filter,
  delayMs: number | undefined,
  ttlMs: number | undefined,
): void {
  if (maxAgeSeconds === undefined || delayMs === undefined) return;
  const seconds = delayMs / 1_000;
  const [limit, of] =
    ttlMs === undefined
      ? [maxAgeSeconds, `maxAgeSeconds of visited set "${name}"`]
      : [ttlMs / 1_000, 'time to live of the URLs'];
  if (seconds < limit) return;
  throw invalid('#/delaySeconds', `delaySeconds must be less than ${limit}, the ${of}, not ${seconds}`);
}

/** Throws VALIDATION_FAILED if the set's URLs can't be scheduled again, for the same reason. */
export function refuseAgain({ name, maxAgeSeconds }: Filter, againAfterSeconds: number | undefined): void {
  if (maxAgeSeconds === undefined || againAfterSeconds === undefined) return;
  const why = 'its URLs come back only if they expire and are then discovered again';
  throw unwanted(
    'againAfterSeconds',
    againAfterSeconds,
    `visited set "${name}" has maxAgeSeconds, so ${why}`,
  );
}
