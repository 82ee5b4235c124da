import type { Positions } from '#bloom';
import { StoreError } from '../../errors.js';
import { called, syncEnded } from '../../refusals.js';
import type { Operation } from '../../port/index.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { SyncChanges } from '../catalogue/sync-changes.js';
import type { Connection } from '../connection/connection.js';
import type { ChunkCall, ItemCalls } from '../items/item-calls.js';
import { countInSegments, countUnlisted, perChunk } from '../items/per-chunk.js';
import type { RedisFilter } from '../layout/filter.js';
import type { Answer, Segments } from '../segments/segments.js';
import { stateOf, type SyncEnds } from '../segments/sync-ends.js';
import type { SyncSums } from '../segments/sync-sums.js';
import type { NotedCalls } from './noted-calls.js';
import { keepField } from './sync-queue.js';

/** Maximum age of the sync's item counts when they decide whether its layers have room, in ms. */
const ITEMS_SEEN_FOR_MS = 1_000;
/** Error codes of a sync that accepts no more items. Repeats still get their answers from its records. */
const OVER: readonly string[] = ['SYNC_ENDED', 'SYNC_NOT_FOUND'];

interface Parts {
  readonly connection: Connection;
  readonly catalogue: Catalogue;
  readonly changes: SyncChanges;
  readonly sums: SyncSums;
  readonly ends: SyncEnds;
  readonly segments: Segments;
  readonly itemCalls: ItemCalls;
  readonly calls: NotedCalls;
}

/** Keeps items in an open sync: adds them to the sync's layers. */
export class Keeping {
  constructor(private readonly parts: Parts) {}

  async keep(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
    hosts?: readonly string[],
  ): Promise<Uint8Array> {
    try {
      return await this.keepAll(filter, id, positions, operation, hosts);
    } catch (error) {
      const isOver = error instanceof StoreError && OVER.includes(error.code);
      const known = isOver ? await this.recall(filter, positions, operation) : undefined;
      if (!known) throw error;
      return known;
    }
  }

  private async keepAll(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
    hosts: readonly string[] | undefined,
  ): Promise<Uint8Array> {
    const { deadline } = operation;
    if (!filter.known.takesPartIn(id)) await this.learn(filter, id, deadline);
    await this.parts.segments.begin(filter, operation, 'keep');
    await this.refuseOverfull(filter, id, positions, operation);
    await this.parts.calls.note(filter, id, deadline);
    return perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const field = keepField(operation, chunk.number);
      return this.keepChunk({ filter, positions, chunk, operation, field }, id, true, hosts);
    });
  }

  /** An operation's recorded answers, or undefined unless all of its items were kept. */
  private async recall(
    filter: RedisFilter,
    positions: Positions,
    operation: Operation,
  ): Promise<Uint8Array | undefined> {
    if (!operation.repeat) return undefined;
    const missing: number[] = [];
    const answers = await perChunk(
      filter,
      positions,
      filter.itemsPerScript,
      async ({ segment, number, indexes }) => {
        const field = keepField(operation, number);
        const known = await this.parts.segments.recall({ filter, segment, operation, field });
        if (!known) missing.push(number);
        return known ?? { answers: '0'.repeat(indexes.length), items: 0, sweep: false };
      },
    );
    return missing.length === 0 ? answers : undefined;
  }

  /** Makes the handle use this sync in all segments. Throws SYNC_NOT_FOUND or SYNC_ENDED. */
  private async learn(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    const { entry } = await this.parts.catalogue.learn(filter, deadline);
    const { sync } = entry;
    if (sync?.id !== id) throw syncEnded(filter, await this.parts.ends.of(entry, id, deadline));
    if (sync.stage === 'opening') throw stillOpening(filter, id);
    if (sync.stage === 'abandoning') {
      await this.parts.changes.goOn(filter.name, deadline);
      return this.learn(filter, id, deadline);
    }
    if (sync.stage !== 'open') throw syncEnded(filter, { id, state: stateOf(sync) });
    filter.known.takePart();
  }

  /** Keeps the items of one script's share of a batch. Throws SYNC_ENDED if the sync has ended. */
  async keepChunk(call: ChunkCall, id: string, counted: boolean, hosts?: readonly string[]): Promise<Answer> {
    for (;;) {
      const answer = await this.parts.itemCalls.keep(call, id, counted, hosts);
      if (answer) return answer;
      await this.rejoin(call.filter, id, call.operation.deadline);
    }
  }

  /**
   * Makes the handle use a sync again. Call it if the handle lacked the sync in a segment, or if a segment reported
   * that it can't note any more removals. Abandons the sync only if the segments themselves say that it can't continue.
   * Throws SYNC_ENDED if it has ended.
   */
  private async rejoin(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    const read = await this.parts.catalogue.learn(filter, deadline);
    const { sync } = read.entry;
    if (sync?.id === id && sync.stage === 'open') {
      const sums = await this.parts.sums.of(filter, sync, deadline);
      if (!sums || sums.full) await this.parts.ends.abandonUnlessChanged(read, id, sums, deadline);
    }
    await this.learn(filter, id, deadline);
  }

  /**
   * Throws FILTER_FULL if the sync's layers have too little room, unless an earlier attempt has kept the whole batch.
   * `queued`: the items are from the queue, where expired ones are not kept and need no room.
   */
  async refuseOverfull(
    filter: RedisFilter,
    id: string,
    positions: Positions,
    operation: Operation,
    queued = false,
  ): Promise<void> {
    const { deadline } = operation;
    const { sync } = filter;
    // If the sync has ended, the segments will report that.
    if (sync?.id !== id) return;
    const { stack } = sync;
    if (!stack.isCountedSince(this.parts.connection.now() - ITEMS_SEEN_FOR_MS)) {
      await this.parts.sums.of(filter, sync, deadline);
      stack.counted(this.parts.connection.now());
    }
    if (stack.takes(countInSegments(filter, positions))) return;
    // Items that are already kept need no room.
    const absent = await countUnlisted(this.parts.itemCalls, filter, positions, deadline, queued);
    // Counting may have shown that the sync has ended.
    if (filter.sync !== sync) return;
    if (stack.takes(absent) || (await this.recall(filter, positions, operation))) return;
    throw stack.fullFor(filter, absent);
  }
}

/** The error for a call on a sync that is still being opened. */
export function stillOpening(filter: RedisFilter, id: string): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `sync ${id} of ${called(filter)} is still being opened; retry`);
}
