import type { Database } from '../database/database.js';
import { SEQUENCE_BYTES, writeNumber } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import {
  entriesOf,
  Entry,
  ENTRY_HEAD_BYTES,
  EntryPacker,
  HOST_BYTES,
  type EntryChange,
  type NewEntry,
} from './entry.js';
import type { HeadRows } from '../filters/head-rows.js';
import type { LogNumbers } from '../filters/logs.js';
import type { Lane } from './lane.js';

/** A new entry's host: the first two words of its hash, at index `at`, and its name. */
export interface HostOf {
  readonly words: Uint32Array;
  readonly at: number;
  readonly name: string;
}

/** Each level numbers its rows from a different multiple of this. */
export const ROWS_OF_LEVEL = 2 ** 48;

export function rowKey({ key }: Pick<Lane, 'key'>, level: number, number: number): Buffer {
  const row = Buffer.alloc(key.length + SEQUENCE_BYTES);
  row.set(key);
  writeNumber(row, level * ROWS_OF_LEVEL + number, key.length);
  return row;
}

/** Identifies a log among the logs of all lanes. */
export const logId = ({ id }: Pick<Lane, 'id'>, level: number): string =>
  level === 0 ? id : `${id}${level}`;

/** Shared, because changes run one at a time. */
const packer = new EntryPacker();

/**
 * A lane's waiting entries with one priority: rows of packed entries, numbered without gaps. A row is at most one page,
 * unless a single entry is larger. Entries are taken from the first row, which is deleted after its last entry. Use it
 * inside a transaction, and flush it before you use another log.
 */
export class QueueLog {
  private readonly key: Buffer;
  private readonly id: string;
  private readonly rowBytes: number;

  constructor(
    private readonly database: Database,
    lane: Lane,
    private readonly level: number,
    private readonly numbers: LogNumbers,
    private readonly heads: HeadRows,
  ) {
    this.key = rowKey(lane, level, 0);
    this.id = logId(lane, level);
    this.rowBytes = database.sizes.rowBytes;
    packer.clear();
  }

  append(entry: Entry, change?: EntryChange): void {
    this.makeRoom(entry.end - entry.at, change?.discoveredAt ?? entry.discoveredAt);
    packer.add(entry, change);
  }

  /** See EntryPacker.addNew. */
  appendNew(hashes: Uint32Array, word: number, made: NewEntry, payload: string, host?: HostOf): void {
    const hostWord = host && (host.words[host.at + 1] as number);
    const head = hostWord === undefined ? ENTRY_HEAD_BYTES : ENTRY_HEAD_BYTES + HOST_BYTES;
    this.makeRoom(head + Buffer.byteLength(payload), made.discoveredAt);
    packer.addNew(hashes, word, made, payload, hostWord);
  }

  /** Writes the appended entries. Call it before the head is read, and at the end of a change. */
  flush(): void {
    if (packer.count === 0) return;
    this.database.log.putSync(this.rowKey(this.numbers.nextRow++), packer.packed());
    packer.clear();
  }

  /**
   * Takes entries off the head until one is not wanted, then returns false. The taken entries stay readable. Also notes
   * when the entry at the head was discovered.
   */
  takeWhile(wanted: (entry: Entry) => boolean): boolean {
    const { numbers } = this;
    for (let row = this.headRow(); row; row = this.headRow()) {
      while (numbers.headAt < row.length) {
        const entry = new Entry(row, numbers.headAt);
        numbers.headDiscoveredAt = entry.discoveredAt;
        if (!wanted(entry)) return false;
        numbers.waiting--;
        numbers.headAt = entry.end;
      }
    }
    return true;
  }

  /** Removes a row's void entries. The row stays, even if it is empty. */
  sweep(number: number, lives: (entry: Entry) => boolean): void {
    const { numbers } = this;
    const entries = entriesOf(this.load(number), number === numbers.headRow ? numbers.headAt : 0);
    const kept = entries.filter(lives);
    if (kept.length === entries.length) return;
    for (const entry of kept) packer.add(entry);
    this.database.log.putSync(this.rowKey(number), packer.packed());
    packer.clear();
    numbers.waiting -= entries.length - kept.length;
    if (number !== numbers.headRow) return;
    this.heads.forget(this.id);
    numbers.headAt = 0;
    this.takeWhile(() => false);
  }

  /** The row with the first entry. Deletes the rows before it. */
  private headRow(): Buffer | undefined {
    const { numbers } = this;
    while (numbers.headRow < numbers.nextRow) {
      const row = this.heads.get(this.id, numbers.headRow, () => this.load(numbers.headRow));
      if (numbers.headAt < row.length) return row;
      this.database.log.removeSync(this.rowKey(numbers.headRow));
      this.heads.forget(this.id);
      numbers.headRow++;
      numbers.headAt = 0;
    }
    return undefined;
  }

  private load(number: number): Buffer {
    const row = this.database.log.get(this.rowKey(number));
    if (!row)
      throw new DamagedRow(this.database.log.name, Buffer.from(this.rowKey(number)), RowState.ValueDamaged);
    return row;
  }

  private makeRoom(entryBytes: number, discoveredAt: number): void {
    const { numbers } = this;
    if (packer.length + entryBytes > this.rowBytes) this.flush();
    if (numbers.waiting++ === 0) numbers.headDiscoveredAt = discoveredAt;
  }

  private rowKey(number: number): Buffer {
    writeNumber(this.key, this.level * ROWS_OF_LEVEL + number, this.key.length - SEQUENCE_BYTES);
    return this.key;
  }
}
