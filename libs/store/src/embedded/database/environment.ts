/** A read outside write transactions. It sees the data that was committed when it began. */
export interface ReadTransaction {
  done(): void;
}

export interface ReadOptions {
  /** For reads outside write transactions. */
  readonly transaction?: ReadTransaction;
}

export interface RangeOptions extends ReadOptions {
  readonly start?: Buffer;
  /** Exclusive. */
  readonly end?: Buffer;
  readonly limit?: number;
}

/** One table's rows, in byte order of their keys. Copies keys and values. */
export interface Rows {
  get(key: Buffer, options?: ReadOptions): Buffer | undefined;
  /** Returns false if `noOverwrite` is set and the key exists. */
  putSync(key: Buffer, value: Uint8Array, options?: { noOverwrite: boolean }): boolean;
  removeSync(key: Buffer): boolean;
  getRange(options: RangeOptions): Iterable<{ key: Buffer; value: Buffer }>;
  getKeys(options: RangeOptions): Iterable<Buffer>;
}

/** Stores tables of rows: in LMDB (lmdb-environment.ts), or in memory for simulations. */
export interface Environment {
  /** The table of this name. Creates it if absent. */
  rows(name: string): Rows;

  /**
   * Runs `change` alone in a write transaction, after all earlier ones. Several transactions share a commit. Resolves
   * when the change is committed and, with `flush`, on disk. If `change` throws or the commit fails, it rejects and
   * stores nothing.
   */
  transaction(change: () => void, flush: boolean): Promise<void>;

  /** Starts a read of the data committed so far. */
  read(): ReadTransaction;

  close(): Promise<void>;
}
