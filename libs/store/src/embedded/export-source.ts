import { piecesOf } from '#bloom';
import type { Filter } from '../store.js';
import type { QueuePage, SegmentSnapshot, SegmentSource } from '../transfer/export-parts.js';
import type { Engine } from './engine.js';
import { QueueSnapshot, type Place } from './queue/queue-snapshot.js';

/** Entries that a page looks at: the event loop is held for about a millisecond. */
const PAGE_ENTRIES = 1_000;

const NO_COUNTS = { added: 0, duplicate: 0, removed: 0, refused: 0 };

/** Reads a filter for export: cells inside a transaction, alone, and then the queue as it is committed. */
export class EmbeddedSource implements SegmentSource {
  constructor(
    private readonly engine: Engine,
    private readonly filter: Filter,
  ) {}

  snapshot(segment: number): Promise<SegmentSnapshot> {
    return this.engine.mutate(({ memory }) => {
      const { layers, open, tally } = memory.current(this.filter);
      const [first] = layers;
      const last = segment === first.segments.length - 1;
      const pieces = piecesOf(open.plan, first.plan.geometry);
      return {
        cells: (open.segments[segment * pieces] as Uint8Array).slice(),
        counts: last ? { ...tally } : NO_COUNTS,
        layerItems: layers.map(({ tally: { items } }) => (last ? items : 0)),
        removals: tally.removed,
      };
    });
  }

  layerCells(layer: number, segment: number): Promise<Uint8Array> {
    return this.engine.mutate(({ memory }) => {
      const cells = memory.current(this.filter).layers[layer]?.segments[segment];
      if (!cells)
        throw new RangeError(`filter ${this.filter.name} has no segment ${segment} of layer ${layer}`);
      return cells.slice();
    });
  }

  /** Entries move while they are read; of one moment each is in one place. */
  async *queue(segment: number): AsyncGenerator<QueuePage, void, undefined> {
    const snapshot = await this.engine.read((_, __, database) => database.snapshot());
    try {
      const queue = await this.engine.read(
        (memory, _, database) => new QueueSnapshot(database, memory.current(this.filter), snapshot),
      );
      const { removals } = queue;
      for (let place: Place | undefined, more = true; more;) {
        const from = place;
        const { entries, next } = await this.engine.read((memory) => {
          memory.current(this.filter);
          return queue.page(segment, PAGE_ENTRIES, from);
        });
        yield { entries, removals };
        place = next;
        more = next !== undefined;
      }
    } finally {
      snapshot.end();
    }
  }
}
