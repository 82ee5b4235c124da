/** A store that cannot be opened: its directory is in use, not writable or damaged. The message says which. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
