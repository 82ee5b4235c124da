import type { CallCounts, Filter, Part, QueuedItem } from '../store.js';
import { countCells } from './cell-counts.js';
import { ItemsHeld } from './items-held.js';

/** Cells go in pieces of this size. The last piece of a segment may be shorter. */
export const PIECE_BYTES = 2 ** 20;

/**
 * How often a segment is read at most, if items are removed from it all the while. Once is enough if none is removed.
 */
const ATTEMPTS = 3;

/** A segment's cells at one moment. */
export interface SegmentSnapshot {
  readonly cells: Uint8Array;
  /**
   * Counts of the segment. A store that counts over the whole filter gives the counts with the last segment, and zeros
   * before.
   */
  readonly counts: CallCounts;
  /** Number of removals so far, of the segment or the filter. */
  readonly removals: number;
}

/** Some entries of a segment's queue. */
export interface QueuePage {
  readonly entries: readonly QueuedItem[];
  /** As in the snapshot, at the moment of this page. */
  readonly removals: number;
}

/** How an adapter reads a segment. Both throw as `Counters` does when the filter is gone, changed or damaged. */
export interface SegmentSource {
  /** Cells and counts in one atomic step. */
  snapshot(segment: number): Promise<SegmentSnapshot>;
  /**
   * All entries that are in the queue from the first page to the last, and perhaps others, in any order and perhaps
   * twice.
   */
  queue(segment: number): AsyncIterable<QueuePage>;
}

/**
 * A filter's contents, segment by segment. Transfer defines their order and consistency.
 *
 * A queue can be too large for the atomic step that reads the cells, so it is read after them, page by page. What
 * happens in between must never make an item visited in the export but missing from its queue, since nobody would ever
 * fetch it. With the cells read first,
 *
 *   queued in between      in the queue, not yet visited: found again one day, at worst fetched twice
 *   leased, released       in the queue either way
 *   acknowledged           visited, not in the queue: it has been fetched
 *   removed                visited, not in the queue: lost. (With the queue read first, every item queued in between is.)
 *
 * So removals are counted, and a segment from which something was removed meanwhile is read again. Entries read before
 * stay in the export: one too many is an item fetched twice. After the last attempt only an item that was both queued
 * and removed during the export of its segment can be lost, and only until it is removed once more, as all removals
 * made since an export began have to be after its import.
 */
export async function* exportParts(
  filter: Pick<Filter, 'geometry' | 'kind' | 'semantics'>,
  source: SegmentSource,
): AsyncGenerator<Part, void, undefined> {
  const { geometry, kind } = filter;
  const held = new ItemsHeld(filter);
  const total = { items: 0, added: 0, duplicate: 0, removed: 0, refused: 0 };
  for (let segment = 0; segment < geometry.segments; segment++) {
    let snapshot = await source.snapshot(segment);
    for (let attempt = 1; kind === 'visited-set'; attempt++) {
      let { removals } = snapshot;
      for await (const page of source.queue(segment)) {
        ({ removals } = page);
        if (page.entries.length > 0) yield { type: 'queue', segment, entries: page.entries };
      }
      if (removals === snapshot.removals || attempt === ATTEMPTS) break;
      snapshot = await source.snapshot(segment);
    }
    for (const name of Object.keys(total) as (keyof CallCounts)[]) total[name] += snapshot.counts[name];
    for (let at = 0; at < snapshot.cells.length; at += PIECE_BYTES) {
      const cells = snapshot.cells.subarray(at, at + PIECE_BYTES);
      const counts = countCells(cells, geometry.cellBits);
      held.take(counts);
      const { nonZero, saturated } = counts;
      yield { type: 'cells', segment, cells, nonZero, saturated };
    }
  }
  // The counts include what has changed meanwhile in segments that had been read; the cells do not.
  const { least, most } = held.bounds(total);
  total.items = Math.min(most, Math.max(least, total.items));
  yield { type: 'counts', counts: total };
}
