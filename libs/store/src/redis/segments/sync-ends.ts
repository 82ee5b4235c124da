import { deadlineIn, msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { ABANDONED, syncEnded, syncNotFound } from '../../refusals.js';
import type { Sync, SyncState } from '../../port/index.js';
import { within } from '../../within.js';
import type { Catalogue, FoundEntry } from '../catalogue/catalogue.js';
import type { CatalogueEntry, EntrySync } from '../layout/entry.js';
import { RedisFilter } from '../layout/filter.js';
import { type SyncChanges, syncing } from '../catalogue/sync-changes.js';
import { recallEnd } from '../catalogue/sync-records.js';
import { figuresOf, NOTHING, type Sums, type SyncSums } from './sync-sums.js';

/** Time limit for one step of background work, in ms. */
export const STEP_MS = 60_000;
/** Extra time after the caller's deadline for a last read, in ms. */
const LOOK_MS = 1_000;

const STATES = {
  ...{ opening: 'open', open: 'open', committing: 'committing', abandoning: 'abandoned' },
} as const satisfies Record<EntrySync['stage'], SyncState>;

/** The state of a sync in progress, as callers see it. */
export const stateOf = ({ stage }: EntrySync): SyncState => STATES[stage];

/** Ends syncs: abandons them, or completes a commit. */
export class SyncEnds {
  constructor(
    private readonly catalogue: Catalogue,
    private readonly changes: SyncChanges,
    private readonly sums: SyncSums,
  ) {}

  /**
   * A filter's ended sync. Throws SYNC_NOT_FOUND if no sync has this id or its record has expired, and SYNC_ENDED if it
   * didn't end as `expected`.
   */
  async of(entry: CatalogueEntry, id: string, deadline: number, expected?: SyncState): Promise<Sync> {
    const { endedSync } = entry;
    const sync =
      endedSync?.id === id ? withoutLayers(endedSync) : await recallEnd(this.catalogue, entry, id, deadline);
    if (!sync) throw syncNotFound(entry, id);
    if (expected !== undefined && sync.state !== expected) throw syncEnded(entry, sync);
    return sync;
  }

  /** Abandons a sync, unless it has ended or is committing. */
  async abandon(name: string, id: string, reason: string, deadline: number): Promise<void> {
    for (;;) {
      const found = syncing(await this.catalogue.read(name, deadline));
      if (found?.entry.sync.id !== id || found.entry.sync.stage === 'committing') return;
      const { sync } = found.entry;
      if (sync.stage !== 'abandoning') {
        const sums = await this.sums.of(new RedisFilter(found.entry), sync, deadline).catch(() => undefined);
        const figures = figuresOf(sync, sums ?? NOTHING);
        const ended = { ...figures, state: 'abandoned' as const, bytes: 0, reason };
        if (!(await this.changes.end(found, 'abandoning', ended, deadline))) continue;
      }
      await this.changes.goOn(name, deadline);
      return;
    }
  }

  /**
   * Abandons a sync because its segments can't note any more removals or, without `sums`, because a segment has lost
   * the sync. Re-reads the catalogue entry first: the loss is real only if the entry hasn't changed since `read`,
   * before the segments were queried.
   */
  async abandonUnlessChanged(
    { raw, entry: { name } }: FoundEntry,
    id: string,
    sums: Sums | undefined,
    deadline: number,
  ): Promise<void> {
    const reason = sums ? ABANDONED.forgets : ABANDONED.lost;
    if (!sums && (await this.catalogue.read(name, deadline)).raw !== raw) return;
    await this.abandon(name, id, reason, deadline);
  }

  /** Abandons a sync whose layers have no room for an add. Throws the errors of `Counters` if the handle is stale. */
  async abandonFull(filter: RedisFilter, id: string, deadline: number): Promise<void> {
    try {
      await this.abandon(filter.name, id, ABANDONED.full, deadline);
      // A commit makes the handle stale, and its sync can't be abandoned.
      const { entry } = await this.catalogue.learn(filter, deadline);
      if (entry.sync?.id === id) await this.changes.goOn(filter.name, deadline);
    } catch (error) {
      // The filter was cleared or dropped in the meantime. The next script detects that.
      if (!(error instanceof StoreError) || error.code !== 'SYNC_ENDED') throw error;
    }
  }

  /**
   * Waits until a commit has ended or the deadline passes. If the deadline passes first, the commit continues, and the
   * result has state `committing`.
   */
  async committed(filter: RedisFilter, id: string, deadline: number): Promise<Sync> {
    const { name, generation } = filter;
    const work = this.changes.goOn(name, deadlineIn(STEP_MS));
    // If the work fails, the next call continues it.
    work.catch(() => undefined);
    try {
      await within(msUntil(deadline), work, () => new StoreError('STORE_UNAVAILABLE', 'time is up'));
    } catch (error) {
      ignoreTime(error);
    }
    const { entry } = await this.catalogue.read(name, Math.max(deadline, deadlineIn(LOOK_MS)));
    if (entry?.generation !== generation) throw await this.catalogue.explainLoss(filter);
    if (entry.sync?.id === id && entry.sync.ended) return { ...entry.sync.ended, state: 'committing' };
    return this.of(entry, id, Math.max(deadline, deadlineIn(LOOK_MS)), 'committed');
  }
}

function withoutLayers({ left: _left, ...sync }: Sync & { readonly left: unknown }): Sync {
  return sync;
}

/** Rethrows all errors except timeouts, because the work continues after a timeout. */
export function ignoreTime(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
}
