import { segmentBytes } from '#bloom';
import { joinAll } from '../../join-all.js';
import type { Allocation } from './allocation.js';
import type { Catalogue } from './catalogue.js';
import type { Connection } from '../connection/connection.js';
import type { CatalogueEntry } from '../layout/entry.js';
import { tokenOf } from '../layout/entry.js';
import { segmentKeys } from '../layout/keys.js';
import { abandonSyncScript, commitSyncScript } from '../scripts/sync.js';

/**
 * Token of a segment that takes part in a sync: generation, number of the segment's own first layer, id of the sync.
 */
const SYNCED = /^([^.+]+)(?:\.(\d+))?\+(.+)$/;

/**
 * Segments that still take part in an ended sync. Either a failover lost the step that ended the sync there, or a
 * stalled instance went on opening the sync. The token names the sync, and the catalogue says whether the sync was
 * committed.
 */
export class Stragglers {
  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly allocation: Allocation,
  ) {}

  /**
   * Ends syncs in all segments of a filter if they have ended in the catalogue. Call this before the catalogue forgets
   * the last sync.
   */
  async endAll({ name, generation, tags }: CatalogueEntry, deadline: number): Promise<void> {
    await joinAll(tags.map((tag) => this.end(name, generation, tag, deadline)));
  }

  /**
   * Ends a sync in a segment if it has ended in the catalogue. Returns false if the segment is not part of a sync, or
   * if the sync's result is unknown.
   */
  async end(name: string, generation: string, tag: string, deadline: number): Promise<boolean> {
    const { meta } = segmentKeys(tag);
    const { client } = this.connection;
    const token = (await this.connection.repeat(() => client.hget(meta, 'generation'), deadline)) ?? '';
    const [, of, before = '0', id] = SYNCED.exec(token) ?? [];
    if (of !== generation) return false;
    // Read the entry after the token. Segments join a sync only once the catalogue has it, so if the catalogue doesn't,
    // the sync has ended.
    const { entry } = await this.catalogue.read(name, deadline);
    if (entry?.generation !== generation || entry.state !== 'ready') return false;
    const { base = 0, endedSync, sync } = entry;
    if (sync?.id === id) return true;
    // A commit changes the filter's base.
    const isCommitted = Number(before) !== base;
    const last = endedSync?.id === id ? endedSync : undefined;
    if (isCommitted && last?.state !== 'committed') return false;
    const script = isCommitted ? commitSyncScript : abandonSyncScript;
    const { cells } = segmentKeys(tag, base);
    const args = [token, segmentBytes(entry.geometry), tokenOf(entry)];
    if ((await this.connection.mutate(script, [cells, meta], args, deadline)) !== 'OK') return false;
    // The failover may also have restored keys that were deleted after the lost step.
    if (last) await this.allocation.freeSync([tag], last.left, base, deadline);
    return true;
  }
}
