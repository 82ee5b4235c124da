import type { Catalogue } from '../catalogue/catalogue.js';
import type { SyncChanges } from '../catalogue/sync-changes.js';
import type { Connection } from '../connection/connection.js';
import type { RedisFilter } from '../layout/filter.js';

/** A call is noted at most so often by an instance, in ms, or ten times in the time after which a sync is given up. */
const NOTED_MS = 30_000;

/** Notes calls on open syncs, so that a sync which nobody calls can be given up. */
export class NotedCalls {
  /** By id: when the last call was noted. */
  private readonly notedAt = new Map<string, number>();

  constructor(
    private readonly connection: Connection,
    private readonly catalogue: Catalogue,
    private readonly changes: SyncChanges,
    private readonly idleMs: number,
  ) {}

  async note({ name }: RedisFilter, id: string, deadline: number): Promise<void> {
    const now = this.connection.clock.monotonic();
    const every = Math.min(this.idleMs / 10, NOTED_MS);
    if (now - (this.notedAt.get(id) ?? -Infinity) < every) return;
    if (this.notedAt.size > 1_000) this.notedAt.clear();
    this.notedAt.set(id, now);
    await this.changes.note(name, await this.catalogue.now(deadline), deadline);
  }
}
