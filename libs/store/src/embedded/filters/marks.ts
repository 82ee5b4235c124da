import { viewOf } from '../database/row-view.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';
import { HashTable } from '../hashes/hash-table.js';

const CLOCK_BYTES = 6;

/** The parts of an entry that distinguish it from all others in its queue, and decide whether it was forgotten. */
export interface Born {
  /** The queue's clock when the entry was created. */
  readonly birth: number;
  /** The hash of its item. */
  readonly hash: Uint8Array;
}

/** An entry that returns the four words of its item's hash one by one, which is faster. */
interface WordByWord extends Born {
  word(i: number): number;
}

/**
 * The forgotten items of a queue, and its dropped entries. The queue has a clock, which advances by one with each
 * change that queues new items. An entry records the value of the clock at its birth.
 *
 * To forget an item, the queue notes its hash and the current clock. All entries for the item that were created by then
 * are void, wherever they are and however often they move. Later entries are valid. So forgetting needs no search. To
 * drop an entry, the queue notes the entry's hash and birth instead.
 *
 * This class keeps the marks in memory. The database has rows with the items that each change forgot (`packMarks`),
 * which are read at the start. A sweep (queue/sweeper.ts) removes void entries, so afterwards the marks that existed
 * before it are no longer needed.
 */
export class Marks {
  private current = new HashTable();
  /** Marks that are no longer needed once the current sweep ends. */
  private old: HashTable | undefined;
  private readonly sought = new Uint32Array(HASH_WORDS);

  get size(): number {
    return this.current.size + (this.old?.size ?? 0);
  }

  /** Notes that entries for some of a batch's items are void if they were created by this time of the queue's clock. */
  note(clock: number, hashes: Uint32Array, items: Uint32Array): void {
    for (const item of items) this.current.set(hashes, item * HASH_WORDS, clock, true);
  }

  /** Adds a row's marks. */
  add(row: Buffer): void {
    const clock = row.readUIntBE(0, CLOCK_BYTES);
    for (let at = CLOCK_BYTES; at < row.length; at += HASH_BYTES) {
      for (let i = 0; i < HASH_WORDS; i++) this.sought[i] = row.readUInt32BE(at + 4 * i);
      this.current.set(this.sought, 0, clock, true);
    }
  }

  /** True if the entry was forgotten. */
  cover(entry: WordByWord): boolean {
    if (this.size === 0) return false;
    const { sought } = this;
    for (let i = 0; i < HASH_WORDS; i++) sought[i] = entry.word(i);
    const { birth } = entry;
    return this.current.get(sought, 0) >= birth || (this.old?.get(sought, 0) ?? 0) >= birth;
  }

  /** Turns all current marks into old ones. Call this when a sweep begins. */
  divide(): void {
    this.old = this.current;
    this.current = new HashTable();
  }

  /** Drops the old marks. Call this when the sweep has ended. */
  dropOld(): void {
    this.old = undefined;
  }

  clear(): void {
    this.current = new HashTable();
    this.old = undefined;
  }
}

/** Rows of at most `rowBytes`: the clock, then some of the items' hashes. */
export function* packMarks(
  clock: number,
  hashes: Uint32Array,
  items: Uint32Array,
  rowBytes: number,
): Generator<Buffer> {
  const most = Math.floor((rowBytes - CLOCK_BYTES) / HASH_BYTES);
  for (let from = 0; from < items.length; from += most)
    yield packRow(clock, hashes, items.subarray(from, from + most));
}

function packRow(clock: number, hashes: Uint32Array, items: Uint32Array): Buffer {
  const row = Buffer.allocUnsafe(CLOCK_BYTES + items.length * HASH_BYTES);
  row.writeUIntBE(clock, 0, CLOCK_BYTES);
  const view = viewOf(row);
  let at = CLOCK_BYTES;
  for (const item of items) {
    for (let i = 0; i < HASH_WORDS; i++, at += 4) view.setUint32(at, hashes[item * HASH_WORDS + i] as number);
  }
  return row;
}
