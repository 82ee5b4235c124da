/** A credential as the store keeps it. Only the caller interprets `value`, which never contains a secret. */
export interface Credential {
  readonly id: string;
  readonly value: string;
}

/**
 * Credentials for using the service. There are at most a few hundred, which callers keep in memory. They are as durable
 * as filters, and every store on the same data sees them.
 */
export interface Credentials {
  /** Stores a credential. Overwrites one with the same id. */
  put(credential: Credential): Promise<void>;

  /** Overwrites the credential with the same id. If none exists, returns false and stores nothing. */
  replace(credential: Credential): Promise<boolean>;

  /** All credentials, sorted by id. */
  list(): Promise<Credential[]>;

  /** Returns false if no credential has this id. */
  delete(id: string): Promise<boolean>;
}
