import type { Filter, PerHost } from '../../port/index.js';
import { GENERATION_BYTES } from '../database/keys.js';
import type { Lane, LaneNumbers } from './lane.js';
import type { QueueLog } from './log.js';

/** Length of the id of a lane: the first two words of its host's hash. */
export const LANE_BYTES = 8;

/** The numbers of a record, in this order. */
const STORED = [
  ...['waiting', 'leased', 'delayed', 'dead', 'headRow', 'headAt', 'headDiscoveredAt', 'nextRow'],
  ...['readyAt', 'dueAt', 'turn', 'found', 'period', 'base', 'kept', 'keptBase'],
  ...['blockedUntil', 'ownDelayMs', 'ownMaxLeased', 'ownMaxUrls'],
  ...['dropped', 'voided', 'voidFrom', 'voidTo'],
] as const;
const NUMBER_BYTES = 6;
const NAME_AT = STORED.length * NUMBER_BYTES;

/** States of entries that do not wait. */
export type HeldState = 'leased' | 'delayed' | 'dead';

/**
 * The lane of a host, read from its record: the numbers above, in 6 bytes each, and the name of the host in UTF-8.
 * All times are on the queue's own clock (`QueueState.timeAt`).
 */
export class HostLane implements Lane, LaneNumbers {
  /** Number of entries of the host by state. */
  waiting = 0;
  leased = 0;
  delayed = 0;
  dead = 0;
  headRow = 1;
  headAt = 0;
  headDiscoveredAt = 0;
  nextRow = 1;
  /** Nothing is leased from the lane before this time. */
  readyAt = 0;
  /** Its place in the index of turns: a time, and a number among the lanes of that time. 0: it has no place. */
  dueAt = 0;
  turn = 0;
  /**
   * URLs of the host that were discovered and not forgotten: in this period, and in the layers whose first one has the
   * number `base`.
   */
  found = 0;
  period = 0;
  base = 0;
  /** URLs of the host in the layers of the sync whose first layer has this number. */
  kept = 0;
  keptBase = 0;
  /** Nothing is leased before this time, in ms since the epoch, by the clock. */
  blockedUntil = 0;
  /** Own limits, each plus one. 0: the limit of the set. */
  private ownDelayMs = 0;
  private ownMaxLeased = 0;
  private ownMaxUrls = 0;
  /**
   * Entries that were born by this time of the queue's clock are dropped, and no longer count. `voided` of them are
   * still stored in other states, and those that waited in the rows from `voidFrom` up to `voidTo`.
   */
  dropped = 0;
  voided = 0;
  voidFrom = 0;
  voidTo = 0;
  name = '';

  readonly id: string;
  readonly key: Buffer;
  /** Appends entries to the lane's log with the next flush. */
  readonly pending: ((log: QueueLog) => void)[] = [];
  /** Entries were leased from the lane since the last flush. */
  served = false;
  /** The number of waiting entries at the last flush. */
  known: number;

  /** `key`: the generation and the id of the lane. `record` is absent if the lane is new. */
  constructor(key: Buffer, record: Buffer | undefined) {
    this.key = key;
    this.id = key.toString('latin1');
    if (record) {
      for (const [n, name] of STORED.entries())
        this[name] = record.readUIntBE(n * NUMBER_BYTES, NUMBER_BYTES);
      this.name = record.toString('utf8', NAME_AT);
    }
    this.known = this.waiting;
    this.stored = record !== undefined;
  }

  /** The lane has a record. */
  stored: boolean;

  /** True if this is its id. */
  isOf(first: number, second: number): boolean {
    const { key } = this;
    return key.readUInt32BE(GENERATION_BYTES) === first && key.readUInt32BE(GENERATION_BYTES + 4) === second;
  }

  get numbers(): LaneNumbers {
    return this;
  }

  /** Number of entries of the host in any state. */
  get held(): number {
    return this.waiting + this.leased + this.delayed + this.dead;
  }

