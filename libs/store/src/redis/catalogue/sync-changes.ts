import { segmentBytes } from '#bloom';
import { deadlineIn, msUntil } from '../../clock.js';
import { StoreError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { called, dataLost, outcomeOf } from '../../refusals.js';
import type { Operation, Quota, Sync, SyncPlan } from '../../port/index.js';
import { within } from '../../within.js';
import type { Allocation } from './allocation.js';
import type { Catalogue, EntryRead, FoundEntry } from './catalogue.js';
import { carryOut } from './catalogue-change.js';
import { type CatalogueEntry, type EntrySync, layersOf } from '../layout/entry.js';
import { tokenOf } from '../layout/entry.js';
import { RedisFilter } from '../layout/filter.js';
import { CATALOGUE, queueKeys, segmentKeys } from '../layout/keys.js';
import type { Connection } from '../connection/connection.js';
import { hostLimits } from '../scripts/host-lanes.js';
import { renewLanesScript } from '../scripts/hosts.js';
import type { Script } from '../scripts/script.js';
import { abandonSyncScript, commitSyncScript, openSyncScript } from '../scripts/sync.js';
import type { Stragglers } from './stragglers.js';
import { endOf, openedBy } from './sync-records.js';

/** Time to delete keys after a failure, in ms. */
const UNDO_MS = 10_000;
/** Approximate number of lanes that one script reads. */
const LANES_RENEWED = 250;

/** A catalogue entry with a sync in progress, as read. */
export interface Syncing {
  readonly raw: string;
  readonly entry: CatalogueEntry & { readonly sync: EntrySync };
}

/** The entry with its sync, if one is in progress. */
export function syncing({ raw, entry }: EntryRead): Syncing | undefined {
  return entry?.sync && entry.state === 'ready' ? { raw, entry: { ...entry, sync: entry.sync } } : undefined;
}

/**
 * Begins and ends syncs. These are catalogue changes (see CatalogueChange) with one script per segment. The end of a
 * sync is two changes. In the first, the segments end the sync. The second deletes remaining entries and keys. Any
 * instance may continue either.
 */
export class SyncChanges {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
    private readonly stragglers: Stragglers,
    /** Removes scheduled entries of items that a commit has forgotten. */
    private readonly removeUnclaimed: (filter: RedisFilter) => Promise<void> = () => Promise.resolve(),
  ) {}

  /** Announces a sync. Returns undefined if the entry has changed since it was read. Throws QUOTA_EXCEEDED. */
  async announce(
    read: FoundEntry,
    sync: EntrySync,
    planned: number,
    deadline: number,
    quota: Quota | undefined,
  ): Promise<Syncing | undefined> {
    const { endedSync: _ended, ...rest } = read.entry;
    // Segments that missed the end of the last sync end it now, while the catalogue still knows how it ended.
    await this.stragglers.endAll(read.entry, deadline);
    const entry = { ...rest, sync, nextLayer: sync.base + planned };
    await this.note(entry.name, sync.since, deadline);
    const raw = await this.catalogue.set(read, entry, deadline, { quota });
    return raw === undefined ? undefined : { raw, entry };
  }

  /**
   * Creates the keys, makes all segments take part, and publishes this with a record of the operation. Returns false if
   * the entry has changed in the meantime.
   */
  async open(found: Syncing, operation: Operation): Promise<boolean> {
    const { deadline } = operation;
    const { entry } = found;
    const { sync } = entry;
    const opened = await carryOut(this.catalogue, found, {
      deadline,
      prepare: async () => {
        await this.makeKeys(entry, deadline);
        return this.inSegments(openSyncScript, entry, tokenOf(entry), tokenOf(entry, sync.id), deadline);
      },
      publish: () => ({
        entry: { ...entry, sync: { ...sync, stage: 'open' as const } },
        record: openedBy(operation, entry),
      }),
      undo: () => this.undo(entry, deadlineIn(UNDO_MS)),
    });
    return opened !== undefined;
  }

  private async makeKeys(
    { kind, sync, tags, maxAgeSeconds }: Syncing['entry'],
    deadline: number,
  ): Promise<void> {
    const { geometry } = sync.plan;
    await joinAll(
      tags.map(async (tag) => {
        await this.allocation.makeLayer(tag, sync.base, geometry, tags.length, deadline);
        await this.allocation.makeRemoved(tag, sync.base, deadline);
        if (kind === 'visited-set') await this.allocation.makeOwed(tag, sync.base, deadline);
        if (maxAgeSeconds !== undefined) await this.allocation.makeHidden(tag, sync.base, deadline);
      }),
    );
  }

  /** Deletes keys created after another call ended the sync. */
  private async undo({ name, generation, tags, sync }: Syncing['entry'], deadline: number): Promise<void> {
    const { entry } = await this.catalogue.read(name, deadline);
    // A deletion may have freed the sync's keys before this call created them.
    const isThis = entry?.generation === generation && entry.state === 'ready';
    // The call that continues the sync uses the keys, and the call that ends it deletes them.
    if (isThis && (entry.sync?.id === sync.id || entry.base === sync.base)) return;
    if (isThis) await this.stragglers.endAll(entry, deadline);
    const layers = layersOf({ ...sync, ...sync.plan }, sync.base, tags.length);
    await this.allocation.freeSync(tags, layers, sync.base, deadline);
  }

  /**
   * Announces that the sync ends, with its result for callers. Returns undefined if the entry has changed in the
   * meantime.
   */
  async end(
    { raw, entry }: Syncing,
    stage: 'committing' | 'abandoning',
    ended: Sync,
    deadline: number,
  ): Promise<Syncing | undefined> {
    const next = { ...entry, sync: { ...entry.sync, stage, ended } };
    const set = await this.catalogue.set({ raw, entry }, next, deadline);
    return set === undefined ? undefined : { raw: set, entry: next };
  }

  /** Continues a committing or abandoning sync until it has ended. With `whole`, also until nothing of it is left. */
  async goOn(name: string, deadline: number, whole = true): Promise<void> {
    for (;;) {
      const read = await this.catalogue.read(name, deadline);
      const { entry } = read;
      if (!entry || entry.state !== 'ready') return;
      const found = syncing(read);
      if (!found && !whole) return;
      const done = found ? await this.finish(found, deadline) : await this.sweepOut(read, deadline);
      if (done) return;
      if (msUntil(deadline) < 0) {
        throw new StoreError('STORE_UNAVAILABLE', `the sync of ${called(entry)} did not end in time; retry`);
      }
    }
  }

  /** Like `goOn`, but also removes scheduled entries that the last commit left behind because of a failover. */
  async settle(filter: RedisFilter, deadline: number): Promise<void> {
    await this.goOn(filter.name, deadline);
    await this.removed(filter, deadline);
  }

  /** Waits until the scheduled entries of items that a commit has forgotten are removed. */
  private async removed(filter: RedisFilter, deadline: number): Promise<void> {
    const late = () => new StoreError('STORE_UNAVAILABLE', `${called(filter)} is still being synced; retry`);
    await within(msUntil(deadline), this.removeUnclaimed(filter), late);
  }

  /** Returns false if more steps remain or the entry has changed, and true if nothing was left to do. */
  private async finish(found: Syncing, deadline: number): Promise<boolean> {
    const { entry } = found;
    const { sync, tags, base = 0 } = entry;
    const { ended, stage } = sync;
    if (!ended || stage === 'opening' || stage === 'open') return true;
    const { sync: _sync, ...rest } = entry;
    const isCommitted = stage === 'committing';
    const over = { ...ended, state: isCommitted ? ('committed' as const) : ('abandoned' as const) };
    const [script, next, left] = isCommitted
      ? [commitSyncScript, withPlan(rest, sync), layersOf(entry, base, tags.length)]
      : [abandonSyncScript, rest, layersOf({ ...sync, ...sync.plan }, sync.base, tags.length)];
    const outcome = outcomeOf(over);
    await carryOut(this.catalogue, found, {
      deadline,
      prepare: () => this.inSegments(script, entry, tokenOf(entry, sync.id), tokenOf(next), deadline),
      publish: () => ({
        entry: { ...next, endedSync: { ...ended, left }, left },
        record: endOf(entry, over, deadline),
        changed: () => outcome && this.connection.observer.endedSync(outcome),
      }),
    });
    return false;
  }

  /** Deletes the entries and keys that an ended sync left behind. */
  private async sweepOut(read: EntryRead, deadline: number): Promise<boolean> {
    const { entry } = read;
    if (!entry?.left) return true;
    const { left, ...rest } = entry;
    const swept = await carryOut(this.catalogue, read, {
      deadline,
      prepare: async () => {
        if (entry.endedSync?.state === 'committed') await this.removed(new RedisFilter(entry), deadline);
        await joinAll(entry.tags.map((tag) => this.renewLanes(entry, tag, deadline)));
        await this.allocation.freeSync(entry.tags, left, entry.base ?? 0, deadline);
      },
      publish: () => ({ entry: rest }),
    });
    if (!swept) return false;
    await this.connection.write('zrem', CATALOGUE.syncs, [entry.name], deadline);
    return true;
  }

  /**
   * Deletes the lanes of a segment that count nothing after the sync. If the server restarts or fails over in between,
   * this may miss some lanes. Each missed lane then takes a place until its host is used again.
   */
  private async renewLanes(entry: CatalogueEntry, tag: string, deadline: number): Promise<void> {
    const { geometry, base = 0, perHost, tags } = entry;
    if (perHost?.maxUrls === undefined) return;
    const keys = segmentKeys(tag, base, true);
    const limits = hostLimits({ ...entry, base, spread: tags.length }, 0);
    const run = (cursor: string) =>
      this.connection.mutate(
        renewLanesScript,
        [keys.cells, keys.meta, ...queueKeys(keys)],
        [tokenOf(entry), segmentBytes(geometry), cursor, LANES_RENEWED, ...limits],
        deadline,
      );
    // Also stops if the segment doesn't know yet that the sync has ended.
    for (let cursor = '0', ended = false; !ended;) {
      cursor = String(await run(cursor));
      ended = cursor === '0' || !/^\d+$/.test(cursor);
    }
  }

  /** Records the time of a call to a filter's sync, for `tend`. */
  async note(name: string, now: number, deadline: number): Promise<void> {
    await this.connection.write('zadd', CATALOGUE.syncs, [now, name], deadline);
  }

  /** Returns false if another instance has advanced the sync since its entry was read. Throws STORE_DATA_LOST. */
  private async inSegments(
    script: Script,
    entry: Syncing['entry'],
    from: string,
    to: string,
    deadline: number,
  ): Promise<boolean> {
    const bytes = segmentBytes(entry.geometry);
    const done = await joinAll(
      entry.tags.map(async (tag) => {
        const { cells, meta } = segmentKeys(tag, entry.base);
        const run = () => this.connection.mutate(script, [cells, meta], [from, bytes, to], deadline);
        if ((await run()) === 'OK') return true;
        // The segment may still be in the previous sync. If another call ends that one first, `end` returns false,
        // which is fine.
        await this.stragglers.end(entry.name, entry.generation, tag, deadline);
        if ((await run()) === 'OK') return true;
        await this.assertMovedOn(entry, deadline);
        return false;
      }),
    );
    return !done.includes(false);
  }

  /** Throws STORE_DATA_LOST if the sync is still at the stage for which a segment rejected its step. */
  private async assertMovedOn(read: Syncing['entry'], deadline: number): Promise<void> {
    const { generation, sync } = read;
    const { entry } = await this.catalogue.read(read.name, deadline);
    // Clearing or dropping the filter also ends its sync.
    if (entry?.generation !== generation || entry.state !== 'ready') {
      throw new StoreError(
        'SYNC_ENDED',
        `the sync ended when ${called(read)} was cleared or deleted. Open another sync`,
      );
    }
    if (entry.sync?.id === sync.id && entry.sync.stage === sync.stage) throw dataLost(read);
  }
}

/** A filter's entry after a commit of its sync. */
function withPlan(entry: CatalogueEntry, { plan, base, made, growing, undoing }: EntrySync): CatalogueEntry {
  const { layers: _layers, made: _made, growing: _growing, undoing: _undoing, original, ...rest } = entry;
  const given = original ?? { capacity: entry.capacity, errorRate: entry.errorRate };
  const same = given.capacity === plan.capacity && given.errorRate === plan.errorRate;
  return {
    ...rest,
    ...planOf(plan),
    base,
    ...(made === undefined ? {} : { made }),
    ...(growing === undefined ? {} : { growing }),
    ...(undoing === undefined ? {} : { undoing }),
    ...(same ? {} : { original: given }),
  };
}

/** Picks the fields of a plan, since a caller's object may have others. */
export function planOf({ capacity, errorRate, geometry, layers }: SyncPlan): SyncPlan {
  return { capacity, errorRate, geometry, ...(layers === undefined ? {} : { layers }) };
}
