import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from '../database/keys.js';
import { MAX_LEASE_MS } from '../../port/index.js';
import {
  ENTRY_HEAD_BYTES,
  EntryPacker,
  HOST_BYTES,
  type Entry,
  type EntryChange,
  type NewEntry,
} from './entry.js';
import type { HostOf } from './log.js';

/** Kinds of rows that become due. */
export const DueKind = { LeaseEnd: 0, Delayed: 1 } as const;
export type DueKind = (typeof DueKind)[keyof typeof DueKind];

/** Added to the times of scheduled entries, so their rows come last in the index. All times are smaller than this. */
export const FIRST_SCHEDULED = 2 ** 50;

/** A row. `number` is the number of a lease, or of a row of delayed entries. */
export interface Due {
  /** In ms since the epoch. For scheduled entries: plus FIRST_SCHEDULED. */
  readonly at: number;
  readonly kind: DueKind;
  readonly number: number;
  /** LeaseEnd: how many entries' leases end then (4 bytes). Delayed: these entries, packed. */
  readonly value: Buffer;
}

const KIND_AT = GENERATION_BYTES + 8;
const NUMBER_AT = KIND_AT + 1;
const KEY_BYTES = NUMBER_AT + 8;

/** States of entries that wait for a time. */
export type DelayedState = 'delayed' | 'scheduled';

interface CountChange {
  readonly lease: number;
  readonly at: number;
  by: number;
}

/**
 * A queue's index of when leases and delays end. It has one row per lease and end, and rows of delayed entries, in
 * order of time. Rows of scheduled entries follow, also in order of time.
 */
export class DueIndex {
  private readonly key = Buffer.alloc(KEY_BYTES);
  private readonly count = Buffer.alloc(4);
  /** Changes to counts that aren't written yet. */
  private readonly changes = new Map<string, CountChange>();
  /** The count that changed last, which usually changes next. */
  private last: CountChange | undefined;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
  ) {
    this.key.set(state.key);
  }

  /** Adds `change` to the number of the lease's entries whose leases end at `at`. The next flush writes the number. */
  countEnds(lease: number, at: number, change: number): void {
    if (this.last?.lease !== lease || this.last.at !== at) {
      const name = `${lease} ${at}`;
      this.last = this.changes.get(name) ?? { lease, at, by: 0 };
      this.changes.set(name, this.last);
    }
    this.last.by += change;
  }

  flush(): void {
    for (const { lease, at, by } of this.changes.values()) {
      if (by === 0) continue;
      const key = this.keyOf(at, DueKind.LeaseEnd, lease);
      const count = (this.database.due.get(key)?.readUInt32BE() ?? 0) + by;
      if (count === 0) {
        this.database.due.removeSync(key);
        continue;
      }
      this.count.writeUInt32BE(count);
      this.put(key, at, this.count);
    }
    this.changes.clear();
    this.last = undefined;
  }

  /** Adds rows of entries that come back at `at`. Call `flush` on the result. */
  rows(state: DelayedState, at: number): DelayedRows {
    const key = state === 'scheduled' ? at + FIRST_SCHEDULED : at;
    const { rowBytes } = this.database.sizes;
    return new DelayedRows(rowBytes, (entries) =>
      this.put(this.keyOf(key, DueKind.Delayed, this.state.queue.nextDelayed++), key, entries),
    );
  }

  remove({ at, kind, number }: Due): void {
    this.database.due.removeSync(this.keyOf(at, kind, number));
  }

  /** Replaces a row's delayed entries. */
  replace({ at, kind, number }: Due, entries: Buffer): void {
    this.database.due.putSync(this.keyOf(at, kind, number), entries);
  }

  /**
   * The first row that is due. A row also counts as due if its time is so late that the clock must have been set back,
   * except for scheduled entries. If no row is due, remembers when the next one will be.
   */
  next(now: number): Due | undefined {
    const end = this.nextEnd(now);
    const scheduled = this.nextScheduled(now);
    if (!end || !scheduled) return end ?? scheduled;
    return scheduled.at - FIRST_SCHEDULED < end.at ? scheduled : end;
  }

  private nextEnd(now: number): Due | undefined {
    const { queue } = this.state;
    const furthest = now + MAX_LEASE_MS;
    if (queue.earliestDue > now && queue.latestDue <= furthest) return undefined;
    const first = this.firstEnd(0);
    if (first && first.at <= now) return first;
    const beyond = first && queue.latestDue > furthest ? this.firstEnd(furthest + 1) : undefined;
    if (beyond) return beyond;
    queue.earliestDue = first?.at ?? Infinity;
    queue.latestDue = Math.min(queue.latestDue, furthest);
    return undefined;
  }

  private nextScheduled(now: number): Due | undefined {
    const { queue } = this.state;
    if (queue.earliestScheduled > now) return undefined;
    const first = this.first(FIRST_SCHEDULED);
    const at = first ? first.at - FIRST_SCHEDULED : Infinity;
    if (at <= now) return first;
    queue.earliestScheduled = at;
    return undefined;
  }

  /** The rows that are due, in order of time. Those from before the clock was set back come last: see `next`. */
  *until(now: number): Generator<Due, void, undefined> {
    const ends = this.range(0, now);
    const scheduled = this.range(FIRST_SCHEDULED, FIRST_SCHEDULED + now);
    try {
      let [end, start] = [ends.next().value, scheduled.next().value];
      while (end || start) {
        if (end && (!start || end.at <= cameDueAt(start))) {
          yield end;
          end = ends.next().value;
        } else if (start) {
          yield start;
          start = scheduled.next().value;
        }
      }
      yield* this.range(now + MAX_LEASE_MS + 1, FIRST_SCHEDULED - 1);
    } finally {
      ends.return(undefined);
      scheduled.return(undefined);
    }
  }

  /** The rows with these times and those in between. */
  private *range(from: number, to: number): Generator<Due, undefined, undefined> {
    const start = Buffer.from(this.keyOf(from, DueKind.LeaseEnd, 0));
    const end = Buffer.from(this.keyOf(to + 1, DueKind.LeaseEnd, 0));
    for (const { key, value } of this.database.due.getRange({ start, end })) yield dueOf(key, value);
    return undefined;
  }

  /** The first row due at `at` or later whose entries are not scheduled. */
  private firstEnd(at: number): Due | undefined {
    const first = this.first(at);
    return first && stateOf(first) !== 'scheduled' ? first : undefined;
  }

  /** When the first row at `from` or later comes due, scheduled or not. Infinity if there is none. */
  timeFrom(from: number): number {
    const scheduled = this.first(from + FIRST_SCHEDULED);
    return Math.min(
      this.firstEnd(from)?.at ?? Infinity,
      scheduled ? scheduled.at - FIRST_SCHEDULED : Infinity,
    );
  }

  /**
   * The first row that is due at `at` (ms) or later. `after`: among several rows due at `at`, skips those up to this
   * one.
   */
  first(at: number, after?: Due): Due | undefined {
    const { end } = prefixRange(this.state.key);
    const start = Buffer.from(this.keyOf(at, after?.kind ?? DueKind.LeaseEnd, after ? after.number + 1 : 0));
    for (const { key, value } of this.database.due.getRange({ start, ...(end && { end }), limit: 1 }))
      return dueOf(key, value);
    return undefined;
  }

  private put(key: Buffer, at: number, value: Buffer): void {
    const { queue } = this.state;
    this.database.due.putSync(key, value);
    if (at >= FIRST_SCHEDULED) {
      queue.earliestScheduled = Math.min(queue.earliestScheduled, at - FIRST_SCHEDULED);
      return;
    }
    queue.earliestDue = Math.min(queue.earliestDue, at);
    queue.latestDue = Math.max(queue.latestDue, at);
  }

  private keyOf(at: number, kind: DueKind, number: number): Buffer {
    writeNumber(this.key, at, GENERATION_BYTES);
    this.key[KIND_AT] = kind;
    writeNumber(this.key, number, NUMBER_AT);
    return this.key;
  }
}

