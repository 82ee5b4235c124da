import { segmentOf } from '#bloom';
import type { QueuedItem } from '../../port/index.js';
import type { Database } from '../database/database.js';
import { FilterState } from '../filters/filter-state.js';
import { numberedKey, prefixRange, readNumber, SEQUENCE_BYTES } from '../database/keys.js';
import type { Snapshot } from '../database/snapshot.js';
import { decodeQueue } from '../filters/state-codec.js';
import { unpackDead } from './dead-letters.js';
import { DueKind, dueKindOf } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { knowsHosts } from './host-lanes.js';
import { HostLane } from './host-lane.js';
import { onlyLane, type Lane } from './lane.js';
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
  /** The lane of the last row of the log. */
  private lane: Lane | undefined;

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
    const first = table === 'log' && !knowsHosts(this.state) ? numberedKey(key, queue.headRow) : key;
    return { table, start: first };
  }

  private unpack(table: Place['table'], key: Buffer, value: Buffer): readonly Item[] {
    if (table === 'leases') return unpackHeld(value);
    if (table === 'dead') return [unpackDead(0, value)];
    if (table === 'due' && dueKindOf(key) !== DueKind.Delayed) return [];
    return entriesOf(value, table === 'log' ? this.firstIn(key) : 0).map((entry) => ({ entry }));
  }

  /** Where the first entry of a row of the log is. */
  private firstIn(key: Buffer): number {
    const { headRow, headAt } = this.laneOf(key.subarray(0, -SEQUENCE_BYTES)).numbers;
    return readNumber(key, key.length - SEQUENCE_BYTES) === headRow ? headAt : 0;
  }

  private laneOf(key: Buffer): Lane {
    if (!knowsHosts(this.state)) return onlyLane(this.state);
    if (!this.lane?.key.equals(key)) {
      const { transaction } = this.snapshot;
      this.lane = new HostLane(Buffer.from(key), this.database.lanes.get(key, { transaction }));
    }
    return this.lane;
  }
}
