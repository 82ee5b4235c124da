import { viewOf } from '../database/row-view.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';
import { MarkTable } from '../hashes/mark-table.js';

const CLOCK_BYTES = 6;

/** The parts of a queue's entry that decide whether it has been forgotten. */
interface Born {
  /** One of the four words of its item's hash. */
  word(i: number): number;
  /** The queue's clock when the entry was made. */
  readonly birth: number;
}

/**
 * What was forgotten. A queue has a clock, which every change that queues new items puts forward by one; an entry keeps the
 * time of its birth. To forget an item is to note its hash with the time then: whichever of its entries were born by then are
 * dead, wherever they are and however often they move, and one that is made later lives. So nothing is searched for.
 *
 * The marks are in memory here. In the database they are rows of the items that a change forgot (`packMarks`), which a
 * start reads. A sweep (queue/sweeper.ts) takes dead entries out. After it, the marks from before it are not needed.
 */
export class Marks {
  private current = new MarkTable();
  /** Those that a sweep is to do away with. */
  private old: MarkTable | undefined;
  private readonly sought = new Uint32Array(HASH_WORDS);

  get size(): number {
    return this.current.size + (this.old?.size ?? 0);
  }

  /** Notes the items of a batch that were forgotten at a time. */
  note(clock: number, hashes: Uint32Array, items: Uint32Array): void {
    for (const item of items) this.current.set(hashes, item * HASH_WORDS, clock);
  }

  /** Adds the marks of a row. */
  add(row: Buffer): void {
    const clock = row.readUIntBE(0, CLOCK_BYTES);
    for (let at = CLOCK_BYTES; at < row.length; at += HASH_BYTES) {
      for (let i = 0; i < HASH_WORDS; i++) this.sought[i] = row.readUInt32BE(at + 4 * i);
      this.current.set(this.sought, 0, clock);
    }
  }

  /** Whether an entry has been forgotten. */
  cover(entry: Born): boolean {
    if (this.size === 0) return false;
    const { sought } = this;
    for (let i = 0; i < HASH_WORDS; i++) sought[i] = entry.word(i);
    const { birth } = entry;
    return this.current.get(sought, 0) >= birth || (this.old?.get(sought, 0) ?? 0) >= birth;
  }

  /** A sweep begins: it will have done away with the marks of now. */
  divide(): void {
    this.old = this.current;
    this.current = new MarkTable();
  }

  /** The sweep has ended. */
  dropOld(): void {
    this.old = undefined;
  }

  clear(): void {
    this.current = new MarkTable();
    this.old = undefined;
  }
}

/** Rows of at most so many bytes: the clock, then the hashes of some of these items. */
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
