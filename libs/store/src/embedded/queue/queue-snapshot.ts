import { segmentOf } from '#bloom';
import type { QueuedItem } from '../../port/index.js';
import type { Database } from '../database/database.js';
import { FilterState } from '../filters/filter-state.js';
import { numberedKey, prefixRange } from '../database/keys.js';
import type { Snapshot } from '../database/snapshot.js';
import { decodeQueue } from '../filters/state-codec.js';
import { unpackDead } from './dead-letters.js';
import { DueKind, dueKindOf } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { unpackHeld } from './leases.js';
import { readMarks } from '../filters/read-marks.js';

/** Where a page begins. */
export interface Place {
  readonly table: (typeof TABLES)[number];
  readonly start: Buffer;
}

/** Some entries, and the position of the next page. */
export interface Page {
  readonly entries: QueuedItem[];
  /** Absent on the last page. */
  readonly next?: Place;
}

/** The tables, in the order in which they are read. */
const TABLES = ['log', 'leases', 'due', 'dead'] as const;

interface Item {
  readonly entry: Entry;
  readonly reason?: string;
}

/** The queue of one visited set as it was at one moment, read outside transactions. */
export class QueueSnapshot {
  private readonly state: FilterState;

  constructor(
    private readonly database: Database,
    { filter }: FilterState,
    private readonly snapshot: Snapshot,
  ) {
    this.state = new FilterState(filter, [], 0, database.sizes);
    const { transaction } = snapshot;
    decodeQueue(database.states.get(this.state.key, { transaction }), this.state);
    readMarks(database, this.state, snapshot);
  }

  /** Number of removals from the set up to that moment. */
  get removals(): number {
    return this.state.tally.removed;
  }

  /**
   * A page of the entries of a segment, or of all segments, without forgotten ones: first waiting entries, in order,
   * then leased ones, delayed ones, and dead letters. A page reads rows until they have at least `looked` entries.
   */
  page(segment: number | undefined, looked: number, place: Place = this.startOf('log')): Page {
    const { geometry } = this.state.filter;
    const { marks } = this.state.queue;
    const entries: QueuedItem[] = [];
    let left = looked;
    const { transaction } = this.snapshot;
    const { end } = prefixRange(this.state.key);
    const range = { start: place.start, ...(end && { end }), transaction };
    for (const { key, value } of this.database[place.table].getRange(range)) {
      if (left <= 0) return { entries, next: { ...place, start: key } };
      for (const { entry, reason } of this.unpack(place.table, key, value)) {
        left--;
        const elsewhere =
          segment !== undefined && segmentOf(entry.word(0), entry.word(1), geometry) !== segment;
        if (elsewhere || marks.cover(entry)) continue;
        const { hash, attempt, discoveredAt, payload } = entry;
        entries.push({ hash, attempt, discoveredAt, payload, ...(reason !== undefined && { reason }) });
      }
    }
    const next = TABLES[TABLES.indexOf(place.table) + 1];
    return { entries, ...(next && { next: this.startOf(next) }) };
  }

  private startOf(table: Place['table']): Place {
    const { key, queue } = this.state;
    return { table, start: table === 'log' ? numberedKey(key, queue.headRow) : key };
  }

  private unpack(table: Place['table'], key: Buffer, value: Buffer): readonly Item[] {
    if (table === 'leases') return unpackHeld(value);
    if (table === 'dead') return [unpackDead(0, value)];
    if (table === 'due' && dueKindOf(key) !== DueKind.Delayed) return [];
    const isHead = table === 'log' && key.equals(this.startOf('log').start);
    const from = isHead ? this.state.queue.headAt : 0;
    return entriesOf(value, from).map((entry) => ({ entry }));
  }
}
