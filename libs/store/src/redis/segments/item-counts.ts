import { deadlineIn } from '../../clock.js';
import type { Connection } from '../connection/connection.js';
import { countItems } from './describe.js';
import type { RedisFilter } from '../layout/filter.js';
import type { SyncSums } from './sync-sums.js';
import type { Views } from '../catalogue/views.js';

/** Counts items, so that filters can enforce their limits. */
export class ItemCounts {
  constructor(
    private readonly connection: Connection,
    private readonly views: Views,
    private readonly sums: SyncSums,
    private readonly timeoutMs: number,
  ) {}

  /** Updates the item counts of a filter's segments, in its own layers and its sync's. */
  async refresh(filter: RedisFilter): Promise<void> {
    await countItems(this.connection, this.views, filter, this.timeoutMs);
    if (filter.sync) await this.sums.of(filter, filter.sync, deadlineIn(this.timeoutMs));
  }
}
