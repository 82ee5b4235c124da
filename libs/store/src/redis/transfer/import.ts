import { cellCount, type Geometry, type Layer, segmentBytes, segmentsPerRun } from '#bloom';
import { CYCLE, epochMs, Expiring, itemsFromCells } from '../../age.js';
import { deadlineIn } from '../../clock.js';
import { assertEntryHosts, busy, importHides, importHosts } from '../../refusals.js';
import type { CallCounts, Part, Quota } from '../../port/index.js';
import type { Claim } from '../catalogue/claim.js';
import type { Connection } from '../connection/connection.js';
import { hiddenKey, pieceKey, queueKeys, segmentKeys, type SegmentKeys } from '../layout/keys.js';
import { packEntries, packHosts } from './packed-queue.js';
import { importCellsScript, importCountsScript, importQueueScript } from '../scripts/transfer.js';
import { countOf } from '../scripts/script.js';
import type { Script } from '../scripts/script.js';
import { hostLimits, LANES_PER_SCRIPT } from '../scripts/host-lanes.js';
import { scriptFor } from '../scripts/queue-state.js';
import { importHostsScript } from '../scripts/transfer-hosts.js';

/**
 * Limits on one script's entries and bytes of cells, so that no script blocks the server for much more than a
 * millisecond.
 */
const ENTRIES_PER_SCRIPT = 200;
const BYTES_PER_SCRIPT = 2 ** 20;

/** Limits on a set's queue and hidden items. */
export interface ImportLimits {
  readonly maxHidden: number;
  readonly maxHosts: number;
}

type QueuePart = Extract<Part, { type: 'queue' }>;

/** The state of a segment's layer during the import. */
interface Filled {
  /** Bytes of each piece. */
  readonly pieces: number[];
  /** If the filter ages: its cells by their last epoch. */
  readonly expiring: Expiring;
  nonZero: number;
  saturated: number;
}

/**
 * Fills the segments of a filter that is being created. Creates each segment, and each of its layers, with its first
 * part.
 */
export class RedisImport {
  private readonly segments: {
    readonly keys: SegmentKeys;
    /** Number of scripts that have queued entries. */
    queued: number;
    /** Oldest first. */
    readonly layers: Filled[];
  }[] = [];
  private hidden = 0;
  private counts: CallCounts = { items: 0, added: 0, duplicate: 0, removed: 0, refused: 0 };
  private layerItems: readonly number[] = [];

  constructor(
    private readonly connection: Connection,
    private readonly claim: Claim,
    private readonly timeoutMs: number,
    private readonly quota: Quota | undefined,
    private readonly limits: ImportLimits,
  ) {}

  async take(part: Part): Promise<void> {
    await this.claim.renew(this.deadline);
    if (part.type === 'counts') {
      this.counts = part.counts;
      this.layerItems = part.layerItems;
      return;
    }
    if (part.type === 'queue') {
      await this.takeQueue(part);
      return;
    }
    if (part.type === 'hidden') await this.hide(part);
    else await this.takeCells(part);
  }

  private async takeQueue({ segment: piece, entries, hosts = [] }: QueuePart): Promise<void> {
    const { entry } = this.claim;
    const segment = await this.segment(this.runOf(piece));
    const { keys } = segment;
    const all = [keys.cells, keys.meta, ...queueKeys(keys)];
    const limits = hostLimits({ ...entry, base: 0, spread: entry.tags.length }, this.limits.maxHosts);
    const run = (script: Script, args: (string | number | Buffer)[]) =>
      this.run(script, all, entry.geometry, [...args, ...limits]);
    const perScript = entry.perHost ? LANES_PER_SCRIPT : ENTRIES_PER_SCRIPT;
    const seed = entry.perHost && Buffer.from(entry.seed, 'hex');
    assertEntryHosts(entry, entries);
    for (let at = 0; at < entries.length; at += perScript) {
      const packed = packEntries(entries.slice(at, at + perScript), seed);
      await run(scriptFor(entry, importQueueScript), [segment.queued++, packed]);
    }
    if (!seed) return;
    for (let at = 0; at < hosts.length; at += LANES_PER_SCRIPT)
      await run(importHostsScript, [packHosts(hosts.slice(at, at + LANES_PER_SCRIPT), seed)]);
  }

