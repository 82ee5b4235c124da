import type { BatchOption } from '../request/request.js';

/** The schema of each option of a batch, in the query and in a JSON body. */
export const BATCH_OPTIONS = {
  ttlSeconds: { type: 'integer', minimum: 1 },
} as const satisfies Readonly<Record<BatchOption, object>>;
