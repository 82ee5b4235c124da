import type { Positions } from '#bloom';
import type { Clock } from '../../clock.js';
import { joinAll } from '../../join-all.js';
import { assertCounting, assertEntryIds, assertQueued, assertTtl } from '../../refusals.js';
import { Removed, type AddOptions, type Counters, type Filter, type Operation } from '../../port/index.js';
import { entryNamesOf } from '../layout/entry-names.js';
import { RedisFilter } from '../layout/filter.js';
import type { LayerStack } from '../layout/layer-stack.js';
import type { ItemCalls } from './item-calls.js';
import type { ItemCounts } from '../segments/item-counts.js';
import { itemsPerRead, segmentsOf } from '../layout/packing.js';
import { countDistinct, countInSegments, countUnlisted, perChunk } from './per-chunk.js';
import type { Segments } from '../segments/segments.js';
import type { Sweeper } from '../segments/sweeper.js';
import type { SyncEnds } from '../segments/sync-ends.js';

/** Maximum age of item counts when they decide whether the filter is full, in ms. */
const ITEMS_SEEN_FOR_MS = 1000;

/** A script's answer for a removed item. */
const REMOVED = String(Removed.Removed);

export class RedisCounters implements Counters {
  constructor(
    private readonly segments: Segments,
    private readonly itemCalls: ItemCalls,
    private readonly counts: ItemCounts,
    private readonly ends: SyncEnds,
    private readonly clock: Clock,
    private readonly sweeper: Sweeper,
  ) {}

  async add(
    handle: Filter,
    positions: Positions,
    operation: Operation,
    options: AddOptions = {},
  ): Promise<Uint8Array> {
    const filter = RedisFilter.of(handle);
    assertTtl(filter, options.ttlMs);
    assertQueued(filter, options, positions.count, options.ttlMs);
    await this.segments.begin(filter, operation, 'add');
    await this.refuseOverfull(filter, positions, operation);
    return perChunk(filter, positions, filter.itemsPerScript, (chunk) => {
      const call = { filter, positions, chunk, operation, field: addField(operation, chunk.number) };
      return this.itemCalls.add(call, options);
    });
  }

  async remove(
    handle: Filter,
    positions: Positions,
    operation: Operation,
    ids?: readonly string[],
  ): Promise<Uint8Array> {
    assertEntryIds(handle, ids, positions.count);
    const filter = RedisFilter.of(handle);
    assertCounting(filter);
    await this.segments.begin(filter, operation, 'remove');
    const names = ids && entryNamesOf(filter, ids, positions);
    return perChunk(filter, positions, filter.itemsPerScript, async (chunk) => {
      const field = `remove:${operation.id}:${chunk.number}`;
      const answer = await this.itemCalls.remove({ filter, positions, chunk, operation, field }, names);
      if (filter.queued && answer.answers.includes(REMOVED)) this.sweeper.marked(filter, [chunk.segment]);
      if (answer.sweep)
        await this.sweeper.goOn(filter, chunk.segment, chunk.indexes.length, operation.deadline);
      return answer;
    });
  }

  check(handle: Filter, positions: Positions, deadline: number): Promise<Uint8Array> {
    return this.read('check', RedisFilter.of(handle), positions, deadline);
  }

  async count(handle: Filter, positions: Positions, deadline: number): Promise<Uint8Array> {
    assertCounting(handle);
    return this.read('count', RedisFilter.of(handle), positions, deadline);
  }

  private read(
    verb: 'check' | 'count',
    filter: RedisFilter,
    positions: Positions,
    deadline: number,
  ): Promise<Uint8Array> {
    const known = [...filter.stack.layers, ...(filter.sync?.stack.layers ?? [])];
    const size = itemsPerRead(known.map((layer) => layer.geometry));
    return perChunk(filter, positions, size, (chunk) =>
      this.itemCalls.read(verb, filter, positions, chunk, deadline),
    );
  }

  /** Throws FILTER_FULL if the filter has no room for the batch, unless an earlier attempt has begun to add it. */
  private async refuseOverfull(
    filter: RedisFilter,
    positions: Positions,
    operation: Operation,
  ): Promise<void> {
    const { stack, sync } = filter;
    if (!stack.isCountedSince(this.clock.now() - ITEMS_SEEN_FOR_MS)) {
      await this.counts.refresh(filter);
      stack.counted(this.clock.now());
    }
    const most = countInSegments(filter, positions);
    const short = (of: LayerStack | undefined) => of !== undefined && !of.takes(most);
    if (short(stack)) {
      // Only absent items need room, and each of them only once.
      const present = await this.check(filter, positions, operation.deadline);
      const absent = countDistinct(filter, positions, (i) => present[i] === 0);
      if (!stack.takes(absent) && !(await this.wasBegun(filter, positions, operation))) {
        throw stack.fullFor(filter, absent);
      }
    }
    if (!sync || !short(sync.stack)) return;
    // The sync's layers must also take items that only the filter has. If only they lack room, the add succeeds and the
    // sync is abandoned.
    const unlisted = await countUnlisted(this.itemCalls, filter, positions, operation.deadline);
    if (!sync.stack.takes(unlisted) && !(await this.wasBegun(filter, positions, operation)))
      await this.ends.abandonFull(filter, sync.id, operation.deadline);
  }

  /**
   * True if an earlier attempt has passed the limit and added items, so this attempt must complete it. A segment's
   * chunks run in order, so its first chunk has its first record. This asks every segment, because the earlier attempt
   * may have reached only one.
   */
  private async wasBegun(filter: RedisFilter, positions: Positions, operation: Operation): Promise<boolean> {
    if (!operation.repeat) return false;
    const field = addField(operation, 0);
    const begun = await joinAll(
      Array.from(new Set(segmentsOf(positions, filter.stack.piecesOf(0))), (segment) =>
        this.segments.recall({ filter, segment, operation, field }),
      ),
    );
    return begun.some((answer) => answer !== undefined);
  }
}

const addField = (operation: Operation, chunk: number) => `add:${operation.id}:${chunk}`;
