import { type Geometry, segmentBytes, segmentOf } from '#bloom';
import { deadlineIn, msUntil } from '../../clock.js';
import type { QueuedItem } from '../../port/index.js';
import type { QueuePage, SegmentSnapshot, SegmentSource } from '../../transfer/export-parts.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { Connection } from '../connection/connection.js';
import { type RedisFilter, segmentKeysOf } from '../layout/filter.js';
import { hiddenKey, pieceKey, queueKeys } from '../layout/keys.js';
import { LanesReader } from '../queue/lanes-reader.js';
import { KINDS, QueueReader, type RawPage, type ReadPage } from '../queue/queue-reader.js';
import { HiddenItems } from './hidden-items.js';
import { countOf } from '../scripts/script.js';
import type { Script } from '../scripts/script.js';
import { exportHiddenScript } from '../scripts/transfer.js';
import { together } from '../connection/transaction.js';
import type { Views } from '../catalogue/views.js';

/**
 * Maximum number of times that `queue` repeats its last two steps if entries keep passing through the whole queue. Few
 * entries do, so it misses almost none.
 */
const ROUNDS = 10;

/** Approximate number of hidden items that one script reads. */
const PAGE_HIDDEN = 500;

const NO_COUNTS = { added: 0, duplicate: 0, removed: 0, refused: 0 };

/** Names of the counts in a segment's meta. */
const COUNTS = ['items', 'added', 'duplicate', 'removed', 'refused'];

