import { MAX_ATTEMPT, type Priority, type QueuedItem } from '../../port/index.js';
import { viewOf } from '../database/row-view.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';

/**
 * A packed entry: its item's hash (16 bytes), birth (6), discovery time (4), level (1), attempts (3), length of the
 * payload (4), payload in UTF-8. All numbers are big-endian. In per-host queues, HAS_HOST is added to the length, and
 * the second word of the host's hash (4) precedes the payload. The first word of the host's hash equals that of the
 * item's hash.
 */
const BIRTH_AT = HASH_BYTES;
const DISCOVERED_AT = BIRTH_AT + 6;
/** The level in the highest byte, and the attempts in the other bytes. */
const ATTEMPT_AT = DISCOVERED_AT + 4;
const LEVEL = MAX_ATTEMPT + 1;
const LENGTH_AT = ATTEMPT_AT + 4;
/** Bytes of an entry before its host and payload. */
export const ENTRY_HEAD_BYTES = LENGTH_AT + 4;
export const HOST_BYTES = 4;
const HAS_HOST = 2 ** 31;

/** The priorities as entries store them, by level. Most entries are normal. */
const PRIORITY_OF = ['normal', 'high', 'low'] as const;

export function levelOf(priority: Priority = 'normal'): number {
  return PRIORITY_OF.indexOf(priority);
}

/** A new entry's data, besides its item. */
export interface NewEntry {
  readonly birth: number;
  /** Seconds since the epoch. */
  readonly discoveredAt: number;
  readonly level: number;
}

/** Numbers to replace in an entry. */
export interface EntryChange {
  readonly attempt?: number | undefined;
  readonly discoveredAt?: number | undefined;
}

/** A queue entry, packed, at a position in a row. Reads fields only when they are used. */
export class Entry {
  constructor(
    readonly bytes: Buffer,
    readonly at: number,
  ) {}

  /** A view of the bytes, not a copy. */
  get hash(): Buffer {
    return this.bytes.subarray(this.at, this.at + HASH_BYTES);
  }

  /** One of the four words of the hash. */
  word(i: number): number {
    return this.bytes.readUInt32BE(this.at + 4 * i);
  }

  /** The queue's clock when the entry was created. See filters/marks.ts. */
  get birth(): number {
    return this.bytes.readUIntBE(this.at + BIRTH_AT, 6);
  }

  /** Seconds since the epoch. */
  get discoveredAt(): number {
    return this.bytes.readUInt32BE(this.at + DISCOVERED_AT);
  }

  /** The index of its priority in PRIORITY_OF. */
  get level(): number {
    return this.bytes.readUInt8(this.at + ATTEMPT_AT);
  }

  get priority(): Priority {
    return PRIORITY_OF[this.level] ?? 'normal';
  }

  /** Number of leases so far, up to MAX_ATTEMPT. */
  get attempt(): number {
    return this.bytes.readUInt32BE(this.at + ATTEMPT_AT) & MAX_ATTEMPT;
  }

  /** The second word of the host's hash, in per-host queues. */
  get hostWord(): number {
    return this.bytes.readUInt32BE(this.at + ENTRY_HEAD_BYTES);
  }

  get payloadBytes(): number {
    return this.bytes.readUInt32BE(this.at + LENGTH_AT) & (HAS_HOST - 1);
  }

  /** A view of the bytes, not a copy. */
  get payload(): Buffer {
    return this.bytes.subarray(this.payloadAt, this.end);
  }

  get text(): string {
    return this.bytes.toString('utf8', this.payloadAt, this.end);
  }

  /** Position after the entry. */
  get end(): number {
    const length = this.bytes.readUInt32BE(this.at + LENGTH_AT);
    return this.at + headBytes(length) + (length & (HAS_HOST - 1));
  }

  private get payloadAt(): number {
    return this.at + headBytes(this.bytes.readUInt32BE(this.at + LENGTH_AT));
  }
}

/** How many bytes precede an entry's payload. `length`: the entry's length field. */
function headBytes(length: number): number {
  return length < HAS_HOST ? ENTRY_HEAD_BYTES : ENTRY_HEAD_BYTES + HOST_BYTES;
}

