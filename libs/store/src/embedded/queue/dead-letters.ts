import type { DeadLetterPage, Filter } from '../../port/index.js';
import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from '../database/keys.js';
import { idOf } from './entry-ids.js';
import { Entry, EntryPacker } from './entry.js';
import type { HostLanes } from './host-lanes.js';

/** A dead letter, by its number in the queue. */
export interface DeadEntry {
  readonly number: number;
  readonly reason: string;
  readonly entry: Entry;
}

const packer = new EntryPacker();

/**
 * A queue's dead letters, one row each, in the order in which they became dead letters. Use it inside a transaction.
 */
export class DeadLetters {
  private readonly key = Buffer.alloc(GENERATION_BYTES + 8);

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
    private readonly lanes: HostLanes | undefined,
  ) {
    this.key.set(state.key);
  }

  add(entry: Entry, reason: string): void {
    const { queue } = this.state;
    this.database.dead.putSync(this.rowKey(queue.nextDead++), packDead(entry, reason));
    queue.dead++;
    this.lanes?.count(entry, 'dead', 1);
  }

  get(number: number): DeadEntry | undefined {
    const row = this.database.dead.get(this.rowKey(number));
    return row && unpackDead(number, row);
  }

  remove({ number, entry }: DeadEntry): void {
    this.database.dead.removeSync(this.rowKey(number));
    if (this.lanes?.dismiss(entry)) return;
    this.state.queue.dead--;
    this.lanes?.count(entry, 'dead', -1);
  }

  /** At most `limit` dead letters, starting at this number. */
  from(number: number, limit: number): DeadEntry[] {
    const { end } = prefixRange(this.state.key);
    const range = { start: Buffer.from(this.rowKey(number)), ...(end && { end }), limit };
    return Array.from(this.database.dead.getRange(range), ({ key, value }) =>
      unpackDead(readNumber(key, GENERATION_BYTES), value),
    );
  }

  /** At most `limit` dead letters after this number, without forgotten ones. */
  page(limit: number, after: number, lives: (entry: Entry) => boolean): DeadLetterPage {
    const most = Math.min(limit, this.database.sizes.lettersPerPage);
    const looked = this.from(after + 1, most + 1);
    const more = looked.length > most;
    const page = more ? looked.slice(0, -1) : looked;
    const last = page.at(-1);
    const { filter } = this.state;
    const entries = page
      .filter(({ entry }) => lives(entry))
      .map(({ number, reason, entry }) => ({
        id: idOf('dead-letter', number, 0, entry, filter),
        payload: entry.text,
        attempt: entry.attempt,
        reason,
      }));
    if (!more || !last) return { entries };
    return { entries, next: idOf('dead-letter', last.number, 0, last.entry, filter) };
  }

  private rowKey(number: number): Buffer {
    writeNumber(this.key, number, GENERATION_BYTES);
    return this.key;
  }
}

/** True if an entry that comes back becomes a dead letter, because it has used up its attempts. */
export function isExhausted({ attempt }: Entry, { maxAttempts }: Pick<Filter, 'maxAttempts'>): boolean {
  return maxAttempts !== undefined && attempt >= maxAttempts;
}

/** A row: length of the reason (2 bytes), reason, entry. */
function packDead(entry: Entry, reason: string): Buffer {
  packer.clear();
  packer.add(entry);
  const why = Buffer.from(reason);
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(why.length);
  return Buffer.concat([length, why, packer.packed()]);
}

/** Reads a row's dead letter. */
export function unpackDead(number: number, row: Buffer): DeadEntry {
  const at = 2 + row.readUInt16BE();
  return { number, reason: row.toString('utf8', 2, at), entry: new Entry(row, at) };
}
