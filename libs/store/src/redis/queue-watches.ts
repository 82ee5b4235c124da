import type { Connection } from './connection.js';
import type { RedisFilter } from './filter.js';
import { AWAITED_MS, awaitScript } from './scripts/await.js';
import type { Segments } from './segments.js';
import { joinAll } from '../join-all.js';

/** How often a queue that is watched is looked at, ms: for messages that were lost, and for what comes due later. */
const LOOK_MS = 1_000;

/** Longest that something is late that comes due, for want of a finer clock. */
const TICK_MS = 1;

interface Watch {
  /** As the last who began to wait has it: a sync that is committed outdates those before. */
  filter: RedisFilter;
  readonly wakes: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Who waits for something to lease, by the generation of the visited set. Redis is told how long they wait, so that scripts
 * that bring something into line publish that; one connection hears it for all.
 */
export class QueueWatches {
  private readonly watches = new Map<string, Watch>();

  constructor(
    private readonly connection: Connection,
    private readonly segments: Segments,
    private readonly timeoutMs: number,
  ) {
    connection.onMessage((channel) => this.wake(channel));
  }

  watch(filter: RedisFilter, wake: () => void): () => void {
    const channel = channelOf(filter);
    let watch = this.watches.get(channel);
    if (!watch) {
      watch = { filter, wakes: new Set(), timer: undefined };
      this.watches.set(channel, watch);
      this.connection.subscribe(channel);
      void this.look(channel, watch);
    }
    watch.filter = filter;
    const { wakes } = watch;
    // Each call is a watch of its own, though the function be the same.
    const own = (): void => wake();
    wakes.add(own);
    return () => {
      if (!wakes.delete(own) || wakes.size > 0) return;
      clearTimeout(watch.timer);
      this.watches.delete(channel);
      this.connection.unsubscribe(channel);
    };
  }

  close(): void {
    for (const { timer } of this.watches.values()) clearTimeout(timer);
    this.watches.clear();
  }

  private wake(channel: string): void {
    for (const wake of [...(this.watches.get(channel)?.wakes ?? [])]) wake();
  }

  /** Says that this instance waits on, and wakes it if there is something to lease; then again when that may change. */
  private async look(channel: string, watch: Watch): Promise<void> {
    const { filter } = watch;
    const deadline = Date.now() + this.timeoutMs;
    const found = await joinAll(
      filter.segments.map((_, segment) =>
        this.segments.readQueue(awaitScript, filter, segment, [AWAITED_MS], deadline),
      ),
    ).catch(() => undefined);
    if (this.watches.get(channel) !== watch) return;
    // What cannot be looked at tells so to who leases.
    const dueIn = found?.map(({ answers }) => Number(answers)) ?? [0];
    const first = Math.min(...dueIn.map((ms) => (ms < 0 ? LOOK_MS : ms)));
    if (first === 0) this.wake(channel);
    const wait = first === 0 ? LOOK_MS : Math.min(LOOK_MS, first + TICK_MS);
    watch.timer = setTimeout(() => void this.look(channel, watch), wait).unref();
  }
}

function channelOf({ generation }: RedisFilter): string {
  return `unseen:queue:${generation}`;
}
