export const HASH_BYTES = 16;

/** An entry of a queue, wherever in it. */
export interface Entry {
  /** Of its item: HASH_BYTES. */
  readonly hash: Buffer;
  /** The queue's clock when the entry was made: see marks.ts. */
  readonly birth: number;
  /** Seconds since the epoch. */
  readonly discoveredAt: number;
  /** Leases so far. */
  readonly attempt: number;
  /** UTF-8. */
  readonly payload: Buffer;
}

/**
 * A packed entry: hash (16 bytes), birth (6), discovered at (4), attempts (4), length of the payload (4), payload. All numbers
 * are big-endian.
 */
const BIRTH_AT = HASH_BYTES;
const DISCOVERED_AT = BIRTH_AT + 6;
const ATTEMPT_AT = DISCOVERED_AT + 4;
const LENGTH_AT = ATTEMPT_AT + 4;
export const ENTRY_HEAD_BYTES = LENGTH_AT + 4;

/** Where the entry that is packed at `at` ends. */
export function entryEnd(bytes: Buffer, at: number): number {
  return at + ENTRY_HEAD_BYTES + bytes.readUInt32BE(at + LENGTH_AT);
}

export function discoveredAtOf(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at + DISCOVERED_AT);
}

/** The entry that is packed at `at`: hash and payload are views of `bytes`. */
export function unpackEntry(bytes: Buffer, at: number): Entry {
  return {
    hash: bytes.subarray(at, at + HASH_BYTES),
    birth: bytes.readUIntBE(at + BIRTH_AT, 6),
    discoveredAt: bytes.readUInt32BE(at + DISCOVERED_AT),
    attempt: bytes.readUInt32BE(at + ATTEMPT_AT),
    payload: bytes.subarray(at + ENTRY_HEAD_BYTES, entryEnd(bytes, at)),
  };
}

/** All entries of a row that holds nothing else. */
export function unpackEntries(row: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < row.length; at = entryEnd(row, at)) entries.push(unpackEntry(row, at));
  return entries;
}

/** Packs entries one behind the other into a buffer that grows and is used again. */
export class EntryPacker {
  /** Of the entries since `clear`. */
  count = 0;
  length = 0;
  private buffer = Buffer.allocUnsafe(0x20000);

  clear(): void {
    this.count = 0;
    this.length = 0;
  }

  /** Valid until the next entry. */
  packed(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  add({ hash, birth, discoveredAt, attempt, payload }: Entry): void {
    const at = this.reserve(payload.length);
    this.buffer.set(hash, at);
    this.writeNumbers(at, birth, discoveredAt, attempt);
    this.buffer.set(payload, at + ENTRY_HEAD_BYTES);
    this.end(at, payload.length);
  }

  /** A new entry: of the item whose hash are the four words of `hashes` from `word` on. */
  addNew(hashes: Uint32Array, word: number, birth: number, discoveredAt: number, payload: string): void {
    const at = this.reserve(payload.length * 3);
    const { buffer } = this;
    for (let i = 0; i < 4; i++) buffer.writeUInt32BE(hashes[word + i] as number, at + 4 * i);
    this.writeNumbers(at, birth, discoveredAt, 0);
    this.end(at, buffer.write(payload, at + ENTRY_HEAD_BYTES));
  }

  private writeNumbers(at: number, birth: number, discoveredAt: number, attempt: number): void {
    this.buffer.writeUIntBE(birth, at + BIRTH_AT, 6);
    this.buffer.writeUInt32BE(discoveredAt, at + DISCOVERED_AT);
    this.buffer.writeUInt32BE(attempt, at + ATTEMPT_AT);
  }

  private end(at: number, payloadBytes: number): void {
    this.buffer.writeUInt32BE(payloadBytes, at + LENGTH_AT);
    this.length = at + ENTRY_HEAD_BYTES + payloadBytes;
    this.count++;
  }

  /** Has room for an entry with so many bytes of payload; answers where it begins. */
  private reserve(payloadBytes: number): number {
    const needed = this.length + ENTRY_HEAD_BYTES + payloadBytes;
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      larger.set(this.packed());
      this.buffer = larger;
    }
    return this.length;
  }
}
