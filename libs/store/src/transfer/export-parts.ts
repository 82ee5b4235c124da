import { pageBytes, piecesOf, type Layer } from '#bloom';
import { plannedLayers } from '../planned-layers.js';
import type { CallCounts, Filter, HiddenItem, Part, QueuedHost, QueuedItem } from '../port/index.js';
import { countCells } from './cell-counts.js';
import { ItemsHeld } from './items-held.js';

/** Maximum size of a piece of cells, in bytes. A piece has whole pages, and a segment's last piece may be shorter. */
export const PIECE_BYTES = 2 ** 20;
const HIDDEN_PER_PART = 10_000;

/**
 * Maximum number of times that a segment is read if items are removed during the read. Without removals, one read is
 * enough.
 */
const ATTEMPTS = 3;

export interface SegmentSnapshot {
  /** The open layer's cells, in the first of its segments that correspond to this one. */
  readonly cells: Uint8Array;
  /**
   * The segment's counts, and its layers' items. The last layer is the open one. A store that counts over the whole
   * filter returns the counts with the last segment, and zeros before.
   */
  readonly counts: Omit<CallCounts, 'items'>;
  readonly layerItems: readonly number[];
  /** Number of removals so far, from the segment or the filter. */
  readonly removals: number;
  /**
   * If the filter ages: the segment's items that were hidden when its cells were read, and possibly items that were
   * hidden or shown during the export.
   */
  readonly hidden?: readonly HiddenItem[];
}

/** Some entries of a segment's queue. */
export interface QueuePage {
  readonly entries: readonly QueuedItem[];
  /** See Part. */
  readonly hosts?: readonly QueuedHost[];
  /** Like `SegmentSnapshot.removals`, as of this page. */
  readonly removals: number;
}

/**
 * Reads a filter's segments in one store. If the filter is gone, changed or damaged, throws the errors that `Counters`
 * lists.
 */
export interface SegmentSource {
  /** A segment's cells and counts, in one atomic step, and its hidden items. */
  snapshot(segment: number): Promise<SegmentSnapshot>;
  /** The cells in one of a layer's segments, in one atomic step. */
  layerCells(layer: number, segment: number): Promise<Uint8Array>;
  /**
   * All entries that are in the queue from the first page to the last, and possibly others. Entries come in any order,
   * and may appear twice.
   */
  queue(segment: number): AsyncIterable<QueuePage>;
}

/**
 * A filter's contents, segment by segment. Transfer defines their order and consistency.
 *
 * A queue can be too large for the atomic step that reads the cells, so it is read after them, page by page. A change
 * in between must never leave an item visited in the export but missing from its queue, because it would never be
 * fetched. With the cells read first, an item that changes in the meantime appears in the export as follows:
 *
 *   queued                 is in the queue, not yet visited: discovered again later, at worst fetched twice
 *   leased, released       is in the queue either way
 *   acknowledged           is visited, not in the queue: it has been fetched
 *   removed                is visited, not in the queue: lost. (If the queue were read first, every item that is
 *                          queued in the meantime would be lost.)
 *
 * So removals are counted, and if items were removed from a segment in the meantime, it is read again. Entries read
 * before stay in the export, because one too many only means that an item is fetched twice. After the last attempt,
 * only an item that was both queued and removed while its segment was exported can be lost, and only until it is
 * removed again. So after an import, callers must repeat all removals made since the export began.
 *
 * If the filter ages, all items that are hidden when the open layer is read are hidden in the export. An item that is
 * hidden later was removed after the export began. The queue is read after the hidden items, so an item that is added
 * again is discovered again.
 *
 * If the filter grows, all this applies to the open layer. So that layer is read first, and held in memory while the
 * queue is read. Closed layers are read after it. They get no new items, and their cells at zero stay zero. So even in
 * the export, an item is in the oldest layer that claims it.
 */