  /** Drops hidden items whose epoch has already passed on this store. */
  private async hide({ segment: piece, items }: Extract<Part, { type: 'hidden' }>): Promise<void> {
    const { entry } = this.claim;
    const { name, maxAgeSeconds } = entry;
    if (maxAgeSeconds === undefined) throw new RangeError(`filter ${name} does not age`);
    const present = Math.floor(this.connection.now() / epochMs(maxAgeSeconds));
    this.hidden += items.length;
    if (this.hidden > this.limits.maxHidden) throw importHides(entry, this.hidden, this.limits.maxHidden);
    const { keys } = await this.segment(this.runOf(piece));
    // An item can't be hidden for longer than a cell can live.
    const members = items
      .filter(({ until }) => until >= present)
      .flatMap(({ hash, until }) => [Math.min(until, present + CYCLE - 1), Buffer.from(hash)]);
    for (let at = 0; at < members.length; at += 2 * ENTRIES_PER_SCRIPT) {
      const some = members.slice(at, at + 2 * ENTRIES_PER_SCRIPT);
      await this.connection.write('zadd', hiddenKey(keys, 0), some, this.deadline);
    }
  }

  /**
   * Writes the counts. A segment's cells give its numbers of non-zero and saturated cells. The other counts are known
   * only for the whole filter, and only their sums are ever read. But the number of items limits how many more a
   * segment takes, and must not fall below zero when items are removed. So each segment gets a share based on its
   * cells.
   */
  async finish(): Promise<void> {
    const { items: _, ...calls } = this.counts;
    const { made = 1 } = this.claim.entry;
    const counts = this.segments.map((): [string, number | Buffer][] => []);
    for (let layer = 0; layer < made; layer++) {
      const nonZeroIn = ({ layers }: (typeof this.segments)[0]): number => layers[layer]?.nonZero ?? 0;
      const estimates = this.segments.map((segment) => this.itemsFrom(nonZeroIn(segment), layer));
      let estimatesLeft = estimates.reduce((sum, items) => sum + items, 0);
      let itemsLeft = this.layerItems[layer] ?? 0;
      for (const [index, segment] of this.segments.entries()) {
        const nonZero = nonZeroIn(segment);
        const estimate = estimates[index] as number;
        const share = estimatesLeft > 0 ? Math.round((itemsLeft * estimate) / estimatesLeft) : itemsLeft;
        estimatesLeft -= estimate;
        itemsLeft -= share;
        counts[index]?.push(
          [countOf('items', layer), share],
          [countOf('nonzero', layer), nonZero],
          [countOf('saturated', layer), segment.layers[layer]?.saturated ?? 0],
        );
        // The exported filter had not opened the layer in this segment.
        if (layer > 0 && !segment.layers[layer]) {
          await this.claim.renew(this.deadline);
          await this.claim.allocateLayer(index, layer, this.deadline);
        }
      }
    }
    for (const [index, { layers }] of this.segments.entries()) counts[index]?.push(...this.ages(layers));
    for (const [index, { keys, layers }] of this.segments.entries()) {
      const open = layers.length > 1 ? [['open', layers.length - 1]] : [];
      const named = [...(counts[index] ?? []), ...open, ...(index === 0 ? Object.entries(calls) : [])];
      await this.run(importCountsScript, [keys.cells, keys.meta], this.claim.entry.geometry, named.flat());
    }
  }

