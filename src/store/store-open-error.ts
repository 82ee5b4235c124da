/** A store that cannot be opened: a directory in use, not writable, damaged. The message says which. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