/** The entries from `at` to the end of a row. */
export function entriesOf(row: Buffer, at = 0): Entry[] {
  const entries: Entry[] = [];
  while (at < row.length) {
    const entry = new Entry(row, at);
    entries.push(entry);
    at = entry.end;
  }
  return entries;
}

/** Packs entries into a buffer, which grows as needed and is reused. */
export class EntryPacker {
  /** Number and size of the entries since `clear`. */
  count = 0;
  length = 0;
  private buffer = Buffer.alloc(0x20000);
  private view = viewOf(this.buffer);

  clear(): void {
    this.count = 0;
    this.length = 0;
  }

  /** The entries since `clear`. Valid until the next one is added. */
  packed(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  add({ bytes, at: from, end, level }: Entry, { attempt, discoveredAt }: EntryChange = {}): void {
    const at = this.reserve(end - from);
    bytes.copy(this.buffer, at, from, end);
    if (attempt !== undefined) this.writeAttempt(at, level, attempt);
    if (discoveredAt !== undefined) this.view.setUint32(at + DISCOVERED_AT, discoveredAt);
    this.end(at + end - from);
  }

  /** Adds a new entry. Its item's hash is the four words of `hashes` at index `word`. `hostWord`: see Entry. */
  addNew(hashes: Uint32Array, word: number, made: NewEntry, payload: string, hostWord?: number): void {
    const at = this.reserve(ENTRY_HEAD_BYTES + HOST_BYTES + payload.length * 3);
    const { buffer, view } = this;
    for (let i = 0; i < HASH_WORDS; i++) view.setUint32(at + 4 * i, hashes[word + i] as number);
    const hasHost = hostWord !== undefined;
    if (hasHost) view.setUint32(at + ENTRY_HEAD_BYTES, hostWord);
    const payloadAt = at + ENTRY_HEAD_BYTES + (hasHost ? HOST_BYTES : 0);
    const length = buffer.write(payload, payloadAt);
    this.writeNumbers(at, made, 0, hasHost ? length + HAS_HOST : length);
    this.end(payloadAt + length);
  }

  /** Adds an entry from an export. `hostWord`: see Entry. */
  addItem({ hash, attempt, payload, ...item }: QueuedItem, birth: number, hostWord?: number): void {
    const at = this.reserve(ENTRY_HEAD_BYTES + HOST_BYTES + payload.length);
    const hasHost = hostWord !== undefined;
    const payloadAt = at + ENTRY_HEAD_BYTES + (hasHost ? HOST_BYTES : 0);
    this.buffer.set(hash, at);
    if (hasHost) this.view.setUint32(at + ENTRY_HEAD_BYTES, hostWord);
    this.buffer.set(payload, payloadAt);
    const { length } = payload;
    const made = { birth, discoveredAt: item.discoveredAt, level: levelOf(item.priority) };
    this.writeNumbers(at, made, attempt, hasHost ? length + HAS_HOST : length);
    this.end(payloadAt + length);
  }

  private writeNumbers(
    at: number,
    { birth, discoveredAt, level }: NewEntry,
    attempt: number,
    length: number,
  ): void {
    const { view } = this;
    view.setUint16(at + BIRTH_AT, Math.floor(birth / 2 ** 32));
    view.setUint32(at + BIRTH_AT + 2, birth % 2 ** 32);
    view.setUint32(at + DISCOVERED_AT, discoveredAt);
    this.writeAttempt(at, level, attempt);
    view.setUint32(at + LENGTH_AT, length);
  }

  private writeAttempt(at: number, level: number, attempt: number): void {
    this.view.setUint32(at + ATTEMPT_AT, level * LEVEL + Math.min(attempt, MAX_ATTEMPT));
  }

  private end(at: number): void {
    this.length = at;
    this.count++;
  }

  /** Makes room for `bytes` more bytes. Returns the position where they begin. */
  private reserve(bytes: number): number {
    const needed = this.length + bytes;
    if (needed > this.buffer.length) {
      const larger = Buffer.alloc(2 * needed);
      larger.set(this.packed());
      this.buffer = larger;
      this.view = viewOf(larger);
    }
    return this.length;
  }
}
