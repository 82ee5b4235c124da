import { MAX_SCHEDULE_MS, PRIORITIES } from '#store';
import type { BatchOption } from '../request/request.js';

interface OptionSchema {
  readonly type: 'integer' | 'string' | 'boolean';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: string[];
  readonly default?: number | string | boolean;
}

/** The schema for each batch option, in the query and in a JSON body. */
export const BATCH_OPTIONS: Readonly<Record<BatchOption, OptionSchema>> = {
  ttlSeconds: { type: 'integer', minimum: 1 },
  priority: { type: 'string', enum: [...PRIORITIES], default: 'normal' },
  delaySeconds: { type: 'integer', minimum: 0, maximum: MAX_SCHEDULE_MS / 1_000, default: 0 },
  onlyAbsent: { type: 'boolean', default: false },
};
