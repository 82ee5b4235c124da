import { piecesOf, type Positions, relocate, segmentBytes } from '#bloom';
import { StoreError } from '../errors.js';
import type { Operation, Quota } from '../store.js';
import type { RedisFilter } from './filter.js';
import type { Growth } from './growth.js';
import { pieceKey } from './keys.js';
import { type Chunk, isWide, packHashes, packItems, packPayloads } from './packing.js';
import { type Answer, type Lack, segmentKeysOf, type Segments } from './segments.js';
import {
  addLayersScript,
  checkLayersScript,
  countLayersScript,
  type LayerShape,
  removeLayersScript,
} from './scripts/layers.js';
import type { Script } from './scripts/script.js';

type Value = string | number | Buffer;

const READS = { check: checkLayersScript, count: countLayersScript } as const;

/** A chunk's items in all layers that the filter is known to have. */
interface Located {
  readonly shapes: readonly LayerShape[];
  /** Those of the first layer. */
  readonly packed: Buffer;
  /** Of the others: the keys of pieces that the items touch, and ARGV. */
  readonly keys: readonly string[];
  readonly args: readonly Value[];
}

/** The calls on a chunk of items of a filter that grows: see scripts/layers.ts. */
export class LayeredCalls {
  private readonly scripts = new Map<string, Script>();

  constructor(
    private readonly segments: Segments,
    private readonly growth: Growth,
  ) {}

  async add(
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    operation: Operation,
    field: string,
    payloads?: readonly string[],
  ): Promise<Answer> {
    const { segment, indexes } = chunk;
    const { quota } = operation;
    const queued = payloads !== undefined;
    const answer = await this.grown(filter, segment, operation.deadline, quota, () => {
      const { shapes, packed, keys, args } = locate(filter, positions, chunk);
      const script = this.script(`add${queued}`, shapes, () => addLayersScript(shapes, queued));
      const queue = payloads
        ? [packPayloads(positions, indexes, payloads), filter.maxAttempts ?? 0]
        : ['', ''];
      const own = [
        ...[indexes.length, valuesOf(filter), filter.semantics === 'multiset' ? '1' : '0', packed, ...queue],
        ...[filter.made < (filter.layers?.length ?? 1) ? '1' : '0', filter.shareOf(0)],
      ];
      const change = { script, filter, segment, operation, field, args: [...own, ...args] };
      return this.segments.changeLayers(change, keys);
    });
    if (filter.nearlyFull(segment)) this.growth.ahead(filter, quota);
    return answer;
  }

  remove(
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    operation: Operation,
    field: string,
  ): Promise<Answer> {
    const { segment, indexes } = chunk;
    const { queued } = filter;
    return this.grown(filter, segment, operation.deadline, undefined, () => {
      const { shapes, packed, keys, args } = locate(filter, positions, chunk);
      const script = this.script(`remove${queued}`, shapes, () => removeLayersScript(shapes, queued));
      const queue = queued ? [packHashes(positions, indexes), this.segments.limits.maxMarks] : ['', ''];
      const own = [indexes.length, valuesOf(filter), packed, ...queue];
      const change = { script, filter, segment, operation, field, args: [...own, ...args] };
      return this.segments.changeLayers(change, keys);
    });
  }

  read(
    verb: keyof typeof READS,
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Answer> {
    return this.grown(filter, chunk.segment, deadline, undefined, () => {
      const { shapes, packed, keys, args } = locate(filter, positions, chunk);
      const script = this.script(verb, shapes, () => READS[verb](shapes));
      const values = [chunk.indexes.length, valuesOf(filter), packed, ...args];
      return this.segments.readLayers(script, filter, chunk.segment, values, keys, deadline);
    });
  }

  /**
   * Runs a script until the filter has the layers that it needs. It may also be that others have made them. What is run
   * again has the same operation and field, so it is done once.
   */
  private async grown(
    filter: RedisFilter,
    segment: number,
    deadline: number,
    quota: Quota | undefined,
    run: () => Promise<Answer | Lack>,
  ): Promise<Answer> {
    for (;;) {
      const known = filter.made;
      const answer = await run();
      if ('answers' in answer) return answer;
      if (Date.now() > deadline) {
        throw new StoreError('STORE_UNAVAILABLE', `filter ${filter.name} could not grow in time`);
      }
      if (answer.unmade === undefined) await this.growth.grow(filter, known, quota, deadline);
      else await this.growth.remake(filter, segment, answer.unmade, deadline);
    }
  }

  private script(verb: string, shapes: readonly LayerShape[], make: () => Script): Script {
    const key = [
      verb,
      ...shapes.map(({ hashes, wide, split }) => `${hashes}${wide ? 'w' : ''}${split ? 's' : ''}`),
    ].join();
    let script = this.scripts.get(key);
    if (!script) this.scripts.set(key, (script = make()));
    return script;
  }
}

const valuesOf = ({ geometry }: RedisFilter) => 2 ** geometry.cellBits;

function locate(filter: RedisFilter, positions: Positions, { segment, indexes }: Chunk): Located {
  const { geometry, layers = [], made } = filter;
  const shapes: LayerShape[] = [];
  const keys: string[] = [];
  const args: Value[] = [];
  const all = Uint32Array.from(indexes.keys());
  for (const [number, layer] of layers.slice(0, made).entries()) {
    const pieces = piecesOf(layer, geometry);
    shapes.push({ hashes: layer.geometry.hashes, wide: isWide(layer.geometry), split: pieces > 1 });
    if (number === 0) continue;
    const relocated = relocate(positions, layer.geometry, indexes);
    const touched = pieces > 1 ? touchedPieces(relocated, segment * pieces) : { pieces: [0], places: '' };
    keys.push(...touched.pieces.map((piece) => pieceKey(segmentKeysOf(filter, segment), number, piece)));
    args.push(segmentBytes(layer.geometry), touched.pieces.length, filter.shareOf(number));
    args.push(packItems(relocated, all, layer.geometry), touched.places);
  }
  return { shapes, packed: packItems(positions, indexes, geometry), keys, args };
}

/** Pieces of a layer that have items, and of each item which of these it is in (2 bytes). `first` is the segment's first. */
function touchedPieces(
  { count, segment }: Positions,
  first: number,
): { readonly pieces: number[]; readonly places: Buffer } {
  const found = new Map<number, number>();
  const places = Buffer.allocUnsafe(2 * count);
  for (let n = 0; n < count; n++) {
    const piece = (segment[n] as number) - first;
    const place = found.get(piece) ?? found.size;
    found.set(piece, place);
    places.writeUInt16BE(place, 2 * n);
  }
  return { pieces: [...found.keys()], places };
}
