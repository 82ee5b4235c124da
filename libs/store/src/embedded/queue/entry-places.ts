import type { Positions } from '#bloom';
import { decodeEntryName, encodeEntryName, type EntryName } from '../../entry-id.js';
import { hashesOf } from '../../queued-hashes.js';
import type { Database } from '../database/database.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { FilterState } from '../filters/filter-state.js';
import { HASH_WORDS } from '../hashes/hash-bytes.js';
import type { Entry } from './entry.js';
import { knowsHosts } from './host-lanes.js';
import { ENTRY_TABLES, QueueRows, type EntryTable } from './queue-rows.js';

/**
 * The id of an entry in a row. Its place is a byte for the table and the row's key, without the generation. A key is
 * not reused while its entry exists, because a lane's numbers start over only after the lane was empty.
 */
export function entryIdOf(state: FilterState, table: EntryTable, key: Buffer, entry: Entry): string {
  const { hash, birth } = entry;
  const hostWord = knowsHosts(state) ? entry.hostWord : 0;
  const place = Buffer.concat([Buffer.of(ENTRY_TABLES.indexOf(table)), key.subarray(GENERATION_BYTES)]);
  return encodeEntryName(state.filter.generation, { hash, birth, hostWord, place });
}

/** Finds entries by their ids. Use it inside a transaction. */
export class EntryPlaces {
  private readonly rows: QueueRows;
  /** The ids of the entries in each row read so far, by place. */
  private readonly idsIn = new Map<string, ReadonlySet<string>>();

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
  ) {
    this.rows = new QueueRows(database, state);
  }

  /** The entry with this id. Undefined if it is no longer in its place. */
  find(id: string): EntryName | undefined {
    const name = decodeEntryName(this.state.filter.generation, id);
    return name && this.idsAt(name.place).has(id) ? name : undefined;
  }

  /**
   * 1 for each item whose entry has this id and is still in its place. If an item has several ids, only the first
   * counts.
   */
  there(ids: readonly string[], { hash }: Pick<Positions, 'hash'>): Uint8Array {
    const seen = new Set<string>();
    return Uint8Array.from(ids, (id, item) => {
      const name = this.find(id);
      if (!name) return 0;
      const words = hashesOf([name]);
      const own = words.every((word, i) => word === hash[HASH_WORDS * item + i]);
      const before = seen.size;
      return Number(own && seen.add(words.join()).size > before);
    });
  }

  private idsAt(place: Uint8Array): ReadonlySet<string> {
    const name = Buffer.from(place).toString('latin1');
    const known = this.idsIn.get(name) ?? this.read(place);
    this.idsIn.set(name, known);
    return known;
  }

  private read(place: Uint8Array): ReadonlySet<string> {
    const ids = new Set<string>();
    const table = ENTRY_TABLES[place[0] ?? ENTRY_TABLES.length];
    const key = Buffer.concat([this.state.key, place.subarray(1)]);
    const row = table && this.database[table].get(key);
    if (!row) return ids;
    for (const { entry } of this.rows.unpack(table, key, row))
      if (this.rows.lives(entry)) ids.add(entryIdOf(this.state, table, key, entry));
    return ids;
  }
}
