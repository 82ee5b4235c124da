import type { QueueStats } from '../../port/index.js';
import { Marks } from './marks.js';

/** Numbers of a queue that are stored with the state of its visited set, in this order. */
export const QUEUE_NUMBERS = [
  'waiting',
  'leased',
  'delayed',
  'dead',
  'clock',
  'headRow',
  'headAt',
  'headDiscoveredAt',
  'nextRow',
  'nextLease',
  'nextDelayed',
  'nextDead',
  'firstMark',
  'nextMark',
] as const;

/** Further numbers, of queues that know hosts only. */
export const HOST_NUMBERS = ['lanes', 'nextTurn', 'seenAt', 'aheadMs'] as const;

/** The counts and positions of a visited set's queue. The entries are in the database. */
export class QueueState {
  /** Number of entries by state. */
  waiting = 0;
  leased = 0;
  delayed = 0;
  dead = 0;
  /** See Marks. */
  clock = 0;
  /** The head of the log: row, offset in the row, and when the entry there was discovered, if any. */
  headRow = 1;
  headAt = 0;
  headDiscoveredAt = 0;
  /** The next numbers to assign. */
  nextRow = 1;
  nextLease = 1;
  nextDelayed = 1;
  nextDead = 1;
  /** Number of the first row of marks that the queue still needs, and number of the next row to write. */
  firstMark = 1;
  nextMark = 1;
  /** Number of lanes, and the next number in the index of turns. */
  lanes = 0;
  nextTurn = 1;
  /** The clock at the last change, and how far the queue's time is ahead of it. See `timeAt`. */
  seenAt = 0;
  aheadMs = 0;
  readonly marks = new Marks();
  /** No lease or delay ends before this time, in ms since the epoch. */
  earliestDue = 0;
  /** No lease or delay ends after this time. */
  latestDue = Infinity;

  get held(): number {
    return this.waiting + this.leased + this.delayed + this.dead;
  }

  /**
   * The queue's own time, in ms. It follows the clock, but if the clock is set back, it continues from where it was. So
   * no lane has to wait longer than its delay.
   */
  timeAt(now: number): number {
    if (now < this.seenAt) this.aheadMs += this.seenAt - now;
    this.seenAt = now;
    return now + this.aheadMs;
  }

  /** `headDiscoveredAt`: when the entry at the head was discovered, if there is one. */
  stats(now: number, headDiscoveredAt: number | undefined): QueueStats {
    const { waiting, leased, delayed, dead, marks } = this;
    const age = headDiscoveredAt === undefined ? undefined : Math.floor(now / 1000) - headDiscoveredAt;
    return {
      ...{ waiting, leased, delayed, scheduled: 0, dead, forgotten: marks.size },
      ...(waiting > 0 && age !== undefined && { oldestSeconds: Math.max(0, age) }),
    };
  }
}
