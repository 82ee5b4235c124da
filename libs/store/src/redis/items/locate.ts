import { type Geometry, pageBytes, positionsOfHashes, type Positions, relocate, segmentBytes } from '#bloom';
import type { LayerStack } from '../layout/layer-stack.js';
import type { SegmentView } from '../layout/filter.js';
import { pieceKey, type SegmentKeys } from '../layout/keys.js';
import { type Chunk, isWide, packItems } from '../layout/packing.js';
import type { LayerShape, LayerValues, Stacks } from './frame.js';

/** A layer with the located items of a chunk. */
interface LocatedLayer {
  readonly shape: LayerShape;
  readonly values: LayerValues;
  /** The pieces that the items touch. */
  readonly keys: readonly string[];
}

/** The items of a chunk, located in all layers of its segment that the caller knows. */
export interface Located {
  readonly stacks: Stacks;
  /** ARGV of each layer. A sync's layers follow the filter's own. */
  readonly values: readonly LayerValues[];
  /** Keys of all layers, except a first layer with a single piece. */
  readonly keys: readonly string[];
}

/** Items by their indexes in `positions`. */
interface Items {
  readonly positions: Positions;
  readonly indexes: Uint32Array;
}

export function locate(
  { filter, sync }: SegmentView,
  keys: SegmentKeys,
  positions: Positions,
  chunk: Chunk,
): Located {
  const { segment, indexes } = chunk;
  const all = indexes.map((_, n) => n);
  const own = layersOf(filter.stack, keys, segment, (geometry, inPlace) =>
    inPlace ? { positions, indexes } : { positions: relocate(positions, geometry, indexes), indexes: all },
  );
  const here = sync && inSync(filter.geometry, sync.stack, positions, indexes);
  const second =
    sync && here
      ? layersOf(sync.stack, keys, segment, (geometry) => ({
          positions: relocate(here, geometry),
          indexes: all,
        }))
      : undefined;
  const layers = [...own, ...(second ?? [])];
  return {
    stacks: { own: own.map(({ shape }) => shape), sync: second?.map(({ shape }) => shape) },
    values: layers.map(({ values }) => values),
    keys: layers.flatMap((layer, n) => (n > 0 || layer.shape.split ? layer.keys : [])),
  };
}

/**
 * Locates items in all layers of a filter or sync.
 *
 * @param itemsIn locates the items in one layer; `inPlace`: it is the first layer and has one piece
 */
function layersOf(
  stack: LayerStack,
  segmentKeys: SegmentKeys,
  segment: number,
  itemsIn: (geometry: Geometry, inPlace: boolean) => Items,
): LocatedLayer[] {
  return stack.layers.map(({ geometry }, layer) => {
    const count = stack.piecesOf(layer);
    const { positions, indexes } = itemsIn(geometry, layer === 0 && count === 1);
    const touched = count > 1 ? touchedPieces(positions, segment * count) : { pieces: [0], places: '' };
    return {
      shape: {
        hashes: geometry.hashes,
        wide: isWide(geometry),
        split: count > 1,
        ...(geometry.cellBits === 8 && { pageBytes: pageBytes(geometry) }),
      },
      values: {
        bytes: segmentBytes(geometry),
        keys: touched.pieces.length,
        share: stack.shareOf(layer),
        packed: packItems(positions, indexes, geometry),
        places: touched.places,
        cells: stack.cellsOf(layer),
      },
      keys: touched.pieces.map((piece) => pieceKey(segmentKeys, stack.base + layer, piece)),
    };
  });
}

/** The items' positions in a sync's first layer. */
function inSync(
  own: Geometry,
  { plan: [{ geometry }] }: LayerStack,
  positions: Positions,
  indexes: Uint32Array,
): Positions {
  const same = own.hashes === geometry.hashes && own.pageCells === geometry.pageCells;
  return same ? relocate(positions, geometry, indexes) : positionsOfHashes(positions.hash, geometry, indexes);
}

/**
 * The pieces of a layer that have items. Also returns, for each item, its piece's index among these (2 bytes). `first`
 * is the number of the segment's first piece.
 */
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
  // An empty batch still reads a piece.
  if (count === 0) found.set(0, 0);
  return { pieces: [...found.keys()], places };
}
