import type { Filter } from '../store.js';
import type { Engine } from './engine.js';
import { DueIndex } from './queue/due.js';

/** Longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Watch {
  readonly wakes: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
  /** Calls were made for all that came due until then, in ms since the epoch. */
  woken: number;
}

/** Who waits for something to lease, by the generation of the visited set, with a timer each for what comes due. */
export class Watches {
  private readonly watches = new Map<string, Watch>();

  constructor(private readonly engine: Engine) {}

  add(filter: Filter, wake: () => void): () => void {
    const { generation } = filter;
    const watch = this.watches.get(generation) ?? { wakes: new Set(), timer: undefined, woken: 0 };
    this.watches.set(generation, watch);
    // Each call is a watch of its own, though the function be the same.
    const own = (): void => wake();
    watch.wakes.add(own);
    this.reschedule(filter);
    return () => {
      watch.wakes.delete(own);
      if (watch.wakes.size > 0 || this.watches.get(generation) !== watch) return;
      clearTimeout(watch.timer);
      this.watches.delete(generation);
    };
  }

  /** Something may have come into line. */
  wake(filter: Filter): void {
    const watch = this.watches.get(filter.generation);
    if (!watch) return;
    for (const wake of [...watch.wakes]) wake();
    this.reschedule(filter);
  }

  /** Something may come due at another time than before. */
  reschedule(filter: Filter): void {
    const watch = this.watches.get(filter.generation);
    if (watch) void this.schedule(filter, watch);
  }

  close(): void {
    for (const { timer } of this.watches.values()) clearTimeout(timer);
    this.watches.clear();
  }

  private async schedule(filter: Filter, watch: Watch): Promise<void> {
    const due = await this.engine
      .mutate(({ database, memory, now }) => {
        // On a busy machine it may have come due before this runs. The clock may have been set back.
        const from = Math.min(watch.woken, now) + 1;
        const first = new DueIndex(database, memory.current(filter)).first(from);
        return first && { now, at: first.at };
      })
      // Of a set that is gone or lost nothing comes due.
      .catch(() => undefined);
    clearTimeout(watch.timer);
    if (due === undefined || this.watches.get(filter.generation) !== watch) return;
    const { now, at } = due;
    const wait = Math.min(Math.max(0, at - now), MAX_TIMER_MS);
    watch.timer = setTimeout(() => {
      if (wait < MAX_TIMER_MS) watch.woken = Math.max(now, at);
      this.wake(filter);
    }, wait).unref();
  }
}
