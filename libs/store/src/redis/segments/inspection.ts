import type { ChainableCommander } from 'ioredis';
import { type Geometry, pageBytes, type Positions, relocate, segmentBytes } from '#bloom';
import { epochMs } from '../../age.js';
import {
  cellIndex,
  drawPages,
  findingIn,
  type PagePlace,
  type Present,
  SampleTally,
} from '../../found-cells.js';
import type { Finding, Inspection, LayerFinding, LayerSample, Filter } from '../../port/index.js';
import { msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { called } from '../../refusals.js';
import { joinAll } from '../../join-all.js';
import type { Connection } from '../connection/connection.js';
import { RedisFilter, segmentKeysOf } from '../layout/filter.js';
import type { Growth } from '../catalogue/growth.js';
import { hiddenKey, pieceKey } from '../layout/keys.js';
import { type Chunk, dealChunks, packHashes, segmentsOf } from '../layout/packing.js';
import { together } from '../connection/transaction.js';
import type { Views } from '../catalogue/views.js';

/**
 * Maximum number of cells that one transaction reads, unless one item has more. This takes a few hundred µs of server
 * time.
 */
const MOST_CELLS = 2_000;

const HASH_BYTES = 16;

/** A segment's meta at the time of a transaction. */
interface Kept {
  /** The segment's open layer, numbered among the filter's own. */
  readonly open: number;
  /** Only if the filter ages. */
  readonly present: Present | undefined;
  /** Replies of the other commands. */
  readonly replies: unknown[];
}

/** A piece of a layer for a transaction to read: its key and its length. */
interface Piece {
  readonly key: string;
  readonly bytes: number;
}

/**
 * See the port for each method's guarantees. One transaction of plain commands reads a segment, and any other client
 * can do the same (docs/redis-layout.md). The generation and the lengths of the pieces date from the same moment as the
 * data.
 */
export class RedisInspection implements Inspection {
  constructor(
    private readonly connection: Connection,
    private readonly views: Views,
    private readonly growth: Growth,
  ) {}

  async explain(handle: Filter, positions: Positions, deadline: number): Promise<Finding[]> {
    const filter = RedisFilter.of(handle);
    const { stack, spread } = filter;
    await this.knowLayers(filter, deadline);
    const size = Math.max(1, Math.floor(MOST_CELLS / (stack.made * positions.hashes)));
    const found = new Array<Finding>(positions.count);
    const chunks = dealChunks(segmentsOf(positions, stack.piecesOf(0)), spread, size);
    await joinAll(
      chunks.map(async (some) => {
        for (const chunk of some) {
          const findings = await this.explainChunk(filter, positions, chunk, deadline);
          chunk.indexes.forEach((index, n) => (found[index] = findings[n] as Finding));
        }
      }),
    );
    return found;
  }

  async sample(handle: Filter, deadline: number): Promise<LayerSample[]> {
    const filter = RedisFilter.of(handle);
    await this.knowLayers(filter, deadline);
    const { stack } = filter;
    const layers = stack.layers.map(({ geometry }) => geometry);
    const tallies = layers.map((geometry) => new SampleTally(geometry));
    const bySegment = new Map<number, (PagePlace & { layer: number })[]>();
    for (const [layer, places] of drawPages(layers).entries()) {
      for (const place of places) {
        const segment = Math.floor(place.segment / stack.piecesOf(layer));
        bySegment.set(segment, [...(bySegment.get(segment) ?? []), { ...place, layer }]);
      }
    }
    await joinAll(
      [...bySegment].map(([segment, places]) => this.samplePages(filter, segment, places, tallies, deadline)),
    );
    return tallies.map(({ sample }) => sample);
  }

  /** Reads the filter's number of layers, if it may have several. */
  private async knowLayers(filter: RedisFilter, deadline: number): Promise<void> {
    if (filter.layers) await this.growth.refresh(filter, deadline);
  }

  private async explainChunk(
    filter: RedisFilter,
    positions: Positions,
    chunk: Chunk,
    deadline: number,
  ): Promise<Finding[]> {
    const { segment, indexes } = chunk;
    const { stack, maxAgeSeconds } = filter;
    const keys = segmentKeysOf(filter, segment);
    const layers = stack.layers.map(({ geometry }) => ({
      geometry,
      here: relocate(positions, geometry, indexes),
    }));
    const hashes = packHashes(positions, indexes);
    const pieces: (Piece & { layer: number; items: readonly number[] })[] = [];
    for (const [layer, { geometry, here }] of layers.entries()) {
      for (const [piece, items] of byPiece(here.segment, stack.piecesOf(layer))) {
        const key = pieceKey(keys, stack.base + layer, piece);
        pieces.push({ key, bytes: segmentBytes(geometry), layer, items });
      }
    }
    const { open, present, replies } = await this.read(filter, segment, pieces, deadline, (transaction) => {
      for (const { key, layer, items } of pieces) {
        const { geometry, here } = layers[layer] as (typeof layers)[0];
        if (items.length === 0) continue;
        transaction.bitfield_ro(key, ...getsOf(geometry, here, items));
      }
      if (maxAgeSeconds === undefined || indexes.length === 0) return;
      const members = Array.from(indexes, (_, n) => hashes.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES));
      transaction.zmscore(hiddenKey(keys, stack.base), ...members);
    });
    if (open >= layers.length) {
      // Another instance has opened a layer since the call began.
      assertInTime(filter, deadline);
      await this.growth.refresh(filter, deadline);
      return this.explainChunk(filter, positions, chunk, deadline);
    }
    const found = Array.from(indexes, (): LayerFinding[] => []);
    for (const { key, layer, items } of pieces) {
      if (items.length === 0) continue;
      const { geometry, here } = layers[layer] as (typeof layers)[0];
      const values = (replies.shift() as unknown[]).map(Number);
      for (const n of items) {
        const stamp = present ? swapped(values.shift() ?? 0) : 0;
        const stored = values.splice(0, here.hashes);
        const finding = findingIn(geometry, here, n, stored, present && { ...present, stamp });
        (found[n] as LayerFinding[])[layer] = { ...finding, key };
      }
    }
    const until = (present && (replies.shift() as (string | number | null)[] | undefined)) ?? [];
    return found.map((some, n) => {
      const claimed = some.some(({ claims }) => claims);
      const last = until[n] ?? null;
      const hidden = claimed && present !== undefined && last !== null && Number(last) >= present.epoch;
      return { present: claimed && !hidden, hidden, layers: some };
    });
  }

  private async samplePages(
    filter: RedisFilter,
    segment: number,
    places: readonly (PagePlace & { layer: number })[],
    tallies: readonly SampleTally[],
    deadline: number,
  ): Promise<void> {
    const { stack } = filter;
    const keys = segmentKeysOf(filter, segment);
    const geometryOf = (layer: number): Geometry => (stack.plan[layer] as (typeof stack.plan)[0]).geometry;
    const located = places.map(({ layer, segment: own, page }) => {
      const key = pieceKey(keys, stack.base + layer, own % stack.piecesOf(layer));
      return {
        layer,
        key,
        bytes: segmentBytes(geometryOf(layer)),
        from: page * pageBytes(geometryOf(layer)),
      };
    });
    const pieces = [...new Map(located.map((place) => [place.key, place])).values()];
    const { open, present, replies } = await this.read(filter, segment, pieces, deadline, (transaction) => {
      for (const { key, layer, from } of located) {
        transaction.getrangeBuffer(key, from, from + pageBytes(geometryOf(layer)) - 1);
      }
    });
    for (const [n, { layer }] of located.entries()) {
      const tally = tallies[layer] as SampleTally;
      const page = replies[n] as Buffer;
      if (layer > open && page.length === 0) tally.countEmpty();
      else tally.count(page, 0, present?.epoch ?? 0);
    }
  }

  /**
   * The replies to `ask`, read in one transaction. It also checks that the segment belongs to the filter, and that all
   * pieces are whole. Layers after the open one have no items in this segment, so their pieces may be missing.
   */
  private async read(
    filter: RedisFilter,
    segment: number,
    pieces: readonly (Piece & { layer: number })[],
    deadline: number,
    ask: (transaction: ChainableCommander) => void,
  ): Promise<Kept> {
    const { stack, maxAgeSeconds } = filter;
    const { meta, ...keys } = segmentKeysOf(filter, segment);
    const ages = maxAgeSeconds !== undefined;
    for (let view = filter.viewOf(segment); ;) {
      const answers = await this.connection.repeat(() => {
        const transaction = this.connection.client.multi();
        transaction.hmget(meta, 'generation', 'items', 'open', 'epoch');
        transaction.time();
        // Other filters don't have this key, and a command must not name a missing key while its slot moves.
        transaction.exists(ages ? hiddenKey(keys, stack.base) : meta);
        for (const { key } of pieces) transaction.strlen(key);
        ask(transaction);
        return together(transaction);
      }, deadline);
      const [kept, time, hasHidden, ...rest] = answers as [(string | null)[], (string | number)[], number];
      const [generation, items, opened, epoch] = kept;
      const sizes = (rest as unknown[]).slice(0, pieces.length);
      const open = Number(opened ?? 0);
      const whole = pieces.every(
        ({ bytes, layer }, n) => sizes[n] === bytes || (sizes[n] === 0 && layer > open),
      );
      if (generation === view.token && items !== null && whole && hasHidden === 1) {
        const now = msOf(time) + this.connection.aheadMs;
        const present = maxAgeSeconds === undefined ? undefined : presentOf(maxAgeSeconds, now, epoch);
        return { open, present, replies: (rest as unknown[]).slice(pieces.length) };
      }
      view = await this.views.look(view, deadline);
    }
  }
}

