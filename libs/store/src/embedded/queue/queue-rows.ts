import type { Database } from '../database/database.js';
import { numberedKey, prefixRange, readNumber, SEQUENCE_BYTES } from '../database/keys.js';
import type { Snapshot } from '../database/snapshot.js';
import { DamagedRow, RowState } from '../database/table.js';
import type { FilterState } from '../filters/filter-state.js';
import { unpackDead } from './dead-letters.js';
import { DueKind, dueKindOf, scheduledAt, timeOf } from './due.js';
import { entriesOf, type Entry } from './entry.js';
import { HostLane, laneKey } from './host-lane.js';
import { knowsHosts } from './host-lanes.js';
import { onlyLane } from './lane.js';
import { unpackHeld } from './leases.js';
import { ROWS_OF_LEVEL } from './log.js';

/** The tables with entries. An entry's id has its table's index. */
export const ENTRY_TABLES = ['log', 'leases', 'due', 'dead'] as const;
export type EntryTable = (typeof ENTRY_TABLES)[number];

export interface Item {
  readonly entry: Entry;
  /** A dead letter's reason. */
  readonly reason?: string;
  /** When a leased, delayed or scheduled entry comes back, in ms since the epoch. */
  readonly until?: number;
  /** When a scheduled entry comes back. */
  readonly scheduledAt?: number | undefined;
}

/** Reads a queue's rows, inside a transaction or from a snapshot. */
export class QueueRows {
  /** The lane read last. */
  private lane: HostLane | undefined;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
    private readonly snapshot?: Snapshot,
  ) {}

  /** Where a table's rows begin. */
  startOf(table: EntryTable | 'turns' | 'lanes'): Buffer {
    const { key, queue } = this.state;
    return table === 'log' && !knowsHosts(this.state) ? numberedKey(key, queue.logs[0].headRow) : key;
  }

  /** A table's rows that come at or after `start` and whose keys begin with `prefix`. */
  from(
    table: EntryTable | 'turns' | 'lanes',
    start: Buffer,
    prefix = this.state.key,
    end = prefixRange(prefix).end,
  ): Iterable<{ readonly key: Buffer; readonly value: Buffer }> {
    return this.database[table].getRange({ start, ...(end && { end }), ...this.at() });
  }

  unpack(table: EntryTable, key: Buffer, value: Buffer): readonly Item[] {
    if (table === 'leases') return unpackHeld(value);
    if (table === 'dead') return [unpackDead(0, value)];
    if (table === 'due') {
      if (dueKindOf(key) !== DueKind.Delayed) return [];
      const at = scheduledAt(key);
      const until = at ?? timeOf(key);
      return entriesOf(value).map((entry) => ({ entry, until, scheduledAt: at }));
    }
    return entriesOf(value, this.firstIn(key)).map((entry) => ({ entry }));
  }

  /** True unless the entry was forgotten or dropped. */
  lives(entry: Entry): boolean {
    if (this.state.queue.marks.cover(entry)) return false;
    return !knowsHosts(this.state) || entry.birth > this.laneOfEntry(entry).dropped;
  }

  /** The name of an entry's host, in per-host queues. */
  hostOf(entry: Entry): string | undefined {
    return knowsHosts(this.state) ? this.laneOfEntry(entry).name : undefined;
  }

  /** The lane with this key. It must have a record. */
  laneOf(key: Buffer): HostLane {
    if (this.lane?.key.equals(key)) return this.lane;
    const { lanes } = this.database;
    const record = lanes.get(key, this.at());
    if (!record) throw new DamagedRow(lanes.name, key, RowState.ValueDamaged);
    this.lane = new HostLane(Buffer.from(key), record);
    return this.lane;
  }

  private laneOfEntry(entry: Entry): HostLane {
    const { lane } = this;
    const [first, second] = [entry.word(0), entry.hostWord];
    return lane?.isOf(first, second) ? lane : this.laneOf(laneKey(this.state.key, first, second));
  }

  /** The position of the first waiting entry in a log's row. */
  private firstIn(key: Buffer): number {
    const lane = knowsHosts(this.state)
      ? this.laneOf(key.subarray(0, -SEQUENCE_BYTES))
      : onlyLane(this.state);
    const row = readNumber(key, key.length - SEQUENCE_BYTES);
    const log = lane.numbers.logs[Math.floor(row / ROWS_OF_LEVEL)];
    return log?.headRow === row % ROWS_OF_LEVEL ? log.headAt : 0;
  }

  private at() {
    return this.snapshot && { transaction: this.snapshot.transaction };
  }
}
