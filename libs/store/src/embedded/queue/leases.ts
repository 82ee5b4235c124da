import type { Database } from '../database/database.js';
import type { FilterState } from '../filters/filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from '../database/keys.js';
import { viewOf } from '../database/row-view.js';
import type { DueIndex } from './due.js';
import { Entry, EntryPacker } from './entry.js';
import type { HostLanes } from './host-lanes.js';

/** An entry in a lease. */
export interface HeldEntry {
  /** Index in the lease, from 0. */
  readonly index: number;
  /** When the entry's lease ends, in ms since the epoch. */
  readonly until: number;
  readonly entry: Entry;
}

const PORTION_AT = GENERATION_BYTES + 8;
const HEAD_BYTES = 8;
const packer = new EntryPacker();

/** A row being changed. */
interface Portion {
  readonly lease: number;
  readonly number: number;
  /** Index of the row's first place. */
  readonly first: number;
  /** Undefined at empty places. */
  readonly places: (HeldEntry | undefined)[];
  changed: boolean;
}

/**
 * The leased entries, with one row per portion of a lease. Deletes a row when it is empty. Use it inside a transaction.
 */
export class Leases {
  private readonly key = Buffer.alloc(PORTION_AT + 2);
  /** See `leasePortion` in database/sizes.ts. */
  private readonly size: number;
  /** The portions used since the last flush. Several stay open, because callers name entries in any order. */
  private readonly open = new Map<string, Portion>();
  /** The portion used last, which is usually used next. */
  private last: Portion | undefined;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
    private readonly due: DueIndex,
    private readonly lanes: HostLanes | undefined,
  ) {
    this.key.set(state.key);
    this.size = database.sizes.leasePortion;
  }

  /** Leases entries, and counts one more attempt for each. Returns the new lease's number. */
  grant(entries: readonly Entry[], until: number): number {
    const { queue } = this.state;
    const { size } = this;
    const lease = queue.nextLease++;
    for (let from = 0; from < entries.length; from += size) {
      const held = entries.slice(from, from + size).map((entry, i) => ({ index: from + i, until, entry }));
      this.database.leases.putSync(this.rowKey(lease, from / size), packHeld(held, 1));
    }
    queue.leased += entries.length;
    if (this.lanes) for (const entry of entries) this.lanes.count(entry, 'leased', 1);
    this.due.countEnds(lease, until, entries.length);
    return lease;
  }

  /** The entry that a lease holds at a place. */
  at(lease: number, index: number): HeldEntry | undefined {
    const { places, first } = this.portionOf(lease, index);
    return places[index - first];
  }

  /** Removes an entry from its lease. Written with the next flush. */
  remove(lease: number, held: HeldEntry): void {
    this.change(lease, held);
    const counts = this.lanes?.freed(held.entry, held.until) ?? true;
    if (counts) this.state.queue.leased--;
    this.due.countEnds(lease, held.until, -1);
  }

  /** Changes when an entry's lease ends. Written with the next flush. */
  extend(lease: number, held: HeldEntry, until: number): void {
    this.change(lease, held, { ...held, until });
    this.due.countEnds(lease, held.until, -1);
    this.due.countEnds(lease, until, 1);
  }

  /** Call it at the end of a change. */
  flush(): void {
    this.close();
    this.due.flush();
  }

  /** All entries that a lease holds, in order. */
  of(lease: number): HeldEntry[] {
    this.close();
    const found: HeldEntry[] = [];
    const range = prefixRange(Buffer.from(this.rowKey(lease, 0).subarray(0, PORTION_AT)));
    for (const { value } of this.database.leases.getRange(range)) found.push(...unpackHeld(value));
    return found;
  }

  /** Number of the first lease, starting at `lease`, that holds an entry. */
  nextHolding(lease: number): number | undefined {
    const { end } = prefixRange(this.state.key);
    const range = { start: Buffer.from(this.rowKey(lease, 0)), ...(end && { end }), limit: 1 };
    for (const key of this.database.leases.getKeys(range)) return readNumber(key, GENERATION_BYTES);
    return undefined;
  }

  private change(lease: number, { index }: HeldEntry, to?: HeldEntry): void {
    const portion = this.portionOf(lease, index);
    portion.places[index - portion.first] = to;
    portion.changed = true;
  }

  private portionOf(lease: number, index: number): Portion {
    const { last } = this;
    if (last?.lease === lease && index >= last.first && index < last.first + last.places.length) return last;
    const number = Math.floor(index / this.size);
    const name = `${lease} ${number}`;
    this.last = this.open.get(name) ?? this.read(lease, number);
    this.open.set(name, this.last);
    return this.last;
  }

  private read(lease: number, number: number): Portion {
    const { size } = this;
    const first = number * size;
    const places = new Array<HeldEntry | undefined>(size).fill(undefined);
    const row = this.database.leases.get(this.rowKey(lease, number));
    if (row) for (const held of unpackHeld(row)) places[held.index - first] = held;
    return { lease, number, first, places, changed: false };
  }

  private close(): void {
    for (const { lease, number, places, changed } of this.open.values()) {
      if (!changed) continue;
      const held = places.filter((place) => place !== undefined);
      const key = this.rowKey(lease, number);
      if (held.length === 0) this.database.leases.removeSync(key);
      else this.database.leases.putSync(key, packHeld(held));
    }
    this.open.clear();
    this.last = undefined;
  }

  private rowKey(lease: number, portion: number): Buffer {
    writeNumber(this.key, lease, GENERATION_BYTES);
    this.key.writeUInt16BE(portion, PORTION_AT);
    return this.key;
  }
}

/**
 * A row: number of entries (2 bytes), then for each entry its index (2) and end (6), then the entries in the same
 * order.
 */
function packHeld(held: readonly HeldEntry[], attempts = 0): Buffer {
  packer.clear();
  for (const { entry } of held)
    packer.add(entry, attempts === 0 ? undefined : { attempt: entry.attempt + attempts });
  const row = Buffer.allocUnsafe(2 + held.length * HEAD_BYTES + packer.length);
  const view = viewOf(row);
  view.setUint16(0, held.length);
  let at = 2;
  for (const { index, until } of held) {
    view.setUint16(at, index);
    view.setUint16(at + 2, Math.floor(until / 2 ** 32));
    view.setUint32(at + 4, until % 2 ** 32);
    at += HEAD_BYTES;
  }
  row.set(packer.packed(), at);
  return row;
}

/** Reads the entries in a row of the table `leases`. */
export function unpackHeld(row: Buffer): HeldEntry[] {
  const held: HeldEntry[] = [];
  const count = row.readUInt16BE();
  let at = 2 + count * HEAD_BYTES;
  for (let i = 0; i < count; i++) {
    const head = 2 + i * HEAD_BYTES;
    const entry = new Entry(row, at);
    held.push({ index: row.readUInt16BE(head), until: row.readUIntBE(head + 2, 6), entry });
    at = entry.end;
  }
  return held;
}
