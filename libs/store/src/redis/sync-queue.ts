import { randomBytes } from 'node:crypto';
import { positionsOfHashes } from '#bloom';
import { StoreError } from '../errors.js';
import { hashesOf } from '../queued-hashes.js';
import type { Operation, QueuedItem } from '../store.js';
import { within } from '../within.js';
import type { Connection } from './connection.js';
import { perChunk } from './counters.js';
import type { RedisSource } from './export-source.js';
import type { RedisFilter } from './filter.js';
import type { ChunkCall } from './layered-calls.js';
import type { Answer } from './segments.js';
import { segmentKeysOf } from './segments.js';
import { copiedScript } from './scripts/sync.js';
import { STEP_MS } from './sync-ends.js';
import type { SyncSums } from './sync-sums.js';

const ID_BYTES = 8;

/** Where the entries come from, and how they are kept. */
export interface QueueKeeper {
  readonly connection: Connection;
  readonly sums: SyncSums;
  source(filter: RedisFilter): RedisSource;
  /** Keeps some entries of the queue. Throws SYNC_ENDED. */
  keep(call: ChunkCall, id: string): Promise<Answer>;
}

/** The field of the record of a chunk that was kept. */
export const keepField = ({ id }: Operation, chunk: number) => `keep:${id}:${chunk}`;

/** Keeps what is in the queue of a visited set when a sync is opened: once for all that wait for it. */
export class SyncQueue {
  /** By id. */
  private readonly copies = new Map<string, Promise<void>>();

  constructor(private readonly keeper: QueueKeeper) {}

  /** Resolves once all is kept. STORE_UNAVAILABLE when time is up; it goes on. */
  async kept(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    if (!filter.queued) return;
    let copy = this.copies.get(id);
    if (!copy) {
      copy = this.copy(filter, id).finally(() => this.copies.delete(id));
      this.copies.set(id, copy);
      // Whoever waits for it hears of it.
      copy.catch(() => undefined);
    }
    const late = () => new StoreError('STORE_UNAVAILABLE', 'the queue is still being copied; try again');
    await within(deadline - Date.now(), copy, late);
  }

  private async copy(filter: RedisFilter, id: string): Promise<void> {
    const { connection, sums } = this.keeper;
    filter.takePart();
    const found = await sums.of(filter, id, Date.now() + STEP_MS);
    for (const segment of found?.uncopied ?? []) {
      for await (const { entries } of this.keeper.source(filter).queueOf(segment)) {
        if (entries.length > 0) await this.keepEntries(filter, id, entries);
      }
      const { cells, meta } = segmentKeysOf(filter, segment);
      const args = [filter.tokenOf(segment), filter.pieceBytes];
      await connection.mutate(copiedScript, [cells, meta], args, Date.now() + STEP_MS);
    }
  }

  private async keepEntries(filter: RedisFilter, id: string, entries: readonly QueuedItem[]): Promise<void> {
    const positions = positionsOfHashes(hashesOf(entries), filter.geometry);
    const now = Date.now();
    const operation: Operation = {
      ...{ id: `${id}:${randomBytes(ID_BYTES).toString('hex')}`, origin: 'made', fingerprint: id },
      ...{ repeat: false, madeAt: now, deadline: now + STEP_MS },
    };
    await perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const field = keepField(operation, chunk.number);
      return this.keeper.keep({ filter, positions, chunk, operation, field }, id);
    });
  }
}
