import type { Filter, FilterSpec, Operation, Part, Quota, Transfer } from '../../port/index.js';
import { deadlineIn } from '../../clock.js';
import { assertPerHost } from '../../refusals.js';
import { exportParts } from '../../transfer/export-parts.js';
import type { Catalogue } from '../catalogue/catalogue.js';
import type { Claim } from '../catalogue/claim.js';
import type { Connection } from '../connection/connection.js';
import { RedisSource } from './export-source.js';
import { RedisFilter } from '../layout/filter.js';
import { type ImportLimits, RedisImport } from './import.js';
import type { LifeCycle } from '../catalogue/life-cycle.js';
import type { SyncChanges } from '../catalogue/sync-changes.js';
import type { Views } from '../catalogue/views.js';

/** How long an export waits for a sync to end, in ms. */
const SYNC_MS = 60_000;

/** See the port for each method's guarantees. */
export class RedisTransfer implements Transfer {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly views: Views,
    private readonly lifeCycle: LifeCycle,
    /** Time for one step, in ms. */
    private readonly timeoutMs: number,
    private readonly limits: ImportLimits,
    private readonly syncs: Pick<SyncChanges, 'settle'>,
  ) {}

  async *export(handle: Filter): AsyncGenerator<Part, void, undefined> {
    const filter = RedisFilter.of(handle);
    // After a commit or a failover, the queue may have scheduled entries that the sync did not keep.
    if (filter.queued) await this.syncs.settle(filter, deadlineIn(SYNC_MS));
    yield* exportParts(
      filter,
      new RedisSource(this.connection, this.catalogue, this.views, filter, this.timeoutMs),
    );
  }

  async import(
    spec: FilterSpec,
    parts: AsyncIterable<Part>,
    operation: Operation,
    quota?: Quota,
  ): Promise<Filter> {
    assertPerHost(spec);
    const fill = async (claim: Claim): Promise<void> => {
      const filling = new RedisImport(this.connection, claim, this.timeoutMs, quota, this.limits);
      for await (const part of parts) await filling.take(part);
      await filling.finish();
    };
    return this.lifeCycle.import(spec, operation, this.timeoutMs, fill, quota);
  }
}
