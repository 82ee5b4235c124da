/**
 * The store can't be opened, because its directory is in use, not writable or damaged. The message gives the reason.
 */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
