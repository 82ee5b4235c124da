import type { Sizes } from '../../libs/store/src/embedded/database/sizes.js';

/** The store's limits in a history. */
export interface Limits {
  readonly checkpointBytes: number;
  readonly maxMarks: number;
  readonly maxSyncForgets: number;
  readonly maxHidden: number;
  readonly syncIdleMs: number;
  readonly maxRecordBytes: number | undefined;
  readonly sizes: Sizes;
}
