import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { DamagedRow, RowState } from './table.js';
import { GENERATION_BYTES, numberKey, prefixRange, readNumber, writeNumber } from './keys.js';
import {
  decodeEntry,
  encodeEntry,
  HASH_BYTES,
  LEASED,
  WAITING,
  type Entry,
  type Place,
  type Standing,
} from './queue-entry.js';

const PLACE_BYTES = 16;

/**
 * The rows of one visited set's queue, inside a write transaction. An entry is in `order` once, under its place:
 *
 *   waiting   g, 0, sequence         in the order of arrival, whatever the clock does
 *   leased    g, 1, until, sequence  in the order in which leases end
 *
 * and in `entries` under its hash, with its place. So the table with random keys has small entries, and what is large
 * is written at the end of the line.
 */
export class QueueRows {
  private readonly hashKey = Buffer.alloc(GENERATION_BYTES + HASH_BYTES);
  private readonly waitingKey = Buffer.alloc(GENERATION_BYTES + 9);
  private readonly leasedKey = Buffer.alloc(GENERATION_BYTES + 17);
  private readonly place = Buffer.alloc(PLACE_BYTES);

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
  ) {
    for (const key of [this.hashKey, this.waitingKey, this.leasedKey]) key.set(state.key);
    this.waitingKey[GENERATION_BYTES] = WAITING;
    this.leasedKey[GENERATION_BYTES] = LEASED;
  }

  /** Where an item stands; undefined if it is not in the queue. */
  placeOf(hash: Uint8Array): Place | undefined {
    const value = this.database.entries.get(this.keyOf(hash));
    return value && { until: readNumber(value), sequence: readNumber(value, 8) };
  }

  /** Sets where an item stands. `fresh`: only if there is none; false if there is one. */
  putPlace(hash: Uint8Array, { until, sequence }: Place, fresh = false): boolean {
    writeNumber(this.place, until, 0);
    writeNumber(this.place, sequence, 8);
    return this.database.entries.putSync(this.keyOf(hash), this.place, { noOverwrite: fresh });
  }

  /** What stands at a place that an item has. */
  entryAt(place: Place): Entry {
    const key = this.orderKey(place);
    const value = this.database.order.get(key);
    if (!value) throw new DamagedRow(this.database.order.name, Buffer.from(key), RowState.ValueDamaged);
    return decodeEntry(value);
  }

  /** Whether something waits there. */
  taken(sequence: number): boolean {
    return this.database.order.get(this.orderKey({ until: 0, sequence })) !== undefined;
  }

  putEntry(place: Place, entry: Entry): void {
    this.database.order.putSync(this.orderKey(place), encodeEntry(entry));
    this.countLeases(place, 1);
  }

  move(from: Place, to: Place, entry: Entry): void {
    this.removeEntry(from);
    this.putPlace(entry.hash, to);
    this.putEntry(to, entry);
  }

  /** Takes an item off the queue. */
  erase(hash: Uint8Array, place: Place): void {
    this.database.entries.removeSync(this.keyOf(hash));
    this.removeEntry(place);
    this.state.queue.entries--;
  }

  /**
   * The first entries of the waiting, or of the leased whose lease ends from `start` on and before `end`, read as they are
   * asked for.
   */
  *line(
    of: number,
    limit: number,
    until: { readonly start?: number; readonly end?: number } = {},
  ): Generator<Standing, void, undefined> {
    const prefix = Buffer.concat([this.state.key, Buffer.of(of)]);
    const range = prefixRange(prefix);
    if (until.start !== undefined) range.start = Buffer.concat([prefix, numberKey(until.start)]);
    if (until.end !== undefined) range.end = Buffer.concat([prefix, numberKey(until.end)]);
    for (const { key, value } of this.database.order.getRange({ ...range, limit })) {
      const place = {
        until: of === LEASED ? readNumber(key, GENERATION_BYTES + 1) : 0,
        sequence: readNumber(key, key.length - 8),
      };
      yield { place, entry: decodeEntry(value) };
    }
  }

  private removeEntry(place: Place): void {
    this.database.order.removeSync(this.orderKey(place));
    this.countLeases(place, -1);
  }

  private countLeases({ until }: Place, change: number): void {
    if (until === 0) return;
    const { leasedUntil } = this.state.queue;
    const count = (leasedUntil.get(until) ?? 0) + change;
    if (count === 0) leasedUntil.delete(until);
    else leasedUntil.set(until, count);
  }

  private orderKey({ until, sequence }: Place): Buffer {
    const key = until > 0 ? this.leasedKey : this.waitingKey;
    if (until > 0) writeNumber(key, until, GENERATION_BYTES + 1);
    writeNumber(key, sequence, key.length - 8);
    return key;
  }

  private keyOf(hash: Uint8Array): Buffer {
    this.hashKey.set(hash, GENERATION_BYTES);
    return this.hashKey;
  }
}