/** Throws STORE_UNAVAILABLE after the deadline. */
function assertInTime(filter: RedisFilter, deadline: number): void {
  if (msUntil(deadline) < 0)
    throw new StoreError('STORE_UNAVAILABLE', `${called(filter)} kept changing during the call; retry`);
}

/** Indexes of a batch's items, by their segment's piece. */
function byPiece(segment: Uint32Array, pieces: number): Map<number, number[]> {
  const found = new Map<number, number[]>();
  segment.forEach((one, n) => {
    const piece = one % pieces;
    const items = found.get(piece);
    if (items) items.push(n);
    else found.set(piece, [n]);
  });
  // Even an empty batch reads the segment.
  if (found.size === 0) found.set(0, []);
  return found;
}

/** The GETs for BITFIELD_RO: for each item its page's stamp, if it has one, and its cells. */
function getsOf(
  geometry: Geometry,
  { hashes: k, page, cell }: Positions,
  items: readonly number[],
): ['GET', ...(string | number)[]] {
  const { cellBits } = geometry;
  const gets: (string | number)[] = [];
  for (const n of items) {
    const at = page[n] as number;
    if (cellBits === 8) gets.push('GET', 'u32', at * pageBytes(geometry) * 8);
    for (let j = 0; j < k; j++) {
      gets.push('GET', `u${cellBits}`, `#${cellIndex(geometry, at, cell[n * k + j] as number)}`);
    }
  }
  return ['GET', ...gets.slice(1)];
}

/** BITFIELD reads the highest byte first, but a stamp starts with the lowest. */
function swapped(value: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.readUInt32LE();
}

/** The reply to TIME, in ms since the epoch. */
function msOf([seconds, micros]: readonly (string | number)[]): number {
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** The current epoch of a filter that ages, as in its scripts. */
function presentOf(maxAgeSeconds: number, now: number, epoch: string | null | undefined): Present {
  const length = epochMs(maxAgeSeconds);
  return { epoch: Math.max(Number(epoch ?? 0), Math.floor(now / length)), epochMs: length };
}