/** Reads a filter for export. */
export class RedisSource implements SegmentSource {
  private readonly hidden = new HiddenItems(
    (segment, cursor) => this.readHidden(segment, cursor),
    (hash) => segmentOfHash(hash, this.filter.geometry),
  );

  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly views: Views,
    private readonly filter: RedisFilter,
    private readonly timeoutMs: number,
  ) {}

  snapshot(piece: number): Promise<SegmentSnapshot> {
    const read = () => this.snapshotOf(piece);
    if (this.filter.maxAgeSeconds === undefined) return read();
    return this.hidden.with(Math.floor(piece / this.filter.stack.piecesOf(0)), piece, read);
  }

  /**
   * Uses a transaction instead of a script, because Lua copies the cells three more times. On a busy machine, a script
   * blocked the server for 62 to 240 ms for 16 MiB, and GET for 10 to 50 ms.
   */
  private async snapshotOf(piece: number): Promise<SegmentSnapshot> {
    const { stack } = this.filter;
    const later = stack.plan.slice(1).map((_, n) => countOf('items', n + 1));
    const deadline = deadlineIn(this.timeoutMs);
    // The first layer may have several pieces in one of the filter's segments. The last piece carries the counts.
    const each = stack.piecesOf(0);
    const [segment, isLast] = [Math.floor(piece / each), piece % each === each - 1];
    let open = 0;
    for (;;) {
      const first = (piece % each) * (stack.piecesOf(open) / each);
      const names = [...COUNTS, 'open', ...later];
      const [kept, bytes] = await this.cellsOf(segment, open, first, names);
      const [items = 0, added = 0, duplicate = 0, removed = 0, refused = 0, found = 0, ...others] = kept;
      if (found === open) {
        const layerItems = [items, ...others.slice(0, open)];
        return {
          cells: bytes,
          counts: isLast ? { added, duplicate, removed, refused } : NO_COUNTS,
          layerItems: isLast ? layerItems : layerItems.map(() => 0),
          removals: removed,
        };
      }
      if (msUntil(deadline) < 0 || found >= stack.plan.length) {
        throw await this.catalogue.explainLoss(this.filter);
      }
      open = found;
    }
  }

  async layerCells(layer: number, segment: number): Promise<Uint8Array> {
    const { stack, name } = this.filter;
    if (!stack.plan[layer]) throw new RangeError(`filter ${name} has no layer ${layer}`);
    const pieces = stack.piecesOf(layer);
    return (await this.cellsOf(Math.floor(segment / pieces), layer, segment % pieces, []))[1];
  }

  /** Counts from a segment's meta, and the segment's cells, at one moment. */
  private async cellsOf(
    segment: number,
    layer: number,
    piece: number,
    counts: readonly string[],
  ): Promise<[counts: number[], cells: Uint8Array]> {
    const { stack } = this.filter;
    const { geometry } = stack.plan[layer] as (typeof stack.plan)[0];
    const keys = segmentKeysOf(this.filter, segment);
    const cells = pieceKey(keys, stack.base + layer, piece);
    for (let view = this.filter.viewOf(segment); ;) {
      const deadline = deadlineIn(this.timeoutMs);
      const [kept, bytes] = await this.connection.repeat(() => {
        const transaction = this.connection.client
          .multi()
          .hmget(keys.meta, 'generation', ...counts)
          .getBuffer(cells);
        return together(transaction);
      }, deadline);
      const [found, ...numbers] = kept as (string | null)[];
      if (found !== view.token) {
        view = await this.views.look(view, deadline);
        continue;
      }
      const whole = Buffer.isBuffer(bytes) && bytes.length === segmentBytes(geometry);
      if (!whole) throw await this.catalogue.explainLoss(this.filter);
      return [numbers.map(Number), bytes];
    }
  }

  /**
   * Reads in three steps. The first reads the waiting entries from head to end, the second the leased, delayed and dead
   * ones, and the third the entries that have joined the end since the first step.
   *
   * A waiting entry moves to a lease, and from there to the delayed entries, to the dead letters or back to the end.
   * Delayed entries and dead letters move to the end. So this misses an entry only if it was not waiting during the
   * first step and passed through the whole queue during the second. In that case, the last two steps are repeated.
   *
   * A position or cursor is valid only in the server run that gave it. So reading starts over after a failover, a
   * restart or the move of a slot.
   */
  async *queue(piece: number): AsyncGenerator<QueuePage, void, undefined> {
    const { stack, geometry } = this.filter;
    const each = stack.piecesOf(0);
    const isFirst = piece % each === 0;
    for await (const { entries, hosts = [], removals } of this.queueOf(Math.floor(piece / each), isFirst)) {
      const isHere = ({ hash }: QueuedItem) => segmentOfHash(Buffer.from(hash), geometry) === piece;
      yield { entries: each === 1 ? entries : entries.filter(isHere), hosts, removals };
    }
  }

  readerOf(segment: number): QueueReader {
    return new QueueReader(this.pagesOf(segment));
  }

  /** Reads the lanes of one of the filter's segments. The filter has `perHost`. */
  lanesOf(segment: number): LanesReader {
    return new LanesReader(this.pagesOf(segment));
  }

  /** Runs scripts that read pages of a segment's queue. */
  pagesOf(segment: number): ReadPage {
    const keys = queueKeys(segmentKeysOf(this.filter, segment));
    return (script, args) => this.readPage(script, segment, keys, args);
  }

  /** The queue of one of the filter's segments. With `withHosts`, the lanes of hosts come last. */
  private async *queueOf(segment: number, withHosts: boolean): AsyncGenerator<QueuePage, void, undefined> {
    const { perHost } = this.filter;
    const lanes = perHost && this.lanesOf(segment);
    const reader = lanes ?? this.readerOf(segment);
    yield* reader.waiting();
    // The leased, delayed and dead entries come next, and they include any entries taken so far.
    reader.overtaken();
    for (let round = 1; ; round++) {
      for (const kind of KINDS) yield* reader.rest(kind, perHost !== undefined);
      yield* reader.waiting();
      if (!reader.overtaken() || round === ROUNDS) break;
    }
    if (lanes && withHosts) yield* lanes.hosts(this.filter);
  }

  private readHidden(segment: number, cursor: string): Promise<RawPage> {
    const key = hiddenKey(segmentKeysOf(this.filter, segment), this.filter.stack.base);
    return this.readPage(exportHiddenScript, segment, [key], [cursor, PAGE_HIDDEN]);
  }

  private async readPage(
    script: Script,
    segment: number,
    more: string[],
    args: (string | number | Buffer)[],
  ): Promise<RawPage> {
    const { cells, meta } = segmentKeysOf(this.filter, segment);
    const [next, run, removals, bytes] = await this.run(script, segment, [cells, meta, ...more], args);
    if (!Buffer.isBuffer(bytes)) throw new Error('a script returned no page');
    return { next: String(next), run: String(run), removals: Number(removals), bytes };
  }

  private async run(
    script: Script,
    segment: number,
    keys: string[],
    args: (string | number | Buffer)[],
  ): Promise<unknown[]> {
    for (let view = this.filter.viewOf(segment); ;) {
      const deadline = deadlineIn(this.timeoutMs);
      const values = [view.token, this.filter.pieceBytes, ...args];
      const reply = await this.connection.run(script, keys, values, deadline, true);
      if (Array.isArray(reply)) return reply as unknown[];
      if (String(reply) !== 'LOST')
        throw new Error(`unexpected reply from a script: ${String(reply).slice(0, 80)}`);
      view = await this.views.look(view, deadline);
    }
  }
}

const segmentOfHash = (hash: Buffer, geometry: Geometry): number =>
  segmentOf(hash.readUInt32BE(), hash.readUInt32BE(4), geometry);
