import type { QueueStats } from '../../port/index.js';
import { Marks } from './marks.js';

/** Numbers of a queue that are kept with the state of its visited set, in this order. */
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

/** A visited set's queue in memory: how much there is of what, and where. The entries are in the database. */
export class QueueState {
  /** Entries by where they are. */
  waiting = 0;
  leased = 0;
  delayed = 0;
  dead = 0;
  /** See Marks. */
  clock = 0;
  /** Where the log begins: row, offset in it, and when the entry there was discovered, if there is one. */
  headRow = 1;
  headAt = 0;
  headDiscoveredAt = 0;
  /** Numbers that are given next. */
  nextRow = 1;
  nextLease = 1;
  nextDelayed = 1;
  nextDead = 1;
  /** Of the rows of marks; those before are needed no more. */
  firstMark = 1;
  nextMark = 1;
  readonly marks = new Marks();
  /** No lease and no delay ends before (ms). */
  earliestDue = 0;
  /** None ends after. */
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
