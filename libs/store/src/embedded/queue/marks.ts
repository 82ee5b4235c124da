import { MarkTable } from './mark-table.js';
import { HASH_BYTES, type Entry } from './entry.js';

/**
 * What was forgotten. A queue has a clock, which every change that queues new items puts forward by one; an entry keeps the
 * time of its birth. To forget an item is to note its hash with the time then: whichever of its entries were born by then are
 * dead, wherever they are and however often they move, and one that is made later lives. So nothing is searched for.
 *
 * In memory here; in the database a row for each change that forgot something (`packMarks`), which a start reads. A
 * sweep (sweeper.ts) takes dead entries out, after which the marks that there were when it began are needed no more.
 */
export class Marks {
  private current = new MarkTable();
  /** Those that a sweep is to do away with. */
  private old: MarkTable | undefined;

  get size(): number {
    return this.current.size + (this.old?.size ?? 0);
  }

  /** Adds the marks of a row. */
  add(row: Buffer): void {
    const clock = row.readUIntBE(0, CLOCK_BYTES);
    for (let at = CLOCK_BYTES; at < row.length; at += HASH_BYTES) {
      const a = row.readUInt32BE(at);
      const b = row.readUInt32BE(at + 4);
      const c = row.readUInt32BE(at + 8);
      const d = row.readUInt32BE(at + 12);
      this.current.set(a, b, c, d, clock);
    }
  }

  /** Whether an entry has been forgotten. */
  cover(entry: Entry): boolean {
    if (this.size === 0) return false;
    const a = entry.word(0);
    const b = entry.word(1);
    const c = entry.word(2);
    const d = entry.word(3);
    const { birth } = entry;
    return this.current.get(a, b, c, d) >= birth || (this.old?.get(a, b, c, d) ?? 0) >= birth;
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

const CLOCK_BYTES = 6;

/** A row: the clock, then the hashes of these items. */
export function packMarks(clock: number, hashes: Uint32Array, items: readonly number[]): Buffer {
  const row = Buffer.allocUnsafe(CLOCK_BYTES + items.length * HASH_BYTES);
  row.writeUIntBE(clock, 0, CLOCK_BYTES);
  let at = CLOCK_BYTES;
  for (const item of items) {
    for (let word = 0; word < 4; word++, at += 4) row.writeUInt32BE(hashes[item * 4 + word] as number, at);
  }
  return row;
}
