import { positionsOfHashes } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { hashesOf } from '../../queued-hashes.js';
import type { QueuedItem } from '../../port/index.js';
import type { Connection } from '../connection/connection.js';
import type { ItemCalls } from '../items/item-calls.js';
import { perChunk } from '../items/per-chunk.js';
import { type RedisFilter, segmentKeysOf } from '../layout/filter.js';
import { owedKey } from '../layout/keys.js';
import { removeUnclaimedScript } from '../scripts/unclaimed.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import { STEP_MS } from '../segments/sync-ends.js';
import type { RedisSource } from '../transfer/export-source.js';
import { readOwed } from './sync-queue.js';

type Queued = Pick<QueuedItem, 'hash'>;

interface Parts {
  readonly connection: Connection;
  readonly segments: Segments;
  readonly itemCalls: ItemCalls;
  readonly sweeper: Sweeper;
  source(filter: RedisFilter): RedisSource;
}

/**
 * Removes scheduled entries whose items a committed sync has forgotten: see scripts/unclaimed.ts. Entries that came due
 * while the sync was open are removed, too, unless the copy of the queue has kept their items.
 */
export class Unclaimed {
  /** By generation and first layer. */
  private readonly removals = new Map<string, Promise<void>>();

  constructor(private readonly parts: Parts) {}

  /** Callers that wait for the same set share the work. */
  async remove(filter: RedisFilter): Promise<void> {
    if (!filter.queued) return;
    const id = `${filter.generation} ${filter.base}`;
    let removal = this.removals.get(id);
    if (!removal) {
      const work = filter.segments.map((_, segment) => this.removeIn(filter, segment));
      removal = joinAll(work)
        .then(() => undefined)
        .catch(ignoreLoss)
        .finally(() => this.removals.delete(id));
      this.removals.set(id, removal);
    }
    await removal;
  }

  private async removeIn(filter: RedisFilter, segment: number): Promise<void> {
    for (let run = ''; ;) {
      const step = async (entries: readonly Queued[], isLast = false): Promise<string> => {
        const hashes = Buffer.concat(entries.map(({ hash }) => hash));
        const args = [hashes, run, isLast ? '1' : ''];
        return this.parts.segments.changeQueue(
          removeUnclaimedScript,
          filter,
          segment,
          args,
          deadlineIn(STEP_MS),
        );
      };
      run = '';
      run = await step([]);
      if (run === '') return;
      let removed = 0;
      for await (const entries of this.scheduledIn(filter, segment)) {
        const unclaimed = await this.unclaimed(filter, entries);
        // Even without entries, so that no entry comes due meanwhile. If it answers with another run, so does the last.
        await step(unclaimed);
        removed += unclaimed.length;
      }
      if (removed > 0) this.parts.sweeper.marked(filter, [segment]);
      if ((await step([], true)) === '') return;
    }
  }

  private async *scheduledIn(
    filter: RedisFilter,
    segment: number,
  ): AsyncGenerator<Queued[], void, undefined> {
    const reader = this.parts.source(filter).readerOf(segment);
    for await (const { entries } of reader.rest('delayed', filter.perHost !== undefined))
      yield entries.filter(({ scheduledAt }) => scheduledAt !== undefined);
    const keys = segmentKeysOf(filter, segment);
    const all = [keys.cells, keys.meta, owedKey(keys, filter.base)];
    for (let last = '0', more = true; more;) {
      const owed = await readOwed(this.parts.connection, filter, all, filter.viewOf(segment).token, last);
      yield owed.entries;
      more = owed.last !== last;
      last = owed.last;
    }
  }

  /** The entries whose items the filter does not claim. */
  private async unclaimed(filter: RedisFilter, entries: readonly Queued[]): Promise<Queued[]> {
    if (entries.length === 0) return [];
    const { itemCalls } = this.parts;
    const positions = positionsOfHashes(hashesOf(entries), filter.geometry);
    const claimed = await perChunk(filter, positions, filter.itemsPerScript, (chunk) =>
      itemCalls.read('check', filter, positions, chunk, deadlineIn(STEP_MS)),
    );
    return entries.filter((_, n) => claimed[n] === 0);
  }
}

/** The set was cleared or dropped in the meantime. The entries went with it. */
function ignoreLoss(error: unknown): void {
  const isGone = error instanceof StoreError && error.code === 'FILTER_NOT_FOUND';
  if (!isGone && !(error instanceof StaleFilterError)) throw error;
}
