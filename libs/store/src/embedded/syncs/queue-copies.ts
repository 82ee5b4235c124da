import type { Filter, QueuedItem } from '../../port/index.js';
import { byDeadline } from '../engine/deadline.js';
import type { Engine } from '../engine/engine.js';
import { isSyncing } from '../filters/filter-state.js';
import { queuePages } from '../queue/queue-pages.js';
import { keepQueued } from './keep.js';

/** Keeps the entries that are in a queue when a sync is opened, in the background, some in each change. */
export class QueueCopies {
  /** The copies in progress, by sync id. */
  private readonly copies = new Map<string, Promise<void>>();

  constructor(private readonly engine: Engine) {}

  /**
   * Resolves once all entries that were in the queue at the opening are kept, or the sync has ended. Throws
   * STORE_UNAVAILABLE at the deadline, but the copy continues.
   */
  async done(filter: Filter, id: string, deadline: number): Promise<void> {
    const done = await this.engine.read((memory) => {
      const { sync } = memory.current(filter);
      return sync?.opened.id !== id || sync.copied === 1;
    }, deadline);
    if (done) return;
    let copy = this.copies.get(id);
    if (!copy) {
      copy = this.copy(filter, id).finally(() => this.copies.delete(id));
      this.copies.set(id, copy);
      // Waiting callers get the error. If no caller waits, it would be unhandled.
      copy.catch(() => undefined);
    }
    await byDeadline(deadline, copy);
  }

  private async copy(filter: Filter, id: string): Promise<void> {
    const { entriesPerPage, hostsPerChange } = this.engine.sizes;
    const most = filter.perHost ? hostsPerChange : entriesPerPage;
    for await (const page of queuePages(this.engine, filter)) {
      const entries = page.entries.filter(({ scheduledAt }) => scheduledAt === undefined);
      for (let from = 0; from < entries.length; from += most)
        if (!(await this.keepEntries(filter, id, entries.slice(from, from + most)))) return;
    }
    await this.engine.mutate((session) => {
      const state = session.memory.current(filter);
      if (state.sync?.opened.id !== id) return;
      state.sync.copied = 1;
      session.keep(state);
    });
  }

  /** Returns false if the sync has ended. */
  private async keepEntries(filter: Filter, id: string, entries: readonly QueuedItem[]): Promise<boolean> {
    if (entries.length === 0) return true;
    return this.engine.mutate(
      (session) => {
        const state = session.memory.current(filter);
        if (!isSyncing(state) || state.sync.opened.id !== id) return false;
        session.keep(state, keepQueued(session, state, entries));
        return session.memory.current(filter).sync?.opened.id === id;
      },
      { items: entries.length },
    );
  }
}