function dueOf(key: Buffer, value: Buffer): Due {
  return { at: timeOf(key), kind: dueKindOf(key), number: readNumber(key, NUMBER_AT), value };
}

/** The start of a generation's rows with a time of `at` or later. */
export function dueKey(generation: Buffer, at: number): Buffer {
  const key = Buffer.alloc(KIND_AT);
  key.set(generation);
  writeNumber(key, at, GENERATION_BYTES);
  return key;
}

/**
 * True if a lease or a delay has ended at `now`. An end that is too far ahead has also passed: the clock was set back
 * after the lease or delay began.
 */
export function isOver(until: number, now: number): boolean {
  return until <= now || until > now + MAX_LEASE_MS;
}

/** A row's kind, from its key. */
export function dueKindOf(key: Buffer): DueKind {
  return key[KIND_AT] as DueKind;
}

/** The state of a row's entries. */
export function stateOf({ at }: Pick<Due, 'at'>): DelayedState {
  return at >= FIRST_SCHEDULED ? 'scheduled' : 'delayed';
}

/** When a row's entries come due, in ms since the epoch. */
export function cameDueAt({ at }: Pick<Due, 'at'>): number {
  return at >= FIRST_SCHEDULED ? at - FIRST_SCHEDULED : at;
}

/** A row's time, from its key. See Due. */
export function timeOf(key: Buffer): number {
  return readNumber(key, GENERATION_BYTES);
}

/** When a row's scheduled entries come back, from its key. Undefined if they are not scheduled. */
export function scheduledAt(key: Buffer): number | undefined {
  const at = timeOf(key);
  return at >= FIRST_SCHEDULED ? at - FIRST_SCHEDULED : undefined;
}

const packer = new EntryPacker();

/** Packs entries that come back at the same time into rows of at most one page, unless a single entry is larger. */
export class DelayedRows {
  constructor(
    private readonly rowBytes: number,
    private readonly write: (entries: Buffer) => void,
  ) {
    packer.clear();
  }

  add(entry: Entry, change?: EntryChange): void {
    this.makeRoom(entry.end - entry.at);
    packer.add(entry, change);
  }

  /** See EntryPacker.addNew. */
  addNew(hashes: Uint32Array, word: number, made: NewEntry, payload: string, host?: HostOf): void {
    this.makeRoom(ENTRY_HEAD_BYTES + (host ? HOST_BYTES : 0) + Buffer.byteLength(payload));
    packer.addNew(hashes, word, made, payload, host && host.words[host.at + 1]);
  }

  flush(): void {
    if (packer.count > 0) this.write(packer.packed());
    packer.clear();
  }

  private makeRoom(bytes: number): void {
    if (packer.length + bytes > this.rowBytes) this.flush();
  }
}