  private async takeCells(part: Extract<Part, { type: 'cells' }>): Promise<void> {
    const { entry } = this.claim;
    const layer = (entry.layers ?? [entry])[part.layer];
    if (!layer) throw new RangeError(`filter ${entry.name} has no layer ${part.layer}`);
    const pieces = layer.geometry.segments / entry.tags.length;
    const index = Math.floor(part.segment / pieces);
    const piece = part.segment % pieces;
    const segment = await this.segment(index);
    const { keys } = segment;
    if ((entry.made ?? 1) <= part.layer) await this.claim.grow(part.layer + 1, this.deadline, this.quota);
    let filled = segment.layers[part.layer];
    if (!filled) {
      if (part.layer > 0) await this.claim.allocateLayer(index, part.layer, this.deadline);
      filled = segment.layers[part.layer] = {
        ...{ pieces: [], nonZero: 0, saturated: 0 },
        expiring: new Expiring(),
      };
    }
    if (entry.maxAgeSeconds !== undefined) filled.expiring.countPages(part.cells, layer.geometry);
    const key = pieceKey(keys, part.layer, piece);
    for (let at = 0; at < part.cells.length; at += BYTES_PER_SCRIPT) {
      const cells = Buffer.from(part.cells.subarray(at, at + BYTES_PER_SCRIPT));
      const from = filled.pieces[piece] ?? 0;
      await this.run(importCellsScript, [key, keys.meta], layer.geometry, [from, cells]);
      filled.pieces[piece] = from + cells.length;
    }
    filled.nonZero += part.nonZero;
    filled.saturated += part.saturated;
  }

  /** The meta fields for a segment of a filter that ages. A clock that was ahead may have stamped some pages. */
  private ages(layers: readonly Filled[]): [string, number | Buffer][] {
    const { entry } = this.claim;
    if (entry.maxAgeSeconds === undefined) return [];
    const now = Math.floor(this.connection.now() / epochMs(entry.maxAgeSeconds));
    const epoch = Math.max(now, ...layers.map(({ expiring }) => expiring.epoch));
    const fields: [string, number | Buffer][] = [['epoch', epoch]];
    for (const [layer, { expiring }] of layers.entries()) {
      const later = expiring.at(epoch);
      fields.push([countOf('ring', layer), packRing(later)]);
      fields.push([countOf('items', layer), this.itemsFrom(later.live, layer)]);
    }
    return fields;
  }

  /** Estimates a segment's items in a layer from its non-zero cells. */
  private itemsFrom(nonZero: number, layer: number): number {
    const { entry } = this.claim;
    const { geometry } = (entry.layers ?? [entry])[layer] as Pick<Layer, 'geometry'>;
    return itemsFromCells(nonZero, cellCount(geometry) / entry.tags.length, geometry);
  }

  /** The segment of the filter that contains a segment of its first layer. */
  private runOf(segment: number): number {
    return Math.floor(segment / segmentsPerRun(this.claim.entry.geometry));
  }

  private async segment(index: number) {
    const known = this.segments[index];
    if (known) return known;
    await this.claim.allocate(index, this.deadline);
    const { tags, perHost } = this.claim.entry;
    const keys = segmentKeys(tags[index] as string, 0, perHost !== undefined);
    return (this.segments[index] = { keys, queued: 0, layers: [] });
  }

  private async run(
    script: Script,
    keys: string[],
    geometry: Geometry,
    args: (string | number | Buffer)[],
  ): Promise<void> {
    const { entry } = this.claim;
    const values = [entry.generation, segmentBytes(geometry), ...args];
    const reply = await this.connection.mutate(script, keys, values, this.deadline);
    if (reply === 'OK') return;
    const [, hosts] = /^HOSTS (\d+)$/.exec(String(reply)) ?? [];
    if (hosts !== undefined) {
      const { length } = entry.tags;
      throw importHosts(entry, Number(hosts), Math.ceil(this.limits.maxHosts / length), length);
    }
    if (reply === 'LOST') throw busy(entry, 'was claimed by another request during the import');
    throw new Error(`unexpected reply from a script: ${String(reply).slice(0, 80)}`);
  }

  private get deadline(): number {
    return deadlineIn(this.timeoutMs);
  }
}

/** Packs the ring in meta's format (items/aged-cells.ts). */
function packRing(expiring: Expiring): Buffer {
  const ring = Buffer.alloc(4 * CYCLE);
  for (const [left, cells] of expiring.toArray().entries())
    ring.writeUInt32BE(cells, 4 * ((expiring.epoch + left) % CYCLE));
  return ring;
}
