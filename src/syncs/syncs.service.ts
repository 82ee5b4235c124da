import { Inject, Injectable } from '@nestjs/common';
import { forgottenBy, type Filter, type FilterKind, type Operation, type Sync } from '#store';
import { Config } from '../config/config.js';
import { ProblemError, unwanted } from '../errors/problem.js';
import { FilterPlanner } from '../filters/filter-planner.js';
import { OpenFilters } from '../filters/open-filters.js';
import { syncView, type SyncView } from '../filters/sync.view.js';
import { Store } from '../store/store.token.js';
import type { CommitSyncDto, OpenSyncDto } from './sync.dto.js';
import type { CommittedSyncView } from './sync.view.js';

/**
 * The life cycle of syncs, for filters and visited sets. Throws port errors, and FILTER_NOT_FOUND or
 * VISITED_SET_NOT_FOUND.
 */
@Injectable()
export class SyncsService {
  constructor(
    @Inject(Store) private readonly store: Store,
    @Inject(Config) private readonly config: Config,
    private readonly filters: OpenFilters,
    private readonly planner: FilterPlanner,
  ) {}

  /** Throws FILTER_TOO_LARGE if the sync's layers would exceed the limit for one filter. */
  async open(kind: FilterKind, name: string, dto: OpenSyncDto, operation: Operation): Promise<SyncView> {
    const open = (filter: Filter): Promise<Sync> =>
      this.store.syncs.open(filter, this.planner.planSync(filter, dto), operation, operation.quota);
    return syncView(await this.filters.withFilter(name, kind, open));
  }

  async get(kind: FilterKind, name: string, id: string): Promise<SyncView> {
    return syncView(await this.sync(kind, name, id));
  }

  async commit(
    kind: FilterKind,
    name: string,
    id: string,
    dto: CommitSyncDto,
    deadline: number,
  ): Promise<CommittedSyncView> {
    const most = this.mostOf(dto);
    if (dto.dryRun) return dryRun(name, await this.sync(kind, name, id), most);
    const commit = (filter: Filter): Promise<Sync> => this.store.syncs.commit(filter, id, most, deadline);
    return syncView(await this.filters.withFilter(name, kind, commit));
  }

  async abandon(kind: FilterKind, name: string, id: string, deadline: number): Promise<void> {
    await this.filters.withFilter(name, kind, (filter) => this.store.syncs.abandon(filter, id, deadline));
  }

  private sync(kind: FilterKind, name: string, id: string): Promise<Sync> {
    return this.filters.withFilter(name, kind, (filter) => this.store.syncs.get(filter, id));
  }

  /** The share of items that the commit may forget. */
  private mostOf({ force = false, maxForgetShare }: CommitSyncDto): number {
    if (!force) return maxForgetShare ?? this.config.syncMaxForgetShare;
    if (maxForgetShare === undefined) return 1;
    throw unwanted('maxForgetShare', maxForgetShare, 'force allows any share');
  }
}

/** Previews a commit. Throws SYNC_ENDED if the sync can't be committed. */
function dryRun(name: string, sync: Sync, most: number): CommittedSyncView {
  const { id, state, items, reason } = sync;
  if (state === 'abandoned') {
    throw new ProblemError(
      'SYNC_ENDED',
      `sync ${id} of "${name}" is abandoned because ${reason}; nothing was changed. Open another sync`,
    );
  }
  const refused = state === 'open' && items > 0 && forgottenBy(sync) / items > most;
  return { ...syncView(sync), maxForgetShare: most, refused };
}
