import type { Database } from '../database/database.js';
import { GENERATION_BYTES, prefixRange } from '../database/keys.js';
import { DamagedRow, RowState } from '../database/table.js';
import type { FilterState } from '../filters/filter-state.js';
import type { Memory } from '../filters/memory.js';
import { HostLane, laneKey } from './host-lane.js';
import { LaneLogs } from './lane-logs.js';
import { logId, rowKey } from './log.js';
import type { Turn } from './turns.js';

/** The parts of a session that lanes use. */
export interface LaneStore {
  readonly database: Database;
  readonly memory: Memory;
}

/**
 * A queue's lane records. Reads a record when it is used, and keeps only the records of one change in memory. Use it
 * inside a transaction.
 */
export class LaneRecords {
  /** Lanes by the second word of their ids. Each entry needs a look-up, and numbers are faster keys than strings. */
  private readonly lanes = new Map<number, HostLane[]>();
  /** Number of records looked up so far. */
  read = 0;
  /** The lane used last, which is usually used next. */
  private last: { readonly first: number; readonly second: number; readonly lane: HostLane } | undefined;

  constructor(
    private readonly store: LaneStore,
    private readonly state: Pick<FilterState, 'key' | 'queue'>,
  ) {}

  /** The lane with this id. */
  of(first: number, second: number): HostLane {
    if (this.last?.first === first && this.last.second === second) return this.last.lane;
    let lane = this.loaded(first, second);
    if (!lane) {
      this.read++;
      const key = laneKey(this.state.key, first, second);
      lane = this.add(new HostLane(key, this.store.database.lanes.get(key)));
    }
    this.last = { first, second, lane };
    return lane;
  }

  /** The lane with this id, if it has been read. */
  loaded(first: number, second: number): HostLane | undefined {
    // V8 stores a signed number without an object.
    return this.lanes.get(second | 0)?.find((each) => each.isOf(first, second));
  }

  /** The lane whose turn it is. */
  at({ lane, at, number }: Turn): HostLane {
    const found = this.withKey(lane);
    if (found.stored && found.dueAt === at && found.turn === number) return found;
    throw new DamagedRow(this.store.database.lanes.name, lane, RowState.ValueDamaged);
  }

  /** At most `limit` lanes whose keys are `start` or higher. */
  page(start: Buffer, limit: number): HostLane[] {
    const { end } = prefixRange(this.state.key);
    const range = { start, ...(end && { end }), limit };
    return Array.from(this.store.database.lanes.getRange(range), ({ key, value }) =>
      this.add(new HostLane(key, value)),
    );
  }

  /** Deletes rows of dropped waiting entries, up to the limit for one change. */
  deleteDropped(lane: HostLane): void {
    const { log, sizes } = this.store.database;
    let left = sizes.purgedPerSlice;
    for (const [level, rows] of lane.logs.entries()) {
      const end = Math.min(rows.voidTo, rows.voidFrom + left);
      for (; rows.voidFrom < end; left--) log.removeSync(rowKey(lane, level, rows.voidFrom++));
    }
  }

  /** Forgets the first rows of the lane's logs. Call it when these have changed. */
  forgetHeads(lane: HostLane): void {
    for (const level of lane.logs.keys()) this.store.memory.headRows.forget(logId(lane, level));
  }

  /** The first lane whose key is `start` or higher. */
  from(start: Buffer): HostLane | undefined {
    const { end } = prefixRange(this.state.key);
    const range = { start, ...(end && { end }), limit: 1 };
    for (const key of this.store.database.lanes.getKeys(range)) return this.withKey(key);
    return undefined;
  }

  /** Writes a lane's record. If the lane counts nothing, deletes the record instead. */
  save(lane: HostLane, counts: boolean): void {
    const { queue } = this.state;
    const { lanes } = this.store.database;
    queue.inLanes += lane.waiting - lane.storedWaiting;
    lane.storedWaiting = lane.waiting;
    if (counts) lanes.putSync(lane.key, lane.encode());
    else if (lane.stored) {
      lanes.removeSync(lane.key);
      this.forgetHeads(lane);
    }
    queue.lanes += Number(counts) - Number(lane.stored);
    lane.stored = counts;
  }

  logsOf(lane: HostLane): LaneLogs {
    return new LaneLogs(this.store.database, lane, this.store.memory.headRows);
  }

  private add(lane: HostLane): HostLane {
    const second = lane.key.readInt32BE(GENERATION_BYTES + 4);
    this.lanes.set(second, [...(this.lanes.get(second) ?? []), lane]);
    return lane;
  }

  private withKey(key: Buffer): HostLane {
    return this.of(key.readUInt32BE(GENERATION_BYTES), key.readUInt32BE(GENERATION_BYTES + 4));
  }
}
