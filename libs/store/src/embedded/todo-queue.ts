import { decodeLeaseId, encodeLeaseId } from '../lease-id.js';
import { MAX_LEASE_MS, Settled, type LeasedEntry } from '../store.js';
import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { LEASED, WAITING, type Entry, type Place } from './queue-entry.js';
import { QueueRows } from './queue-rows.js';

/** The embedded store keeps one queue a visited set, whatever its segments. */
const SEGMENT = 0;

/** The queue of one visited set, inside a write transaction. */
export class TodoQueue {
  private readonly rows: QueueRows;

  constructor(
    database: Database,
    private readonly state: FilterState,
  ) {
    this.rows = new QueueRows(database, state);
  }

  /** Queues an item at the end; if it was in the queue, leased or not, it begins anew. */
  push(hash: Buffer, payload: string): void {
    const { queue } = this.state;
    const place = { until: 0, sequence: queue.nextSequence++ };
    if (!this.rows.putPlace(hash, place, true)) {
      this.remove(hash);
      this.rows.putPlace(hash, place);
    }
    this.rows.putEntry(place, { hash, lease: 0, attempt: 0, payload });
    queue.entries++;
  }

  /** Takes an item off the queue, leased or not, if it is there. */
  remove(hash: Buffer): void {
    const place = this.rows.placeOf(hash);
    if (place) this.rows.erase(hash, place);
  }

  /**
   * Leases at most `max` entries until now + leaseMs: those whose lease has ended, or is too long to be true,
   * first, then the waiting.
   */
  lease(max: number, now: number, leaseMs: number): LeasedEntry[] {
    const due = this.rows.line(LEASED, max, { end: now + 1 });
    due.push(...this.rows.line(LEASED, max - due.length, { start: now + MAX_LEASE_MS + 1 }));
    due.push(...this.rows.line(WAITING, max - due.length));
    if (due.length === 0) return [];
    const lease = this.state.queue.nextLease++;
    const until = now + Math.ceil(leaseMs);
    return due.map(({ place, entry }) => {
      const attempt = entry.attempt + 1;
      this.rows.move(place, { until, sequence: place.sequence }, { ...entry, lease, attempt });
      const id = encodeLeaseId({ segment: SEGMENT, hash: entry.hash, lease });
      return { id, payload: entry.payload, attempt };
    });
  }

  /** Answers Settled.* */
  ack(id: string, now: number): number {
    return this.settle(id, now, (place, { hash }) => this.rows.erase(hash, place));
  }

  /** Answers Settled.* The entry goes back to its old place in line. */
  release(id: string, now: number): number {
    return this.settle(id, now, (place, entry) =>
      this.rows.move(place, { until: 0, sequence: place.sequence }, { ...entry, lease: 0 }),
    );
  }

  private settle(id: string, now: number, settle: (place: Place, entry: Entry) => void): number {
    const named = decodeLeaseId(id);
    if (named?.segment !== SEGMENT || named.lease >= this.state.queue.nextLease) return Settled.Unknown;
    const place = this.rows.placeOf(named.hash);
    if (!place) return Settled.Unknown;
    if (place.until <= now) return Settled.Expired;
    const entry = this.rows.entryAt(place);
    if (entry.lease !== named.lease) return Settled.Expired;
    settle(place, entry);
    return Settled.Done;
  }
}
