import { decodeLeaseId, encodeLeaseId } from '../lease-id.js';
import { MAX_LEASE_MS, MAX_LEASED_BYTES, Settled, type LeasedEntry } from '../store.js';
import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { LEASED, WAITING, type Entry, type Place, type Standing } from './queue-entry.js';
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

  /** A lease of at most `max` entries until now + leaseMs: what it answers, and how it is made. */
  lease(max: number, now: number, leaseMs: number): { answer: LeasedEntry[]; apply: () => void } {
    const due = this.due(max, now);
    const lease = this.state.queue.nextLease;
    const until = now + Math.ceil(leaseMs);
    const answer = due.map(({ entry: { hash, payload, attempt } }) => ({
      id: encodeLeaseId({ segment: SEGMENT, hash, lease }),
      payload,
      attempt: attempt + 1,
    }));
    const apply = (): void => {
      if (due.length > 0) this.state.queue.nextLease++;
      for (const { place, entry } of due) {
        const moved = { ...entry, lease, attempt: entry.attempt + 1 };
        this.rows.move(place, { until, sequence: place.sequence }, moved);
      }
    };
    return { answer, apply };
  }

  /**
   * The next entries in line, as many as one lease hands out: those whose lease has ended, or is too long to be true,
   * first, then the waiting.
   */
  private due(max: number, now: number): Standing[] {
    const due: Standing[] = [];
    let bytes = 0;
    for (const line of [
      this.rows.line(LEASED, max, { end: now + 1 }),
      this.rows.line(LEASED, max, { start: now + MAX_LEASE_MS + 1 }),
      this.rows.line(WAITING, max),
    ]) {
      for (const standing of line) {
        bytes += Buffer.byteLength(standing.entry.payload);
        if (due.length === max || (due.length > 0 && bytes > MAX_LEASED_BYTES)) return due;
        due.push(standing);
      }
    }
    return due;
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
