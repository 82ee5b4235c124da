import { msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { called, dataLost } from '../../refusals.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from '../connection/connection.js';
import { type RedisFilter, segmentKeysOf, type SegmentView } from '../layout/filter.js';
import type { Stragglers } from './stragglers.js';
import type { SyncChanges } from './sync-changes.js';

/**
 * Finds out why a segment is in a different state than the handle expects. Either a sync has begun or ended, perhaps
 * through another instance, or the filter is gone, or data is lost.
 */
export class Views {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly stragglers: Stragglers,
    private readonly changes: SyncChanges,
  ) {}

  /**
   * Reads a segment's state after a script has rejected this view, and returns the view for the next call. Throws
   * STORE_DATA_LOST only if two reads around the rejected call show the same catalogue entry and the same token of the
   * segment. Then no sync can have begun or ended in the segment in the meantime. If the filter is gone, throws
   * StaleFilterError or the errors that `Counters` lists.
   */
  async look(
    { filter, segment, token: rejected, entry: before }: SegmentView,
    deadline: number,
  ): Promise<SegmentView> {
    if (msUntil(deadline) < 0) {
      throw new StoreError('STORE_UNAVAILABLE', `${called(filter)} kept changing during the call; retry`);
    }
    const { raw, entry } = await this.catalogue.entryOf(filter, deadline);
    if (entry.sync?.stage === 'committing') {
      await this.changes.goOn(filter.name, deadline, false);
      throw await this.catalogue.explainLoss(filter);
    }
    filter.known.learn(entry);
    const token = await this.tokenIn(filter, segment, deadline);
    filter.known.sees(segment, token);
    const next = { ...filter.viewOf(segment), entry: raw };
    if (next.token !== rejected || before !== raw) return next;
    const { name, generation, tags } = filter;
    const takesPart = entry.sync !== undefined && token === filter.syncedToken(entry.sync.id);
    const isEnded =
      !takesPart && (await this.stragglers.end(name, generation, tags[segment] as string, deadline));
    // Another call may have ended that sync in the segment first, which changes the token.
    if (isEnded || (await this.tokenIn(filter, segment, deadline)) !== token) return filter.viewOf(segment);
    throw dataLost(filter);
  }

  private tokenIn(filter: RedisFilter, segment: number, deadline: number): Promise<string | null> {
    const { meta } = segmentKeysOf(filter, segment);
    const { client } = this.connection;
    return this.connection.repeat(() => client.hget(meta, 'generation'), deadline);
  }
}
