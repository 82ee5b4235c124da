import { positionsOfHashes } from '#bloom';
import { deadlineIn } from '../../clock.js';
import { StaleFilterError, StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { hashesOf } from '../../queued-hashes.js';
import { shared } from '../../shared-work.js';
import type { Connection } from '../connection/connection.js';
import type { ItemCalls } from '../items/item-calls.js';
import { perChunk } from '../items/per-chunk.js';
import { type RedisFilter, segmentKeysOf } from '../layout/filter.js';
import { owedKey } from '../layout/keys.js';
import type { Born } from '../queue/queue-entry.js';
import { NOTES } from '../scripts/sync.js';
import { removeUnclaimedScript } from '../scripts/unclaimed.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import { STEP_MS } from '../segments/sync-ends.js';
import type { RedisSource } from '../transfer/export-source.js';
import { readNotes } from './sync-queue.js';

/** Bytes of a birth, and of an entry in the notes for the commit and in removeUnclaimedScript. */
const BIRTH_BYTES = 6;
const BORN_BYTES = BIRTH_BYTES + 16;

interface Parts {
  readonly connection: Connection;
  readonly segments: Segments;
  readonly itemCalls: ItemCalls;
  readonly sweeper: Sweeper;
  source(filter: RedisFilter): RedisSource;
}

/**
 * Removes scheduled entries of items that a committed sync has forgotten (scripts/unclaimed.ts). This includes entries
 * that came due while the sync was open, unless the sync has their items. Births and hashes identify entries. The hash
 * alone is not enough: in a set that ages, an expired item may have a later entry that was never scheduled.
 */
export class Unclaimed {
  /** Removals in progress, by generation and first layer. */
  private readonly removals = new Map<string, Promise<void>>();

  constructor(private readonly parts: Parts) {}

  /** Callers that wait for the same set share the work. */
  async remove(filter: RedisFilter): Promise<void> {
    if (!filter.queued) return;
    const id = `${filter.generation} ${filter.base}`;
    await shared(this.removals, id, async () => {
      await joinAll(filter.segments.map((_, segment) => this.removeIn(filter, segment))).catch(ignoreLoss);
    });
  }

  private async removeIn(filter: RedisFilter, segment: number): Promise<void> {
    for (let run = ''; ;) {
      const step = async (entries: readonly Born[], isLast = false): Promise<string> => {
        const args = [packed(entries), run, isLast ? '1' : ''];
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
      let isSameRun = true;
      for await (const entries of this.scheduledIn(filter, segment)) {
        const unclaimed = await this.unclaimed(filter, entries);
        // Runs the step even without entries, so that no entry comes due in the meantime. In another server run, it
        // changes nothing. Checking only the last step would not be enough: a slot may move away and back.
        isSameRun = (await step(unclaimed)) === run;
        if (!isSameRun) break;
        removed += unclaimed.length;
      }
      if (removed > 0) this.parts.sweeper.marked(filter, [segment]);
      if (isSameRun && (await step([], true)) === '') return;
    }
  }

  /** The scheduled entries, and those that came due while the sync was open. */
  private async *scheduledIn(filter: RedisFilter, segment: number): AsyncGenerator<Born[], void, undefined> {
    yield* this.parts
      .source(filter)
      .readerOf(segment)
      .scheduled(filter.perHost !== undefined);
    const keys = segmentKeysOf(filter, segment);
    const all = [keys.cells, keys.meta, owedKey(keys, filter.base)];
    for (let last: string = NOTES.cameDue.after, more = true; more;) {
      const { token } = filter.viewOf(segment);
      const page = await readNotes(this.parts.connection, filter, all, token, [last, NOTES.cameDue.to]);
      yield bornIn(page.notes);
      more = page.last !== last;
      last = page.last;
    }
  }

  /** The entries whose items the filter does not claim. */
  private async unclaimed(filter: RedisFilter, entries: readonly Born[]): Promise<Born[]> {
    if (entries.length === 0) return [];
    const { itemCalls } = this.parts;
    const positions = positionsOfHashes(hashesOf(entries), filter.geometry);
    const claimed = await perChunk(filter, positions, filter.itemsPerScript, (chunk) =>
      itemCalls.read('check', filter, positions, chunk, deadlineIn(STEP_MS)),
    );
    return entries.filter((_, n) => claimed[n] === 0);
  }
}

/** Packs each entry as its birth and its item's hash. */
function packed(entries: readonly Born[]): Buffer {
  const bytes = Buffer.alloc(BORN_BYTES * entries.length);
  for (const [n, { birth, hash }] of entries.entries()) {
    bytes.writeUIntBE(birth, BORN_BYTES * n, BIRTH_BYTES);
    bytes.set(hash, BORN_BYTES * n + BIRTH_BYTES);
  }
  return bytes;
}

function bornIn(notes: Buffer): Born[] {
  return Array.from({ length: notes.length / BORN_BYTES }, (_, n) => {
    const at = BORN_BYTES * n;
    const hash = notes.subarray(at + BIRTH_BYTES, at + BORN_BYTES);
    return { birth: notes.readUIntBE(at, BIRTH_BYTES), hash };
  });
}

/** If the set was cleared or dropped in the meantime, its entries are gone too. */
function ignoreLoss(error: unknown): void {
  const isGone = error instanceof StoreError && error.code === 'FILTER_NOT_FOUND';
  if (!isGone && !(error instanceof StaleFilterError)) throw error;
}
