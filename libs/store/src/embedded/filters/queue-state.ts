import { MAX_LEASE_MS, type QueueStats } from '../../port/index.js';
import { newLogs, waitingIn } from './logs.js';
import { Marks } from './marks.js';

/** A queue's numbers, stored with its visited set's state in this order. */
export const QUEUE_NUMBERS = [
  'leased',
  'delayed',
  'scheduled',
  'dead',
  'clock',
  'nextLease',
  'nextDelayed',
  'nextDead',
  'firstMark',
  'nextMark',
  'unkeptUntil',
] as const;

/** More numbers, only for per-host queues. */
export const HOST_NUMBERS = ['inLanes', 'lanes', 'nextTurn', 'seenAt', 'aheadMs', 'unsweptDrops'] as const;

/** A queue's counts and positions. The entries are in the database. */
export class QueueState {
  /** Number of entries by state. */
  leased = 0;
  delayed = 0;
  scheduled = 0;
  dead = 0;
  /** See Marks. */
  clock = 0;
  /** The waiting entries of a queue without per-host lanes. */
  logs = newLogs();
  /** The next numbers to assign. */
  nextLease = 1;
  nextDelayed = 1;
  nextDead = 1;
  /** Numbers of the first row of marks that the queue still needs, and of the next row to write. */
  firstMark = 1;
  nextMark = 1;
  /**
   * The queue's clock at the last commit that may have voided scheduled entries. 0 once no such entry is stored.
   * Scheduled entries created by then are void unless their items are in the filter. The database may still have void
   * entries that neither the queue nor a sweep has reached.
   */
  unkeptUntil = 0;
  /** Number of entries waiting in hosts' lanes, number of lanes, and the next number in the index of turns. */
  inLanes = 0;
  lanes = 0;
  nextTurn = 1;
  /** The clock at the last change, and how far the queue's time is ahead of it. See `timeAt`. */
  seenAt = 0;
  aheadMs = 0;
  /** Number of dropped hosts whose entries may still be stored, because no sweep has reached them. */
  unsweptDrops = 0;
  readonly marks = new Marks();
  /** No lease or delay ends before this time, in ms since the epoch. */
  earliestDue = 0;
  /** No lease or delay ends after this time. */
  latestDue = Infinity;
  /** No scheduled entry comes due before this time. */
  earliestScheduled = 0;

  get waiting(): number {
    return this.inLanes + waitingIn(this.logs);
  }

  get held(): number {
    return this.waiting + this.leased + this.delayed + this.scheduled + this.dead;
  }

  /** False if no lease, delay or schedule has ended without its entries having moved. */
  mayBeDue(now: number): boolean {
    return Math.min(this.earliestDue, this.earliestScheduled) <= now || this.latestDue > now + MAX_LEASE_MS;
  }

  /** True if forgotten or dropped entries may still be stored. */
  get isUnswept(): boolean {
    return this.marks.size + this.unsweptDrops > 0;
  }

  /**
   * The queue's own time, in ms. It follows the clock, but continues from where it was if the clock is set back. So no
   * lane waits longer than its delay.
   */
  timeAt(now: number): number {
    if (now < this.seenAt) this.aheadMs += this.seenAt - now;
    this.seenAt = now;
    return now + this.aheadMs;
  }

  /**
   * `headDiscoveredAt`: when the next entry to be leased was discovered, if there is one. `overdue`: entries that are
   * no longer in these states, although they haven't moved yet. `overdue` may date from an earlier commit.
   */
  stats(
    now: number,
    headDiscoveredAt: number | undefined,
    overdue: Readonly<Record<'leased' | 'delayed' | 'scheduled', number>>,
  ): QueueStats {
    const { dead, marks } = this;
    const [leased, delayed, scheduled] = (['leased', 'delayed', 'scheduled'] as const).map((state) =>
      Math.max(0, this[state] - overdue[state]),
    ) as [number, number, number];
    const waiting = this.held - leased - delayed - scheduled - dead;
    const age = headDiscoveredAt === undefined ? undefined : Math.floor(now / 1000) - headDiscoveredAt;
    return {
      ...{ waiting, leased, delayed, scheduled, dead, forgotten: marks.size },
      ...(waiting > 0 && age !== undefined && { oldestSeconds: Math.max(0, age) }),
    };
  }
}
