import { type Geometry, piecesOf, segmentOf } from '#bloom';
import type { Filter, HiddenItem } from '../../port/index.js';
import type { QueuePage, SegmentSnapshot, SegmentSource } from '../../transfer/export-parts.js';
import type { Ageing } from '../layers/ageing.js';
import type { Engine } from '../engine/engine.js';
import { HASH_BYTES, HASH_WORDS } from '../hashes/hash-bytes.js';
import { queuePages } from '../queue/queue-pages.js';

const NO_COUNTS = { added: 0, duplicate: 0, removed: 0, refused: 0 };

/** Reads a filter for export: first the cells, alone in a transaction, and then the committed queue. */
export class EmbeddedSource implements SegmentSource {
  constructor(
    private readonly engine: Engine,
    private readonly filter: Filter,
  ) {}

  snapshot(segment: number): Promise<SegmentSnapshot> {
    return this.engine.mutate(({ memory }) => {
      const { stack, tally } = memory.current(this.filter);
      const { layers, first, open } = stack;
      const last = segment === first.segments.length - 1;
      const pieces = piecesOf(open.plan, first.plan.geometry);
      return {
        cells: (open.segments[segment * pieces] as Uint8Array).slice(),
        counts: last ? { ...tally } : NO_COUNTS,
        layerItems: layers.map(({ tally: { items } }) => (last ? items : 0)),
        removals: tally.removed,
        ...(stack.age && { hidden: hiddenIn(stack.age, segment, first.plan.geometry) }),
      };
    });
  }

  layerCells(layer: number, segment: number): Promise<Uint8Array> {
    return this.engine.mutate(({ memory }) => {
      const cells = memory.current(this.filter).stack.layers[layer]?.segments[segment];
      if (!cells)
        throw new RangeError(`filter ${this.filter.name} has no segment ${segment} of layer ${layer}`);
      return cells.slice();
    });
  }

  async *queue(segment: number): AsyncGenerator<QueuePage, void, undefined> {
    await this.engine.unkeptRemoved(this.filter);
    yield* queuePages(this.engine, this.filter, segment);
  }
}

function hiddenIn({ hidden }: Ageing, segment: number, geometry: Geometry): HiddenItem[] {
  const found: HiddenItem[] = [];
  hidden.forEach((words, at, until) => {
    if (segmentOf(words[at] as number, words[at + 1] as number, geometry) !== segment) return;
    const hash = Buffer.allocUnsafe(HASH_BYTES);
    for (let word = 0; word < HASH_WORDS; word++) hash.writeUInt32BE(words[at + word] as number, 4 * word);
    found.push({ hash, until });
  });
  return found;
}
