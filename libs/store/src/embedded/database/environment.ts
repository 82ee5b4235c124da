/** A read outside of write transactions. It sees what was committed when it began. */
export interface ReadTransaction {
  /** Ends it. */
  done(): void;
}

export interface ReadOptions {
  /** For a read outside of write transactions. */
  readonly transaction?: ReadTransaction;
}

export interface RangeOptions extends ReadOptions {
  readonly start?: Buffer;
  /** Exclusive. */
  readonly end?: Buffer;
  readonly limit?: number;
}

/** The rows of one table, in the order of the bytes of their keys. Keys and values are copied. */
export interface Rows {
  get(key: Buffer, options?: ReadOptions): Buffer | undefined;
  /** False if `noOverwrite` and the key was there. */
  putSync(key: Buffer, value: Uint8Array, options?: { noOverwrite: boolean }): boolean;
  removeSync(key: Buffer): boolean;
  getRange(options: RangeOptions): Iterable<{ key: Buffer; value: Buffer }>;
  getKeys(options: RangeOptions): Iterable<Buffer>;
}

/** Keeps tables of rows: LMDB (lmdb-environment.ts), or memory in a simulation. */
export interface Environment {
  /** The table of this name. It is made if absent. */
  rows(name: string): Rows;

  /**
   * Runs `change` alone inside a write transaction, after all earlier ones; several transactions share a commit.
   * Resolves when it is committed, with `flush` when it is on disk too. Rejects if `change` threw or the commit failed;
   * then nothing of it is stored.
   */
  transaction(change: () => void, flush: boolean): Promise<void>;

  /** Begins a read of what is committed now. */
  read(): ReadTransaction;

  close(): Promise<void>;
}
