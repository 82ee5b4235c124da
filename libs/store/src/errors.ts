/** Codes of the errors that a store throws. They never change, and the REST API uses the same ones. */
export type StoreErrorCode =
  | 'FILTER_EXISTS'
  | 'FILTER_NOT_FOUND'
  | 'FILTER_BUSY'
  | 'FILTER_FULL'
  | 'QUOTA_EXCEEDED'
  | 'SYNC_NOT_FOUND'
  | 'SYNC_EXISTS'
  | 'SYNC_ENDED'
  | 'SYNC_UNSUPPORTED'
  | 'SYNC_WOULD_FORGET'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_KEY_EXPIRED'
  | 'STORE_UNAVAILABLE'
  | 'STORE_DATA_LOST'
  | 'STORE_FULL';

export interface StoreErrorOptions extends ErrorOptions {
  /** True if the message names no host, key or path, so everyone may read it. */
  readonly isPublic?: boolean;
}

/** An error that every caller of a store must expect. Any other error from a store is a bug. */
export class StoreError extends Error {
  readonly isPublic: boolean;

  constructor(
    readonly code: StoreErrorCode,
    message: string,
    { isPublic = false, ...options }: StoreErrorOptions = {},
  ) {
    super(message, options);
    this.name = 'StoreError';
    this.isPublic = isPublic;
  }
}

/**
 * The filter has been cleared, dropped and re-created, or synced since it was opened, so positions computed for it are
 * invalid. The call changed nothing. Open the filter again and recompute the positions.
 */
export class StaleFilterError extends Error {
  constructor(readonly filterName: string) {
    super(`filter ${filterName} has been cleared, re-created or synced since it was opened`);
    this.name = 'StaleFilterError';
  }
}
