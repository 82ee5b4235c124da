import { hostWords } from '#bloom';
import {
  LEASE_ENDED,
  MAX_LEASE_MS,
  MAX_LEASED_BYTES,
  MAX_LISTED_ENTRIES,
  type EntryPage,
  type EntryQuery,
  type EntryState,
  type QueueEntry,
} from '../../port/index.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { FilterState } from '../filters/filter-state.js';
import { HASH_BYTES } from '../hashes/hash-bytes.js';
import { isExhausted } from './dead-letters.js';
import { dueKey, FIRST_SCHEDULED, isOver } from './due.js';
import { entryIdOf } from './entry-places.js';
import { HostLane, laneKey } from './host-lane.js';
import { QueueRows, type EntryTable, type Item } from './queue-rows.js';
import { isUnkept, type SweptStore } from './sweep-queue.js';

/** Times in ms since the epoch. */
interface Span {
  /** When the walk began. */
  readonly began: number;
  /** The latest time at which a lease or a delay may end now. Leases and delays may begin during the walk. */
  readonly furthest: number;
}

/** A part of the walk through a queue. */
interface Section {
  readonly table: EntryTable;
  /** The states that its entries have at the beginning of the walk. */
  readonly states: readonly EntryState[];
  /** The state in which the queue counts its entries. */
  readonly counted: EntryState;
  /** For leases: whether an entry whose lease ends at `until` belongs to the section. */
  readonly holds?: (until: number, span: Span) => boolean;
  /** The times of the section's rows in the table `due`: from `from` on, and before `past`. See Due. */
  readonly times?: (span: Span) => readonly [from: number, past?: number];
}

/**
 * In the order in which entries move through them, so that the walk misses no entry. The first sections have the
 * entries that were due when the walk began. They come first because the queue may move these entries to the waiting
 * ones at any time.
 */
const SECTIONS: readonly Section[] = [
  {
    ...{ table: 'leases', states: ['waiting', 'dead'], counted: 'leased' },
    holds: (until, { began }) => isOver(until, began),
  },
  {
    ...{ table: 'due', states: ['waiting'], counted: 'delayed' },
    times: ({ began }) => [0, began + 1],
  },
  {
    ...{ table: 'due', states: ['waiting'], counted: 'delayed' },
    times: ({ began }) => [began + MAX_LEASE_MS + 1, FIRST_SCHEDULED],
  },
  {
    ...{ table: 'due', states: ['waiting'], counted: 'scheduled' },
    times: ({ began }) => [FIRST_SCHEDULED, FIRST_SCHEDULED + began + 1],
  },
  { table: 'log', states: ['waiting'], counted: 'waiting' },
  {
    ...{ table: 'leases', states: ['leased'], counted: 'leased' },
    holds: (until, { began, furthest }) => until > began && until <= furthest,
  },
  {
    ...{ table: 'due', states: ['delayed'], counted: 'delayed' },
    times: ({ began, furthest }) => [began + 1, furthest + 1],
  },
  {
    ...{ table: 'due', states: ['scheduled'], counted: 'scheduled' },
    times: ({ began }) => [FIRST_SCHEDULED + began + 1],
  },
  { table: 'dead', states: ['dead'], counted: 'dead' },
];
/** The section of entries whose leases had ended. */
const ENDED = 0;

/**
 * Where a page begins: at the row with this key or, if that is gone, at the next one. The row has at most `left`
 * entries to read, all of them after `last`. A row only loses entries, so the walk skips none that stay. If `last` and
 * an entry after it are both gone, the walk may list entries twice.
 */
interface Place {
  /** The row's section, as an index in SECTIONS. */
  readonly section: number;
  /** When the walk began, in ms since the epoch. Decides in which section an entry is listed. */
  readonly began: number;
  readonly key: Buffer;
  readonly left?: number;
  /** See nameOf. */
  readonly last?: Buffer | undefined;
}

/**
 * A cursor: a byte for the section, `left` (4 bytes), `began` (6), `last` or zeros, and the key, which begins with the
 * generation.
 */
const BEGAN_AT = 5;
const BEGAN_BYTES = 6;
const LAST_AT = BEGAN_AT + BEGAN_BYTES;
/** The second half of the hash, because the first word comes from the item's host. */
const HALF_HASH = HASH_BYTES / 2;
const BIRTH_BYTES = 6;
const KEY_AT = LAST_AT + HALF_HASH + BIRTH_BYTES;
const MAX_CURSOR = 72;

/** The states of entries that come back at a set time. */
const COMES_BACK: ReadonlySet<EntryState> = new Set(['leased', 'delayed', 'scheduled']);

/** Lists a queue's current entries, in their states at `now`. Use it inside a transaction. */
export class EntryPages {
  private readonly rows: QueueRows;

  constructor(
    private readonly session: Pick<SweptStore, 'database' | 'claimed'>,
    private readonly state: FilterState,
    private readonly now: number,
  ) {
    this.rows = new QueueRows(session.database, state);
  }

