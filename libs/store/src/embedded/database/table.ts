import { checksum } from './checksum.js';
import type { RangeOptions, ReadOptions, Rows } from './environment.js';

/**
 * Two checksums of 4 bytes follow a value. The first covers table and key, and the second covers the first and the
 * value.
 */
const SEAL_BYTES = 8;

/** `KeyDamaged`: the key is damaged, so the row's filter is unknown. */
export const RowState = { Whole: 0, ValueDamaged: 1, KeyDamaged: 2 } as const;
export type RowState = (typeof RowState)[keyof typeof RowState];

/** A row whose bytes are not the ones that were written. */
export class DamagedRow extends Error {
  constructor(
    readonly table: string,
    readonly key: Buffer,
    readonly state: RowState,
  ) {
    super(`a row of the table ${table} is damaged`);
    this.name = 'DamagedRow';
  }
}

/** The seed for a table's row checksums, so that another table's row counts as damaged. */
export function sealSeed(table: string): number {
  return checksum(Buffer.from(table), 0);
}

/** The state of a row in the database. */
export function rowState(seed: number, key: Uint8Array, sealed: Buffer): RowState {
  const end = sealed.length - SEAL_BYTES;
  if (end < 0) return RowState.KeyDamaged;
  const ofKey = checksum(key, seed);
  if (sealed.readUInt32LE(end + 4) === checksum(sealed, ofKey, end)) return RowState.Whole;
  return sealed.readUInt32LE(end) === ofKey ? RowState.ValueDamaged : RowState.KeyDamaged;
}

/** Strips the checksums from a value. */
export function unsealed(sealed: Buffer): Buffer {
  return sealed.subarray(0, sealed.length - SEAL_BYTES);
}

/** Buffer in which values are sealed. The database copies from it. */
let scratch = Buffer.alloc(0x10000);
/** Short slices of the scratch buffer, by length. Creating a slice takes longer than all other work here. */
let beginnings: Buffer[] = [];
const SHORT = 1024;

function seal(seed: number, key: Uint8Array, value: Uint8Array): Buffer {
  const { length } = value;
  const sealed = beginning(length + SEAL_BYTES);
  sealed.set(value);
  const ofKey = checksum(key, seed);
  sealed.writeUInt32LE(ofKey, length);
  sealed.writeUInt32LE(checksum(value, ofKey), length + 4);
  return sealed;
}

function beginning(length: number): Buffer {
  if (length < SHORT) return (beginnings[length] ??= scratch.subarray(0, length));
  if (scratch.length < length) {
    scratch = Buffer.alloc(2 * length);
    beginnings = [];
  }
  return scratch.subarray(0, length);
}

/**
 * A table whose rows carry checksums. Only this class writes and checks them. Reads throw DamagedRow. Put and remove
 * only inside a transaction.
 */
export class Table {
  private readonly seed: number;

  constructor(
    readonly name: string,
    private readonly rows: Rows,
  ) {
    this.seed = sealSeed(name);
  }

  get(key: Buffer, options?: ReadOptions): Buffer | undefined {
    const sealed = this.rows.get(key, options);
    return sealed && this.open(key, sealed);
  }

  /** Returns false if `noOverwrite` is set and the key exists. */
  putSync(key: Buffer, value: Uint8Array, options?: { noOverwrite: boolean }): boolean {
    return this.rows.putSync(key, seal(this.seed, key, value), options);
  }

  removeSync(key: Buffer): boolean {
    return this.rows.removeSync(key);
  }

  /** The rows of a range, read one by one. */
  *getRange(options: RangeOptions): Generator<{ key: Buffer; value: Buffer }, void, undefined> {
    for (const { key, value } of this.rows.getRange(options)) yield { key, value: this.open(key, value) };
  }

  /** Every row. A damaged row's value is undefined. */
  *all(): Generator<{ key: Buffer; value: Buffer | undefined }, void, undefined> {
    for (const { key, value } of this.rows.getRange({})) {
      const whole = rowState(this.seed, key, value) === RowState.Whole;
      yield { key, value: whole ? unsealed(value) : undefined };
    }
  }

  getKeys(options: RangeOptions): Iterable<Buffer> {
    return this.rows.getKeys(options);
  }

  private open(key: Buffer, sealed: Buffer): Buffer {
    const state = rowState(this.seed, key, sealed);
    if (state !== RowState.Whole) throw new DamagedRow(this.name, Buffer.from(key), state);
    return unsealed(sealed);
  }
}