export async function* exportParts(
  filter: Pick<Filter, 'capacity' | 'errorRate' | 'geometry' | 'layers' | 'kind' | 'semantics'>,
  source: SegmentSource,
): AsyncGenerator<Part, void, undefined> {
  const { geometry, kind, semantics } = filter;
  const plan = plannedLayers(filter);
  const held = plan.map((layer) => new ItemsHeld({ geometry: layer.geometry, semantics }));
  const total = { added: 0, duplicate: 0, removed: 0, refused: 0 };
  const layerItems: number[] = [];
  for (let segment = 0; segment < geometry.segments; segment++) {
    const reader = new SegmentReader(source, plan, segment);
    let { snapshot, open } = await reader.read();
    for (let attempt = 1; kind === 'visited-set'; attempt++) {
      let { removals } = snapshot;
      for await (const page of source.queue(segment)) {
        ({ removals } = page);
        const { entries, hosts = [] } = page;
        if (entries.length > 0 || hosts.length > 0)
          yield { type: 'queue', segment, entries, ...(hosts.length > 0 && { hosts }) };
      }
      if (removals === snapshot.removals || attempt === ATTEMPTS) break;
      ({ snapshot, open } = await reader.read());
    }
    yield* hiddenParts(segment, snapshot.hidden ?? []);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += snapshot.counts[name];
    const newest = snapshot.layerItems.length - 1;
    for (let layer = 0; layer < newest; layer++) {
      for (const piece of reader.piecesOf(layer)) {
        yield* partsOf(layer, piece, await source.layerCells(layer, piece), held);
      }
    }
    for (const [n, cells] of open.entries())
      yield* partsOf(newest, reader.piecesOf(newest)[n] ?? 0, cells, held);
    snapshot.layerItems.forEach((items, layer) => (layerItems[layer] = (layerItems[layer] ?? 0) + items));
  }
  // The counts include changes made after a segment was read, but the cells don't.
  let items = 0;
  for (const [layer, counted] of layerItems.entries()) {
    const { least, most } = (held[layer] as ItemsHeld).bounds(total);
    const bounded = Math.min(most, Math.max(least, counted));
    layerItems[layer] = bounded;
    items += bounded;
  }
  yield { type: 'counts', counts: { items, ...total }, layerItems };
}

function* hiddenParts(segment: number, hidden: readonly HiddenItem[]): Generator<Part, void, undefined> {
  for (let at = 0; at < hidden.length; at += HIDDEN_PER_PART) {
    yield { type: 'hidden', segment, items: hidden.slice(at, at + HIDDEN_PER_PART) };
  }
}

/** Reads a segment with the cells of its open layer. */
class SegmentReader {
  constructor(
    private readonly source: SegmentSource,
    private readonly plan: readonly Layer[],
    private readonly segment: number,
  ) {}

  async read(): Promise<{ snapshot: SegmentSnapshot; open: Uint8Array[] }> {
    const snapshot = await this.source.snapshot(this.segment);
    const newest = snapshot.layerItems.length - 1;
    const open = [snapshot.cells];
    for (const piece of this.piecesOf(newest).slice(1))
      open.push(await this.source.layerCells(newest, piece));
    return { snapshot, open };
  }

  /** A layer's segments that correspond to this segment. */
  piecesOf(layer: number): number[] {
    const [first, planned] = [this.plan[0] as Layer, this.plan[layer] as Layer];
    const each = piecesOf(planned, first.geometry);
    return Array.from({ length: each }, (_, n) => this.segment * each + n);
  }
}

/** The parts for the cells in one of a layer's segments. */
function* partsOf(
  layer: number,
  segment: number,
  bytes: Uint8Array,
  held: readonly ItemsHeld[],
): Generator<Part, void, undefined> {
  const { geometry } = held[layer] as ItemsHeld;
  const page = pageBytes(geometry);
  const size = Math.floor(PIECE_BYTES / page) * page;
  for (let at = 0; at < bytes.length; at += size) {
    const cells = bytes.subarray(at, at + size);
    const counts = countCells(cells, geometry);
    (held[layer] as ItemsHeld).take(counts);
    const { nonZero, saturated } = counts;
    yield { type: 'cells', layer, segment, cells, nonZero, saturated };
  }
}
