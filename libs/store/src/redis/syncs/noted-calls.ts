import type { Catalogue } from '../catalogue/catalogue.js';
import type { SyncChanges } from '../catalogue/sync-changes.js';
import type { Connection } from '../connection/connection.js';
import type { RedisFilter } from '../layout/filter.js';

/** Minimum time between two notes by one instance, in ms, unless a tenth of the idle time is shorter. */
const NOTED_MS = 30_000;

/** Notes calls on open syncs, so that idle syncs can be abandoned. */
export class NotedCalls {
  /** When the last call was noted, by sync id. */
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
