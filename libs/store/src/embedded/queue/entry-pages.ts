import { hostWords } from '#bloom';
import {
  MAX_LEASED_BYTES,
  MAX_LISTED_ENTRIES,
  type EntryPage,
  type EntryQuery,
  type EntryState,
  type QueueEntry,
} from '../../port/index.js';
import type { Database } from '../database/database.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { FilterState } from '../filters/filter-state.js';
import { HASH_BYTES } from '../hashes/hash-bytes.js';
import { scheduledAt } from './due.js';
import { entryIdOf } from './entry-places.js';
import { HostLane, laneKey } from './host-lane.js';
import { ENTRY_TABLES, QueueRows, type EntryTable, type Item } from './queue-rows.js';

/** The states of the entries in each table. */
const STATES: Readonly<Record<EntryTable, readonly EntryState[]>> = {
  log: ['waiting'],
  leases: ['leased'],
  due: ['delayed', 'scheduled'],
  dead: ['dead'],
};

/**
 * Where a page begins: at the row with this key or, if it is gone, at the next row. At most `left` of this row's
 * entries remain to be read, and only those after `last`. A row only loses entries, so if some are gone, this skips
 * none of the others. If both `last` and an entry after it are gone, entries may be listed twice.
 */
interface Place {
  readonly table: EntryTable;
  readonly key: Buffer;
  readonly left?: number;
  /** See nameOf. */
  readonly last?: Buffer | undefined;
}

/** A cursor: a byte for the table, `left` (4 bytes), `last` or zeros, and the key, which begins with the generation. */
const LAST_AT = 5;
/** Half of the hash, because the other half may be that of the item's host. */
const HALF_HASH = HASH_BYTES / 2;
const BIRTH_BYTES = 6;
const KEY_AT = LAST_AT + HALF_HASH + BIRTH_BYTES;
const MAX_CURSOR = 64;

/** Lists a queue's current entries. Use it inside a transaction. */
export class EntryPages {
  private readonly rows: QueueRows;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
  ) {
    this.rows = new QueueRows(database, state);
  }

  /**
   * See Queue.entries. The page also ends once it has read `listedPerPage` entries, or as many bytes as a lease may
   * have.
   */
  page({ state: wanted, host }: EntryQuery, limit: number, after = ''): EntryPage {
    const lane = host === undefined ? undefined : this.laneOf(host);
    const most = Math.min(limit, MAX_LISTED_ENTRIES);
    const entries: QueueEntry[] = [];
    let { listedPerPage: left } = this.database.sizes;
    let bytes = MAX_LEASED_BYTES;
    let first = placeOf(after, this.state);
    for (const table of ENTRY_TABLES) {
      if (first && first.table !== table) continue;
      const place = first;
      first = undefined;
      const states = STATES[table].filter((each) => (wanted ?? each) === each && lane?.[each] !== 0);
      if (states.length === 0) continue;
      const prefix = table === 'log' && lane ? lane.key : this.state.key;
      const start = later(place?.key, later(prefix, this.rows.startOf(table)));
      for (const { key, value } of this.rows.from(table, start, prefix)) {
        const items = this.rows.unpack(table, key, value);
        const state = states.find((each) => table !== 'due' || each === stateInDue(key));
        for (let n = place?.key.equals(key) ? seenIn(items, place) : 0; n < items.length; n++) {
          if (entries.length >= most || left <= 0 || bytes <= 0) {
            const last = items.slice(0, n).findLast(({ entry }) => this.rows.lives(entry));
            const stop = { table, key, left: items.length - n, last: last && nameOf(last) };
            return { entries, next: cursorOf(stop) };
          }
          left--;
          const item = items[n] as Item;
          if (state && this.selects(lane, item))
            entries.push(this.view(state, item, entryIdOf(this.state, table, key, item.entry)));
        }
        if (left-- <= 0)
          return { entries, next: cursorOf({ table, key: Buffer.concat([key, Buffer.of(0)]) }) };
        bytes -= value.length;
      }
    }
    return { entries };
  }

  private laneOf(host: string): HostLane {
    const [first = 0, second = 0] = hostWords(host, this.state.filter.seed);
    const key = laneKey(this.state.key, first, second);
    return new HostLane(key, this.database.lanes.get(key));
  }

  /** False if the entry is void or not in this lane. */
  private selects(lane: HostLane | undefined, { entry }: Item): boolean {
    return lane?.isOf(entry.word(0), entry.hostWord) !== false && this.rows.lives(entry);
  }

  private view(state: EntryState, { entry, until, reason }: Item, id: string): QueueEntry {
    const { attempt, discoveredAt, text: payload } = entry;
    const host = this.rows.hostOf(entry);
    return {
      ...{ id, payload, state, attempt, discoveredAt },
      ...(until !== undefined && { dueAt: until }),
      ...(reason !== undefined && { reason }),
      ...(host !== undefined && { host }),
    };
  }
}

/** The state of entries in a row of the table `due`, from its key. */
function stateInDue(key: Buffer): EntryState {
  return scheduledAt(key) === undefined ? 'delayed' : 'scheduled';
}

function later(key: Buffer | undefined, other: Buffer): Buffer {
  return key && Buffer.compare(key, other) > 0 ? key : other;
}

/** Names an entry among those of its row. */
function nameOf({ entry: { hash, birth } }: Item): Buffer {
  const name = Buffer.alloc(HALF_HASH + BIRTH_BYTES);
  name.set(hash.subarray(HALF_HASH));
  name.writeUIntBE(birth, HALF_HASH, BIRTH_BYTES);
  return name;
}

/** How many of a row's entries earlier pages have looked at. */
function seenIn(items: readonly Item[], { left = 0, last }: Place): number {
  const named = last ? items.findIndex((item) => nameOf(item).equals(last)) : -1;
  return Math.max(named + 1, items.length - left);
}

function cursorOf({ table, key, left = 0, last }: Place): string {
  const head = Buffer.alloc(KEY_AT);
  head[0] = ENTRY_TABLES.indexOf(table);
  head.writeUInt32BE(left, 1);
  if (last) head.set(last, LAST_AT);
  return Buffer.concat([head, key]).toString('base64url');
}

/** Returns undefined if the cursor belongs to another set. */
function placeOf(cursor: string, { key: generation }: FilterState): Place | undefined {
  const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR), 'base64url');
  const table = ENTRY_TABLES[bytes[0] ?? ENTRY_TABLES.length];
  const key = bytes.subarray(KEY_AT);
  if (!table || !key.subarray(0, GENERATION_BYTES).equals(generation)) return undefined;
  return { table, key, left: bytes.readUInt32BE(1), last: bytes.subarray(LAST_AT, KEY_AT) };
}
