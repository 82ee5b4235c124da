import { segmentOf, segmentsPerRun } from '#bloom';
import type { QueuedHost, QueuedItem } from '../../port/index.js';
import type { Database } from '../database/database.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { Snapshot } from '../database/snapshot.js';
import { FilterState } from '../filters/filter-state.js';
import { readMarks } from '../filters/read-marks.js';
import { decodeQueue } from '../filters/state-codec.js';
import { knowsHosts } from './host-lanes.js';
import { periodAt, type HostLane } from './host-lane.js';
import { ENTRY_TABLES, QueueRows } from './queue-rows.js';
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

/** The tables, in reading order. Lanes with a turn come first, in the order of their turns. */
const TABLES = [...ENTRY_TABLES, 'turns', 'lanes'] as const;

/** A visited set's queue at one moment, read outside transactions. */
export class QueueSnapshot {
  private readonly state: FilterState;
  private readonly rows: QueueRows;
  /** The queue's time, and how far it is ahead of the clock. */
  private readonly time: number;
  private readonly ahead: number;

  constructor(database: Database, { filter }: FilterState, snapshot: Snapshot, now: number) {
    this.state = new FilterState(filter, [], 0, database.sizes);
    const { transaction } = snapshot;
    decodeQueue(database.states.get(this.state.key, { transaction }), this.state);
    readMarks(database, this.state, snapshot);
    this.rows = new QueueRows(database, this.state, snapshot);
    this.time = this.state.queue.timeAt(now);
    this.ahead = this.time - now;
  }

  /** Number of removals from the set up to that moment. */
  get removals(): number {
    return this.state.tally.removed;
  }

  /**
   * A page of entries from one or all segments, without forgotten ones. Waiting entries come first, in order. Leased
   * ones follow, then delayed and scheduled ones, and then dead letters. A page reads rows until they have at least
   * `looked` entries. The lanes of the segment's hosts follow.
   */
  page(segment: number | undefined, looked: number, place: Place = this.startOf('log')): Page {
    const { geometry } = this.state.filter;
    const { rows } = this;
    const entries: QueuedItem[] = [];
    const hosts: QueuedHost[] = [];
    let left = looked;
    const { table, start } = place;
    for (const { key, value } of rows.from(table, start)) {
      if (left <= 0) return { entries, hosts, next: { table, start: key } };
      if (table === 'turns' || table === 'lanes') {
        left--;
        const lane = this.laneIn(table, key);
        if (lane && segmentOf(lane.key.readUInt32BE(GENERATION_BYTES), 0, geometry) === segment)
          hosts.push(this.hostOf(lane));
        continue;
      }
      for (const { entry, reason, scheduledAt } of rows.unpack(table, key, value)) {
        left--;
        const elsewhere =
          segment !== undefined && segmentOf(entry.word(0), entry.word(1), geometry) !== segment;
        if (elsewhere || !rows.lives(entry)) continue;
        const { hash, attempt, discoveredAt, payload, priority } = entry;
        const host = rows.hostOf(entry);
        entries.push({
          hash,
          attempt,
          discoveredAt,
          payload,
          ...(priority !== 'normal' && { priority }),
          ...(reason !== undefined && { reason }),
          ...(scheduledAt !== undefined && { scheduledAt }),
          ...(host !== undefined && { host }),
        });
      }
    }
    const next = TABLES[TABLES.indexOf(table) + 1];
    const ends = !next || (next === 'turns' && !this.hasLanes(segment));
    return { entries, hosts, ...(!ends && { next: this.startOf(next) }) };
  }

  private startOf(table: Place['table']): Place {
    return { table, start: this.rows.startOf(table) };
  }

  /** Only the first segment of a run has lanes, for the whole run. */
  private hasLanes(segment: number | undefined): boolean {
    const { geometry } = this.state.filter;
    return segment !== undefined && knowsHosts(this.state) && segment % segmentsPerRun(geometry) === 0;
  }

  /**
   * The lane that a row names. Undefined in the table `lanes` if the lane has a turn, because `turns` has listed it.
   */
  private laneIn(table: 'turns' | 'lanes', key: Buffer): HostLane | undefined {
    if (table === 'turns')
      return this.rows.laneOf(Buffer.concat([this.state.key, key.subarray(TURN_LANE_AT)]));
    const lane = this.rows.laneOf(key);
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
}
