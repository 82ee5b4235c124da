import { segmentOf, segmentsPerRun } from '#bloom';
import type { QueuedHost, QueuedItem } from '../../port/index.js';
import type { Database } from '../database/database.js';
import { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES, numberedKey, prefixRange, readNumber, SEQUENCE_BYTES } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import type { Snapshot } from '../database/snapshot.js';
import { decodeQueue } from '../filters/state-codec.js';
import { unpackDead } from './dead-letters.js';
import { DueKind, dueKindOf } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { knowsHosts } from './host-lanes.js';
import { HostLane, laneKey, periodAt } from './host-lane.js';
import { onlyLane } from './lane.js';
import { unpackHeld } from './leases.js';
import { readMarks } from '../filters/read-marks.js';
import { TURN_LANE_AT } from './turns.js';

/** Where a page begins. */
export interface Place {
  readonly table: (typeof TABLES)[number];
  readonly start: Buffer;
}

/** Some entries, and the position of the next page. */
export interface Page {
  readonly entries: QueuedItem[];
  /** See Part. */
  readonly hosts: QueuedHost[];
  /** Absent on the last page. */
  readonly next?: Place;
}

/** The tables, in the order in which they are read. Lanes are read in the order of their turns, and then the others. */
const TABLES = ['log', 'leases', 'due', 'dead', 'turns', 'lanes'] as const;
const LANE_TABLES: readonly string[] = ['turns', 'lanes'];

interface Item {
  readonly entry: Entry;
  readonly reason?: string;
}

/** The queue of one visited set as it was at one moment, read outside transactions. */
export class QueueSnapshot {
  private readonly state: FilterState;
  /** The lane that was read last. */
  private lane: HostLane | undefined;
  /** The queue's time, and how far it is ahead of the clock. */
  private readonly time: number;
  private readonly ahead: number;

  constructor(
    private readonly database: Database,
    { filter }: FilterState,
    private readonly snapshot: Snapshot,
    now: number,
  ) {
    this.state = new FilterState(filter, [], 0, database.sizes);
    const { transaction } = snapshot;
    decodeQueue(database.states.get(this.state.key, { transaction }), this.state);
    readMarks(database, this.state, snapshot);
    this.time = this.state.queue.timeAt(now);
    this.ahead = this.time - now;
  }

  /** Number of removals from the set up to that moment. */
  get removals(): number {
    return this.state.tally.removed;
  }

  /**
   * A page of the entries of a segment, or of all segments, without forgotten ones: first waiting entries, in order,
   * then leased ones, delayed ones, and dead letters. A page reads rows until they have at least `looked` entries. The
   * lanes of the segment follow.
   */
  page(segment: number | undefined, looked: number, place: Place = this.startOf('log')): Page {
    const { geometry } = this.state.filter;
    const { marks } = this.state.queue;
    const entries: QueuedItem[] = [];
    const hosts: QueuedHost[] = [];
    let left = looked;
    const { transaction } = this.snapshot;
    const { end } = prefixRange(this.state.key);
    const range = { start: place.start, ...(end && { end }), transaction };
    for (const { key, value } of this.database[place.table].getRange(range)) {
      if (left <= 0) return { entries, hosts, next: { ...place, start: key } };
      if (LANE_TABLES.includes(place.table)) {
        left--;
        const lane = this.laneIn(place.table, key);
        if (lane && segmentOf(lane.key.readUInt32BE(GENERATION_BYTES), 0, geometry) === segment)
          hosts.push(this.hostOf(lane));
        continue;
      }
      for (const { entry, reason } of this.unpack(place.table, key, value)) {
        left--;
        const elsewhere =
          segment !== undefined && segmentOf(entry.word(0), entry.word(1), geometry) !== segment;
        if (elsewhere || marks.cover(entry)) continue;
        const lane = knowsHosts(this.state) && this.laneOf(this.keyOf(entry));
        if (lane && entry.birth <= lane.dropped) continue;
        const { hash, attempt, discoveredAt, payload } = entry;
        const host = lane && { host: lane.name };
        entries.push({
          hash,
          attempt,
          discoveredAt,
          payload,
          ...(reason !== undefined && { reason }),
          ...host,
        });
      }
    }
    const next = TABLES[TABLES.indexOf(place.table) + 1];
    const ends = !next || (LANE_TABLES.includes(next) && !this.hasLanes(segment));
    return { entries, hosts, ...(!ends && { next: this.startOf(next) }) };
  }

  private startOf(table: Place['table']): Place {
    const { key, queue } = this.state;
    const first = table === 'log' && !knowsHosts(this.state) ? numberedKey(key, queue.headRow) : key;
    return { table, start: first };
  }

  /** Lanes come with the first segment of their run. */
  private hasLanes(segment: number | undefined): boolean {
    const { geometry } = this.state.filter;
    return segment !== undefined && knowsHosts(this.state) && segment % segmentsPerRun(geometry) === 0;
  }

  /** The lane of a row of an index. Undefined in the table of lanes if the lane has a turn. */
  private laneIn(table: string, key: Buffer): HostLane | undefined {
    if (table === 'turns') return this.laneOf(Buffer.concat([this.state.key, key.subarray(TURN_LANE_AT)]));
    const lane = this.laneOf(key);
    return lane.dueAt > 0 ? undefined : lane;
  }

  private hostOf(lane: HostLane): QueuedHost {
    const { filter } = this.state;
    const { name, waiting, dueAt, readyAt, blockedUntil, own } = lane;
    const at = waiting > 0 && dueAt > 0 ? dueAt : readyAt;
    const period = periodAt(filter, this.time);
    return {
      name,
      readyAt: Math.max(0, at - this.ahead),
      found: lane.foundIn(period),
      foundUntil: Math.max(0, period.end - this.ahead),
      ...(blockedUntil > 0 && { blockedUntil }),
      ...(own && { own }),
    };
  }

  private unpack(table: Place['table'], key: Buffer, value: Buffer): readonly Item[] {
    if (table === 'leases') return unpackHeld(value);
    if (table === 'dead') return [unpackDead(0, value)];
    if (table === 'due' && dueKindOf(key) !== DueKind.Delayed) return [];
    return entriesOf(value, table === 'log' ? this.firstIn(key) : 0).map((entry) => ({ entry }));
  }

  /** Where the first entry of a row of the log is. */
  private firstIn(key: Buffer): number {
    const lane = knowsHosts(this.state)
      ? this.laneOf(key.subarray(0, -SEQUENCE_BYTES))
      : onlyLane(this.state);
    const { headRow, headAt } = lane.numbers;
    return readNumber(key, key.length - SEQUENCE_BYTES) === headRow ? headAt : 0;
  }

  private keyOf(entry: Entry): Buffer {
    return laneKey(this.state.key, entry.word(0), entry.hostWord);
  }

  /** The lane with this key, which has a record. */
  private laneOf(key: Buffer): HostLane {
    if (this.lane?.key.equals(key)) return this.lane;
    const { lanes } = this.database;
    const { transaction } = this.snapshot;
    const record = lanes.get(key, { transaction });
    if (!record) throw new DamagedRow(lanes.name, key, RowState.ValueDamaged);
    this.lane = new HostLane(Buffer.from(key), record);
    return this.lane;
  }
}
