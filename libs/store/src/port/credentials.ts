/** A credential as it is stored. The value's meaning is the caller's own; it never contains a secret itself. */
export interface Credential {
  readonly id: string;
  readonly value: string;
}

/**
 * The credentials for using the service: some hundreds, which callers keep in memory. They are stored as durably as
 * filters, and every store on the same data sees them.
 */
export interface Credentials {
  /** Stores a credential. It replaces one with the same id. */
  put(credential: Credential): Promise<void>;

  /** As `put`, in place of one with the same id only. Answers false, and stores nothing, if there is none. */
  replace(credential: Credential): Promise<boolean>;

  /** All credentials, sorted by id. */
  list(): Promise<Credential[]>;

  /** Answers false if there was none. */
  delete(id: string): Promise<boolean>;
}
