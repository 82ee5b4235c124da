import { deadlineIn } from '../../clock.js';
import { StaleFilterError } from '../../errors.js';
import { joinAll } from '../../join-all.js';
import { after } from '../../timers.js';
import type { Connection } from '../connection/connection.js';
import type { RedisFilter } from '../layout/filter.js';
import { AWAITED_MS, awaitScript } from '../scripts/await.js';
import type { Segments } from '../segments/segments.js';

/**
 * How often to check a watched queue, in ms. Messages may get lost, and no message is sent when an entry becomes due.
 */
const LOOK_MS = 1_000;

/** Resolution of the clock in ms. A check for a due entry runs this much later, so that the entry is surely due. */
const TICK_MS = 1;

interface Watch {
  /** The set as of the last check. A commit, a clear or a new set with the same name makes it stale. */
  filter: RedisFilter;
  readonly wakes: Set<() => void>;
  /** Cancels the next check. */
  rest: () => void;
}

/**
 * Callers that wait for entries, by the name of their visited set. Redis knows until when they wait. Until then, a
 * script that makes entries available publishes a message on the channel of the set's generation. One connection
 * receives the messages for all callers.
 */
export class QueueWatches {
  private readonly watches = new Map<string, Watch>();
  /** The watch that each subscribed channel wakes. */
  private readonly channels = new Map<string, Watch>();

  constructor(
    private readonly connection: Connection,
    private readonly segments: Segments,
    /** Opens a visited set from the catalogue. */
    private readonly open: (name: string) => Promise<RedisFilter>,
    private readonly timeoutMs: number,
  ) {
    connection.onMessage((channel) => this.wake(this.channels.get(channel)));
  }

  watch(filter: RedisFilter, wake: () => void): () => void {
    const { name } = filter;
    let watch = this.watches.get(name);
    if (!watch) {
      watch = { filter, wakes: new Set(), rest: () => undefined };
      this.watches.set(name, watch);
      this.listen(watch);
      void this.look(watch);
    } else if (!isSame(watch.filter, filter)) {
      // One of the two handles is stale. The check finds out whether it is the watched one.
      void this.look(watch);
    }
    const { wakes } = watch;
    // Each call is a separate watch, even with the same function.
    const own = (): void => wake();
    wakes.add(own);
    return () => {
      if (!wakes.delete(own) || wakes.size > 0) return;
      watch.rest();
      this.watches.delete(name);
      this.mute(watch);
    };
  }

  /** Looks again when the next entry becomes due. Entries that are available now don't wake the watch. */
  reschedule({ name }: RedisFilter): void {
    const watch = this.watches.get(name);
    if (watch) void this.look(watch, false);
  }

  /** Wakes the watch of the set with this name, for example because it was dropped. */
  call(name: string): void {
    this.wake(this.watches.get(name));
  }

  close(): void {
    for (const { rest } of this.watches.values()) rest();
    this.watches.clear();
    this.channels.clear();
  }

  private wake(watch: Watch | undefined): void {
    for (const wake of [...(watch?.wakes ?? [])]) wake();
  }

  private listen(watch: Watch): void {
    const channel = channelOf(watch.filter);
    this.channels.set(channel, watch);
    this.connection.subscribe(channel);
  }

  private mute({ filter }: Watch): void {
    const channel = channelOf(filter);
    this.channels.delete(channel);
    this.connection.unsubscribe(channel);
  }

  private isOver(watch: Watch): boolean {
    return this.watches.get(watch.filter.name) !== watch;
  }

  /**
   * Announces that this instance still waits, wakes the watch if entries are available, and schedules the next check.
   */
  private async look(watch: Watch, wakes = true): Promise<void> {
    // If the check fails, wake the callers, so that their leases report the error.
    const dueIn = await this.dueIn(watch).catch(() => [0]);
    if (this.isOver(watch)) return;
    const first = Math.min(...dueIn.map((ms) => (ms < 0 ? LOOK_MS : ms)));
    if (first === 0 && wakes) this.wake(watch);
    const wait = first === 0 ? LOOK_MS : Math.min(LOOK_MS, first + TICK_MS);
    // A parallel check may have scheduled the next one already.
    watch.rest();
    watch.rest = after(this.connection.clock, wait, () => void this.look(watch));
  }

  /** For each segment, how many ms until an entry may become due: 0 if one is available, -1 if none will become due. */
  private async dueIn(watch: Watch): Promise<number[]> {
    const { filter } = watch;
    try {
      return await this.announce(filter);
    } catch (error) {
      if (!(error instanceof StaleFilterError)) throw error;
    }
    const fresh = await this.open(filter.name);
    if (!this.isOver(watch) && watch.filter === filter) {
      if (channelOf(fresh) !== channelOf(filter)) this.mute(watch);
      watch.filter = fresh;
      this.listen(watch);
    }
    return this.announce(fresh);
  }

  /** Announces that this instance still waits. Returns the same as `dueIn`. */
  private async announce(filter: RedisFilter): Promise<number[]> {
    const deadline = deadlineIn(this.timeoutMs);
    const found = await joinAll(
      filter.segments.map((_, segment) =>
        this.segments.readQueue(awaitScript, filter, segment, [AWAITED_MS], deadline),
      ),
    );
    return found.map(({ answers }) => Number(answers));
  }
}

const isSame = (one: RedisFilter, other: RedisFilter) =>
  one.generation === other.generation && one.base === other.base;

function channelOf({ generation }: RedisFilter): string {
  return `unseen:queue:${generation}`;
}
