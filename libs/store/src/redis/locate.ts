import { positionsOfHashes, type Positions, relocate, segmentBytes } from '#bloom';
import type { RedisFilter, RedisList } from './filter.js';
import { pieceKey } from './keys.js';
import { type Chunk, isWide, packItems } from './packing.js';
import type { LayerShape } from './scripts/layers.js';
import { segmentKeysOf } from './segments.js';

type Value = string | number | Buffer;

/** A chunk's items in all layers that a list is known to have. */
export interface Located {
  readonly shapes: readonly LayerShape[];
  /** Those of the first layer, if that has no ARGV of its own; else empty. */
  readonly packed: Buffer | '';
  /** Of the others: the keys of pieces that the items touch, and ARGV. */
  readonly keys: readonly string[];
  readonly args: readonly Value[];
}

/**
 * `own`: of the filter's own list, whose first layer's key every script has, so that it needs no ARGV of its own if that has but
 * one piece.
 */
export function locate(
  filter: RedisFilter,
  list: RedisList,
  positions: Positions,
  { segment, indexes }: Chunk,
  own: boolean,
): Located {
  const [{ geometry: first }] = list.plan;
  const shapes: LayerShape[] = [];
  const keys: string[] = [];
  const args: Value[] = [];
  const here = own ? undefined : inList(filter, list, positions, indexes);
  let packed: Buffer | '' = '';
  let all: Uint32Array | undefined;
  for (const [number, { geometry }] of list.known.entries()) {
    const pieces = list.piecesOf(number);
    const aged = geometry.cellBits === 8;
    shapes.push({
      hashes: geometry.hashes,
      wide: isWide(geometry),
      split: pieces > 1,
      ...(aged && { aged }),
    });
    if (own && number === 0 && pieces === 1) {
      packed = packItems(positions, indexes, first);
      continue;
    }
    const relocated = here ? relocate(here, geometry) : relocate(positions, geometry, indexes);
    const touched = pieces > 1 ? touchedPieces(relocated, segment * pieces) : { pieces: [0], places: '' };
    const segmentKeys = segmentKeysOf(filter, segment);
    keys.push(...touched.pieces.map((piece) => pieceKey(segmentKeys, list.base + number, piece)));
    args.push(segmentBytes(geometry), touched.pieces.length, list.shareOf(number));
    all ??= Uint32Array.from(indexes.keys());
    args.push(packItems(relocated, all, geometry), touched.places);
    if (aged) args.push(list.cellsOf(number));
  }
  return { shapes, packed, keys, args };
}

/** The positions of some items in the first layer of the list of a sync. */
function inList(
  { geometry: own }: RedisFilter,
  { plan }: RedisList,
  positions: Positions,
  indexes: Uint32Array,
): Positions {
  const [{ geometry }] = plan;
  const same = own.hashes === geometry.hashes && own.pageCells === geometry.pageCells;
  return same ? relocate(positions, geometry, indexes) : positionsOfHashes(positions.hash, geometry, indexes);
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
  // A batch without items still asks for a piece.
  if (count === 0) found.set(0, 0);
  return { pieces: [...found.keys()], places };
}