  /**
   * See Queue.entries. The page also ends once it has read `listedPerPage` entries, or the maximum number of bytes in a
   * lease.
   */
  page({ state: wanted, host }: EntryQuery, limit: number, after = ''): EntryPage {
    const lane = host === undefined ? undefined : this.laneOf(host);
    const most = Math.min(limit, MAX_LISTED_ENTRIES);
    const entries: QueueEntry[] = [];
    let { listedPerPage: left } = this.session.database.sizes;
    let bytes = MAX_LEASED_BYTES;
    let first = placeOf(after, this.state);
    const began = first?.began ?? this.now;
    const span = { began, furthest: Math.max(began, this.now) + MAX_LEASE_MS };
    for (const [section, { table, states, counted, holds, times }] of SECTIONS.entries()) {
      if (first && first.section !== section) continue;
      const place = first;
      first = undefined;
      if (wanted && !states.includes(wanted)) continue;
      if (lane?.[counted] === 0 || (section === ENDED && !this.mayHaveEnded(began))) continue;
      const prefix = table === 'log' && lane ? lane.key : this.state.key;
      const [from, past] = times?.(span) ?? [];
      const begin = from === undefined ? this.rows.startOf(table) : dueKey(this.state.key, from);
      const start = later(place?.key, later(prefix, begin));
      const end = past === undefined ? undefined : dueKey(this.state.key, past);
      for (const { key, value } of this.rows.from(table, start, prefix, end)) {
        const items = this.rows.unpack(table, key, value);
        for (let n = place?.key.equals(key) ? seenIn(items, place) : 0; n < items.length; n++) {
          if (entries.length >= most || left <= 0 || bytes <= 0) {
            const last = items.slice(0, n).findLast(({ entry }) => this.rows.lives(entry));
            const stop = { section, began, key, left: items.length - n, last: last && nameOf(last) };
            return { entries, next: cursorOf(stop) };
          }
          const item = items[n] as Item;
          left--;
          bytes -= item.entry.end - item.entry.at;
          if (holds?.(item.until as number, span) === false) continue;
          const state = this.stateOf(counted, item);
          if (state && (wanted ?? state) === state && this.selects(lane, item))
            entries.push(this.view(state, item, entryIdOf(this.state, table, key, item.entry)));
        }
        if (left-- <= 0)
          return { entries, next: cursorOf({ section, began, key: Buffer.concat([key, Buffer.of(0)]) }) };
      }
    }
    return { entries };
  }

  /** False if no lease had ended at this time. The walk then need not search all leases for ended ones. */
  private mayHaveEnded(began: number): boolean {
    const { earliestDue, latestDue } = this.state.queue;
    return earliestDue <= began || latestDue > began + MAX_LEASE_MS;
  }

  /** The state in which the next lease would find the entry. Undefined if that lease would remove it. */
  private stateOf(counted: EntryState, { entry, until, scheduledAt }: Item): EntryState | undefined {
    if (scheduledAt !== undefined) {
      if (scheduledAt > this.now) return counted;
      return isUnkept(this.session, this.state, entry) ? undefined : 'waiting';
    }
    if (until === undefined || !isOver(until, this.now)) return counted;
    return counted === 'leased' && isExhausted(entry, this.state.filter) ? 'dead' : 'waiting';
  }

  private laneOf(host: string): HostLane {
    const [first = 0, second = 0] = hostWords(host, this.state.filter.seed);
    const key = laneKey(this.state.key, first, second);
    return new HostLane(key, this.session.database.lanes.get(key));
  }

  /** False if the entry is void or not in this lane. */
  private selects(lane: HostLane | undefined, { entry }: Item): boolean {
    return lane?.isOf(entry.word(0), entry.hostWord) !== false && this.rows.lives(entry);
  }

  private view(state: EntryState, { entry, until, reason = LEASE_ENDED }: Item, id: string): QueueEntry {
    const { attempt, discoveredAt, text: payload } = entry;
    const host = this.rows.hostOf(entry);
    return {
      ...{ id, payload, state, attempt, discoveredAt },
      ...(COMES_BACK.has(state) && { dueAt: until as number }),
      ...(state === 'dead' && { reason }),
      ...(host !== undefined && { host }),
    };
  }
}

function later(key: Buffer | undefined, other: Buffer): Buffer {
  return key && Buffer.compare(key, other) > 0 ? key : other;
}

/** Identifies an entry within its row. */
function nameOf({ entry: { hash, birth } }: Item): Buffer {
  const name = Buffer.alloc(HALF_HASH + BIRTH_BYTES);
  name.set(hash.subarray(HALF_HASH));
  name.writeUIntBE(birth, HALF_HASH, BIRTH_BYTES);
  return name;
}

/** How many of a row's entries earlier pages have read. */
function seenIn(items: readonly Item[], { left = 0, last }: Place): number {
  const named = last ? items.findIndex((item) => nameOf(item).equals(last)) : -1;
  return Math.max(named + 1, items.length - left);
}

function cursorOf({ section, began, key, left = 0, last }: Place): string {
  const head = Buffer.alloc(KEY_AT);
  head[0] = section;
  head.writeUInt32BE(left, 1);
  head.writeUIntBE(began, BEGAN_AT, BEGAN_BYTES);
  if (last) head.set(last, LAST_AT);
  return Buffer.concat([head, key]).toString('base64url');
}

/** Returns undefined if the cursor belongs to another set. */
function placeOf(cursor: string, { key: generation }: FilterState): Place | undefined {
  const bytes = Buffer.from(cursor.slice(0, MAX_CURSOR), 'base64url');
  const section = bytes[0] ?? SECTIONS.length;
  const key = bytes.subarray(KEY_AT);
  if (section >= SECTIONS.length || !key.subarray(0, GENERATION_BYTES).equals(generation)) return undefined;
  const began = bytes.readUIntBE(BEGAN_AT, BEGAN_BYTES);
  return { section, began, key, left: bytes.readUInt32BE(1), last: bytes.subarray(LAST_AT, KEY_AT) };
}
