import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES, writeNumber } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import { entriesOf, Entry, ENTRY_HEAD_BYTES, EntryPacker } from './entry.js';
import type { HeadRows } from '../filters/head-rows.js';

/** Changes run one at a time. */
const packer = new EntryPacker();

/**
 * What waits in line, inside a write transaction: rows of packed entries, at most a page each unless one entry alone is larger,
 * numbered without a gap. What is taken goes from the first row, which goes with its last entry.
 */
export class QueueLog {
  private readonly key = Buffer.alloc(GENERATION_BYTES + 8);
  private readonly rowBytes: number;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
    private readonly heads: HeadRows,
  ) {
    this.key.set(state.key);
    this.rowBytes = database.sizes.rowBytes;
    packer.clear();
  }

  /** `attempt`: if it is to have another count of leases. */
  append(entry: Entry, attempt?: number): void {
    this.makeRoom(entry.payloadBytes, entry.discoveredAt);
    packer.add(entry, attempt);
  }

  /** See EntryPacker.addNew. */
  appendNew(hashes: Uint32Array, word: number, birth: number, discoveredAt: number, payload: string): void {
    this.makeRoom(Buffer.byteLength(payload), discoveredAt);
    packer.addNew(hashes, word, birth, discoveredAt, payload);
  }

  /** Writes what has been appended: to be called before the head is looked at, and at the end of a change. */
  flush(): void {
    if (packer.count === 0) return;
    this.database.log.putSync(this.rowKey(this.state.queue.nextRow++), packer.packed());
    packer.clear();
  }

  /** Takes entries off the head until one is not wanted. They stay readable. Notes since when the head is known. */
  takeWhile(wanted: (entry: Entry) => boolean): void {
    const { queue } = this.state;
    for (let row = this.headRow(); row; row = this.headRow()) {
      while (queue.headAt < row.length) {
        const entry = new Entry(row, queue.headAt);
        queue.headDiscoveredAt = entry.discoveredAt;
        if (!wanted(entry)) return;
        queue.waiting--;
        queue.headAt = entry.end;
      }
    }
  }

  /** Takes the entries of a row out that do not live. A row stays where it is, though nothing be left of it. */
  sweep(number: number, lives: (entry: Entry) => boolean): void {
    const { queue } = this.state;
    const entries = entriesOf(this.load(number), number === queue.headRow ? queue.headAt : 0);
    const kept = entries.filter(lives);
    if (kept.length === entries.length) return;
    for (const entry of kept) packer.add(entry);
    this.database.log.putSync(this.rowKey(number), packer.packed());
    packer.clear();
    queue.waiting -= entries.length - kept.length;
    if (number !== queue.headRow) return;
    this.heads.forget(this.state);
    queue.headAt = 0;
    this.takeWhile(() => false);
  }

  /** The row that the first entry is in; those before are done with. */
  private headRow(): Buffer | undefined {
    const { queue } = this.state;
    while (queue.headRow < queue.nextRow) {
      const row = this.heads.get(this.state, queue.headRow, () => this.load(queue.headRow));
      if (queue.headAt < row.length) return row;
      this.database.log.removeSync(this.rowKey(queue.headRow));
      this.heads.forget(this.state);
      queue.headRow++;
      queue.headAt = 0;
    }
    return undefined;
  }

  private load(number: number): Buffer {
    const row = this.database.log.get(this.rowKey(number));
    if (!row)
      throw new DamagedRow(this.database.log.name, Buffer.from(this.rowKey(number)), RowState.ValueDamaged);
    return row;
  }

  private makeRoom(payloadBytes: number, discoveredAt: number): void {
    const { queue } = this.state;
    const bytes = packer.length + ENTRY_HEAD_BYTES + payloadBytes;
    if (bytes > this.rowBytes) this.flush();
    if (queue.waiting++ === 0) queue.headDiscoveredAt = discoveredAt;
  }

  private rowKey(number: number): Buffer {
    writeNumber(this.key, number, GENERATION_BYTES);
    return this.key;
  }
}
