import type { QueuedItem } from '../store.js';
import type { Database } from './database.js';
import type { FilterState } from './filter-state.js';
import { GENERATION_BYTES, prefixRange, readNumber, type KeyRange } from './keys.js';
import { QueueRows } from './queue-rows.js';

/** Neighbours that are tried of a place that is taken. */
const PLACES_TRIED = 64;

/** The queue of one visited set on its way out and in, inside a write transaction. */
export class QueueTransfer {
  private readonly rows: QueueRows;

  constructor(
    private readonly database: Database,
    private readonly state: FilterState,
  ) {
    this.rows = new QueueRows(database, state);
  }

  /** Up to `limit` entries of a segment's items by hash, leased or not, those after a hash if it is given. */
  page(segment: number, limit: number, after?: Uint8Array): QueuedItem[] {
    const { start, end } = this.hashRange(segment);
    const from = after ? Buffer.concat([this.state.key, after, Buffer.alloc(1)]) : start;
    const range = end ? { start: from, end, limit } : { start: from, limit };
    return Array.from(this.database.entries.getRange(range), ({ value }) => {
      const place = { until: readNumber(value), sequence: readNumber(value, 8) };
      const { hash, attempt, payload } = this.rows.entryAt(place);
      return {
        hash: Uint8Array.from(hash),
        place: place.sequence,
        attempt,
        payload: Buffer.from(payload),
      };
    });
  }

  /**
   * Queues an item of an export at its place in line, unless it is in the queue. Where many have one place, the last of
   * them go to the end of the line.
   */
  restore({ hash, place: wanted, attempt, payload }: QueuedItem): void {
    if (this.rows.placeOf(hash)) return;
    const { queue } = this.state;
    const place = { until: 0, sequence: wanted };
    const last = wanted + PLACES_TRIED;
    while (this.rows.taken(place.sequence)) {
      place.sequence = place.sequence < last ? place.sequence + 1 : queue.nextSequence;
    }
    queue.nextSequence = Math.max(queue.nextSequence, place.sequence + 1);
    this.rows.putPlace(hash, place);
    this.rows.putEntry(place, {
      hash: Buffer.from(hash),
      lease: 0,
      attempt,
      payload: Buffer.from(payload).toString(),
    });
    queue.entries++;
  }

  /** The keys of a segment's items, which are those of a range of hashes: see segmentOf. */
  private hashRange(segment: number): KeyRange {
    const { segments } = this.state.filter.geometry;
    const first = (n: number) => {
      const key = Buffer.alloc(GENERATION_BYTES + 4);
      key.set(this.state.key);
      key.writeUInt32BE(Math.ceil((n * 2 ** 32) / segments), GENERATION_BYTES);
      return key;
    };
    const whole = prefixRange(this.state.key);
    return segment + 1 < segments
      ? { start: first(segment), end: first(segment + 1) }
      : { ...whole, start: first(segment) };
  }
}