  /** URLs that count in this period. */
  foundIn({ number, end, base }: Period): number {
    if (this.base !== base) {
      // A sync was committed. In a set that ages, some URLs that it kept are from earlier periods.
      const kept = this.keptIn(base);
      this.found = end > 0 ? Math.min(this.found, kept) : kept;
      this.base = base;
    }
    if (this.period !== number) {
      this.period = number;
      this.found = 0;
    }
    return this.found;
  }

  /** URLs of the host in the layers of a sync. */
  keptIn(base: number): number {
    return this.keptBase === base ? this.kept : 0;
  }

  /** The layers of a sync got or lost URLs of the host. */
  keep(base: number, by: number): void {
    this.kept = Math.max(0, this.keptIn(base) + by);
    this.keptBase = base;
  }

  /** The limits of the host that replace those of the set. */
  get own(): PerHost | undefined {
    const { ownDelayMs, ownMaxLeased, ownMaxUrls } = this;
    if (ownDelayMs + ownMaxLeased + ownMaxUrls === 0) return undefined;
    return {
      ...(ownDelayMs > 0 && { delayMs: ownDelayMs - 1 }),
      ...(ownMaxLeased > 0 && { maxLeased: ownMaxLeased - 1 }),
      ...(ownMaxUrls > 0 && { maxUrls: ownMaxUrls - 1 }),
    };
  }

  set own(limits: PerHost | undefined) {
    const { delayMs = -1, maxLeased = -1, maxUrls = -1 } = limits ?? {};
    this.ownDelayMs = delayMs + 1;
    this.ownMaxLeased = maxLeased + 1;
    this.ownMaxUrls = maxUrls + 1;
  }

  /** All limits of the host. `perHost`: those of the set. */
  limits(perHost: PerHost): PerHost {
    const { own } = this;
    return own ? { ...perHost, ...own } : perHost;
  }

  /** Drops all entries. Returns how many were in each state other than waiting. */
  drop(clock: number): Readonly<Record<HeldState, number>> {
    const { leased, delayed, dead } = this;
    this.dropped = clock;
    this.voided += leased + delayed + dead;
    if (this.voidFrom >= this.voidTo) this.voidFrom = this.headRow;
    this.voidTo = this.nextRow;
    Object.assign(this, { waiting: 0, leased: 0, delayed: 0, dead: 0 });
    Object.assign(this, { headRow: this.nextRow, headAt: 0, headDiscoveredAt: 0 });
    return { leased, delayed, dead };
  }

  /** Dropped entries are still stored. */
  get hasDropped(): boolean {
    return this.voided > 0 || this.voidFrom < this.voidTo;
  }

  encode(): Buffer {
    const record = Buffer.allocUnsafe(NAME_AT + Buffer.byteLength(this.name));
    for (const [n, name] of STORED.entries()) record.writeUIntBE(this[name], n * NUMBER_BYTES, NUMBER_BYTES);
    record.write(this.name, NAME_AT);
    return record;
  }
}

/** A time in which discoveries are counted together. */
export interface Period {
  /** Its number, in a set that ages. */
  readonly number: number;
  /** When it ends, in the queue's time; 0 if time does not end it. */
  readonly end: number;
  /** Number of the filter's first layer: a committed sync changes what counts. */
  readonly base: number;
}

/** The period at this time of the queue. */
export function periodAt(
  { base, maxAgeSeconds }: Pick<Filter, 'base' | 'maxAgeSeconds'>,
  time: number,
): Period {
  if (maxAgeSeconds === undefined) return { number: 0, end: 0, base };
  const ms = maxAgeSeconds * 1_000;
  const number = Math.floor(time / ms);
  return { number, end: (number + 1) * ms, base };
}

/** The key of a lane's record. The rows of its log begin with it. */
export function laneKey(generation: Buffer, first: number, second: number): Buffer {
  const key = Buffer.allocUnsafe(GENERATION_BYTES + LANE_BYTES);
  key.set(generation);
  key.writeUInt32BE(first, GENERATION_BYTES);
  key.writeUInt32BE(second, GENERATION_BYTES + 4);
  return key;
}
