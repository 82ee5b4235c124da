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

/** The counts and positions of a visited set's queue. The entries are in the database. */
export class QueueState {
  /** Entries by state. */
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
  /** Numbers of the first row of marks that is needed, and of the next one to write. */
  firstMark = 1;
  nextMark = 1;
  readonly marks = new Marks();
  /** No lease or delay ends before this time, in ms since the epoch. */
  earliestDue = 0;
  /** No lease or delay ends after this time. */
  latestDue = Infinity;

  get held(): number {
    return this.waiting + this.leased + this.delayed + this.dead;
  }

  stats(now: number): QueueStats {
    const { waiting, leased, delayed, dead, marks } = this;
    const age = Math.floor(now / 1000) - this.headDiscoveredAt;
    return {
      ...{ waiting, leased, delayed, dead, forgotten: marks.size },
      ...(waiting > 0 && { oldestSeconds: Math.max(0, age) }),
    };
  }
}
