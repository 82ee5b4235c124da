import { segmentBytes } from '#bloom';
import { busy } from '../refusals.js';
import type { CallCounts, Part, QueuedItem } from '../store.js';
import type { Claim } from './claim.js';
import type { Connection } from './connection.js';
import { queueKeys, segmentKeys, type SegmentKeys } from './keys.js';
import { writeEntry } from './queue-entry.js';
import { importCellsScript, importCountsScript, importQueueScript } from './scripts/transfer.js';
import type { Script } from './scripts/script.js';

/**
 * Limits on the entries and bytes of cells that a script gets, so that none holds the server much longer than a
 * millisecond.
 */
const ENTRIES_PER_SCRIPT = 200;
const BYTES_PER_SCRIPT = 2 ** 20;

/** Fills the segments of a filter that is being made. Each segment is made when its first part arrives. */
export class RedisImport {
  private readonly segments: {
    readonly keys: SegmentKeys;
    filled: number;
    /** Scripts that have queued some. */
    queued: number;
    nonZero: number;
    saturated: number;
  }[] = [];
  private counts: CallCounts = { items: 0, added: 0, duplicate: 0, removed: 0, refused: 0 };

  constructor(
    private readonly connection: Connection,
    private readonly claim: Claim,
    private readonly timeoutMs: number,
  ) {}

  async take(part: Part): Promise<void> {
    await this.claim.renew(this.deadline);
    if (part.type === 'counts') {
      this.counts = part.counts;
      return;
    }
    const segment = await this.segment(part.segment);
    const { keys } = segment;
    if (part.type === 'queue') {
      for (let at = 0; at < part.entries.length; at += ENTRIES_PER_SCRIPT) {
        const packed = packEntries(part.entries.slice(at, at + ENTRIES_PER_SCRIPT));
        const all = [keys.cells, keys.meta, ...queueKeys(keys)];
        await this.run(importQueueScript, all, [segment.queued++, packed]);
      }
      return;
    }
    for (let at = 0; at < part.cells.length; at += BYTES_PER_SCRIPT) {
      const cells = Buffer.from(part.cells.subarray(at, at + BYTES_PER_SCRIPT));
      await this.run(importCellsScript, [keys.cells, keys.meta], [segment.filled, cells]);
      segment.filled += cells.length;
    }
    segment.nonZero += part.nonZero;
    segment.saturated += part.saturated;
  }

  /**
   * Writes the counts. The cells of a segment tell which of them are not zero or saturated. The other counts are known
   * for the whole filter, and only their sums are ever read. But the items of a segment must not fall below zero when
   * items are removed, so each segment gets a share of them in proportion to its cells.
   */
  async finish(): Promise<void> {
    const { items, ...calls } = this.counts;
    let cellsLeft = this.segments.reduce((sum, { nonZero }) => sum + nonZero, 0);
    let itemsLeft = items;
    for (const [index, { keys, nonZero, saturated }] of this.segments.entries()) {
      const share = cellsLeft > 0 ? Math.round((itemsLeft * nonZero) / cellsLeft) : itemsLeft;
      cellsLeft -= nonZero;
      itemsLeft -= share;
      const counts = { items: share, nonzero: nonZero, saturated, ...(index === 0 ? calls : {}) };
      await this.run(importCountsScript, [keys.cells, keys.meta], Object.entries(counts).flat());
    }
  }

  private async segment(index: number) {
    const known = this.segments[index];
    if (known) return known;
    await this.claim.allocate(index, this.deadline);
    const keys = segmentKeys(this.claim.entry.tags[index] as string);
    return (this.segments[index] = { keys, filled: 0, queued: 0, nonZero: 0, saturated: 0 });
  }

  private async run(script: Script, keys: string[], args: (string | number | Buffer)[]): Promise<void> {
    const { generation, geometry, name } = this.claim.entry;
    const values = [generation, segmentBytes(geometry), ...args];
    const reply = await this.connection.mutate(script, keys, values, this.deadline);
    if (reply === 'OK') return;
    if (reply === 'LOST') throw busy(name, 'was taken over while it was imported');
    throw new Error(`unexpected reply of a script: ${String(reply).slice(0, 80)}`);
  }

  private get deadline(): number {
    return Date.now() + this.timeoutMs;
  }
}

/** Per entry the length of its reason, the reason and the entry. */
function packEntries(entries: readonly QueuedItem[]): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const reason = Buffer.from(entry.reason ?? '');
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reason.length);
      return [length, reason, writeEntry(entry)];
    }),
  );
}
