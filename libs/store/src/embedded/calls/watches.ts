import type { Clock } from '../../clock.js';
import type { Filter } from '../../port/index.js';
import { after } from '../../timers.js';
import type { Engine } from '../engine/engine.js';
import { DueIndex } from '../queue/due.js';
import { nextTurn } from '../queue/next-turn.js';

interface Watch {
  readonly wakes: Set<() => void>;
  /** Cancels the timer. */
  cancel: () => void;
  /** The watch has already woken its callers for entries due by this time, in ms since the epoch. */
  woken: number;
}

/**
 * Callers that wait for entries to lease, by the name of their visited set. Each set has one timer, for its next due
 * entry. A watch outlives its generation: it continues after a clear, or if the set is deleted and re-created.
 */
export class Watches {
  private readonly watches = new Map<string, Watch>();

  constructor(
    private readonly engine: Engine,
    private readonly clock: Clock,
  ) {}

  add(filter: Filter, wake: () => void): () => void {
    const { name } = filter;
    const watch = this.watches.get(name) ?? { wakes: new Set(), cancel: () => undefined, woken: 0 };
    this.watches.set(name, watch);
    // Each call is a separate watch, even with the same function.
    const own = (): void => wake();
    watch.wakes.add(own);
    this.reschedule(filter);
    return () => {
      watch.wakes.delete(own);
      if (watch.wakes.size > 0 || this.watches.get(name) !== watch) return;
      watch.cancel();
      this.watches.delete(name);
    };
  }

  /** Call this when entries were queued. In a per-host queue, only hosts that got a turn wake the watchers. */
  joined(filter: Filter): void {
    if (filter.perHost) this.reschedule(filter);
    else this.wake(filter);
  }

  /** Calls a filter's watchers. Call this when entries may have become available. */
  wake(filter: Filter): void {
    this.call(filter.name);
    this.reschedule(filter);
  }

  /** Calls the watchers of the set with this name, for example because it was dropped. */
  call(name: string): void {
    for (const wake of [...(this.watches.get(name)?.wakes ?? [])]) wake();
  }

  /** Resets a filter's timer. Call this when the next entry may become due at a different time. */
  reschedule(filter: Filter): void {
    const watch = this.watches.get(filter.name);
    if (watch) void this.schedule(filter, watch);
  }

  close(): void {
    for (const { cancel } of this.watches.values()) cancel();
    this.watches.clear();
  }

  private async schedule(filter: Filter, watch: Watch): Promise<void> {
    const { name, kind } = filter;
    const due = await this.engine
      .mutate(({ database, memory, now }) => {
        // On a busy machine, an entry may become due before this runs, or the clock may have been set back.
        const from = Math.min(watch.woken, now) + 1;
        // The caller's handle may be stale by now.
        const { filter: renewed } = memory.named(name, kind);
        const state = memory.current(renewed);
        const due = new DueIndex(database, state).timeFrom(from);
        const at = Math.min(due, nextTurn(database, state, from, now) ?? Infinity);
        return at === Infinity ? undefined : { now, at };
      })
      // A deleted or lost set has no entries that become due.
      .catch(() => undefined);
    watch.cancel();
    if (due === undefined || this.watches.get(name) !== watch) return;
    const { now, at } = due;
    // Read the clock again: time has passed since the transaction read it.
    watch.cancel = after(this.clock, at - this.clock.now(), () => {
      watch.woken = Math.max(now, at);
      this.wake(filter);
    });
  }
}
