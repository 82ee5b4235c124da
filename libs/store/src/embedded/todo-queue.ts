import { decodeLeaseId, encodeLeaseId } from '../lease-id.js';
import { Settled, type LeasedEntry } from '../store.js';
import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, writeNumber } from './keys.js';
import {
  decodeEntry,
  encodeEntry,
  HASH_BYTES,
  LEASED,
  WAITING,
  type Entry,
  type Place,
} from './queue-entry.js';

const PLACE_BYTES = 16;
/** The embedded store keeps one queue a visited set, whatever its segments. */
const SEGMENT = 0;

/**
 * The queue of one visited set, inside a write transaction. An entry is in `order` once, under its place:
 *
 *   waiting   g, 0, sequence         in the order of arrival, whatever the clock does
 *   leased    g, 1, until, sequence  in the order in which leases end
 *
 * and in `entries` under its hash, with its place. So the table with random keys has small entries, and what is large
 * is written at the end of the line.
 */
export class TodoQueue {
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

  /** Queues an item at the end; if it was in the queue, leased or not, it begins anew. */
  push(hash: Buffer, payload: string): void {
    const { queue } = this.state;
    const place = { until: 0, sequence: queue.nextSequence++ };
    if (!this.putPlace(hash, place, true)) {
      this.remove(hash);
      this.putPlace(hash, place);
    }
    this.putEntry(place, { hash, lease: 0, attempt: 0, payload });
    queue.entries++;
  }

  /** Takes an item off the queue, leased or not, if it is there. */
  remove(hash: Buffer): void {
    const place = this.placeOf(hash);
    if (place) this.erase(hash, place);
  }

  /** Leases at most `max` entries until now + leaseMs: those whose lease has ended first, then the waiting. */
  lease(max: number, now: number, leaseMs: number): LeasedEntry[] {
    const ended = this.line(LEASED, max, now + 1);
    const due = ended.concat(this.line(WAITING, max - ended.length));
    if (due.length === 0) return [];
    const lease = this.state.queue.nextLease++;
    const until = now + Math.ceil(leaseMs);
    return due.map(({ place, entry }) => {
      const attempt = entry.attempt + 1;
      this.move(place, { until, sequence: place.sequence }, { ...entry, lease, attempt });
      const id = encodeLeaseId({ segment: SEGMENT, hash: entry.hash, lease });
      return { id, payload: entry.payload, attempt };
    });
  }

  /** Answers Settled.* */
  ack(id: string, now: number): number {
    return this.settle(id, now, (place, { hash }) => this.erase(hash, place));
  }

  /** Answers Settled.* The entry goes back to its old place in line. */
  release(id: string, now: number): number {
    return this.settle(id, now, (place, entry) =>
      this.move(place, { until: 0, sequence: place.sequence }, { ...entry, lease: 0 }),
    );
  }

  private settle(id: string, now: number, settle: (place: Place, entry: Entry) => void): number {
    const named = decodeLeaseId(id);
    if (named?.segment !== SEGMENT || named.lease >= this.state.queue.nextLease) return Settled.Unknown;
    const place = this.placeOf(named.hash);
    if (!place) return Settled.Unknown;
    if (place.until <= now) return Settled.Expired;
    const value = this.database.order.get(this.orderKey(place));
    if (!value) throw new Error('a queue entry is missing from the order');
    const entry = decodeEntry(value);
    if (entry.lease !== named.lease) return Settled.Expired;
    settle(place, entry);
    return Settled.Done;
  }

  private move(from: Place, to: Place, entry: Entry): void {
    this.removeEntry(from);
    this.putPlace(entry.hash, to);
    this.putEntry(to, entry);
  }

  private erase(hash: Uint8Array, place: Place): void {
    this.database.entries.removeSync(this.keyOf(hash));
    this.removeEntry(place);
    this.state.queue.entries--;
  }

  private placeOf(hash: Uint8Array): Place | undefined {
    const value = this.database.entries.get(this.keyOf(hash));
    return value && { until: readNumber(value), sequence: readNumber(value, 8) };
  }

  /** `fresh`: only if there is none; false if there is one. */
  private putPlace(hash: Uint8Array, { until, sequence }: Place, fresh = false): boolean {
    writeNumber(this.place, until, 0);
    writeNumber(this.place, sequence, 8);
    return this.database.entries.putSync(this.keyOf(hash), this.place, { noOverwrite: fresh });
  }

  private putEntry(place: Place, entry: Entry): void {
    this.database.order.putSync(this.orderKey(place), encodeEntry(entry));
    this.countLeases(place, 1);
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

  /** The first entries of the waiting, or of the leased whose lease ends before a time. */
  private line(of: number, limit: number, before?: number): { place: Place; entry: Entry }[] {
    if (limit <= 0) return [];
    const range = prefixRange(Buffer.concat([this.state.key, Buffer.of(of)]));
    if (before !== undefined) {
      const end = Buffer.concat([range.start, Buffer.alloc(8)]);
      writeNumber(end, before, range.start.length);
      range.end = end;
    }
    return Array.from(this.database.order.getRange({ ...range, limit }), ({ key, value }) => ({
      place: {
        until: of === LEASED ? readNumber(key, GENERATION_BYTES + 1) : 0,
        sequence: readNumber(key, key.length - 8),
      },
      entry: decodeEntry(value),
    }));
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
