import type { Filter, PerHost } from '../../port/index.js';
import { GENERATION_BYTES } from '../database/keys.js';
import { allLogs, LOG_NUMBERS, newLogs, waitingIn } from '../filters/logs.js';
import type { LaneLogs } from './lane-logs.js';
import type { Lane } from './lane.js';

/** Length of a lane's id, which is the first two words of its host's hash. */
export const LANE_BYTES = 8;

/** The numbers that each record has, in this order. Those of the normal log follow (filters/logs.ts). */
const COMMON = [
  ...['leased', 'delayed', 'dead', 'readyAt', 'dueAt', 'turn', 'found', 'period', 'base', 'kept', 'keptBase'],
] as const;
/** Numbers that few records have. A part is absent if all its numbers are 0. */
const SETTINGS = ['blockedUntil', 'ownDelayMs', 'ownMaxLeased', 'ownMaxUrls', 'dropped', 'voided'] as const;
const VOID = ['voidFrom', 'voidTo'] as const;
const NUMBER_BYTES = 6;

/** States of entries that aren't waiting. */
export const HELD_STATES = ['leased', 'delayed', 'scheduled', 'dead'] as const;
export type HeldState = (typeof HELD_STATES)[number];

/**
 * A host's lane, read from its record. The record has a byte with a bit for each optional part, then the numbers (6
 * bytes each), then the host's name in UTF-8. All times are on the queue's own clock (`QueueState.timeAt`).
 */
export class HostLane implements Lane {
  /** Number of the host's entries, by state. */
  leased = 0;
  delayed = 0;
  scheduled = 0;
  dead = 0;
  /** The waiting entries. */
  logs = newLogs();
  /** No entry may be leased from the lane before this time. */
  readyAt = 0;
  /**
   * The lane's place in the index of turns: a time, and a number among the lanes with that time. `dueAt` is 0 if the
   * lane has no place.
   */
  dueAt = 0;
  turn = 0;
  /**
   * Number of the host's URLs that were discovered and not forgotten. Counts only URLs of this `period`, and of the
   * layers whose first one has the number `base`.
   */
  found = 0;
  period = 0;
  base = 0;
  /** How many of the host's URLs are in the layers of the sync whose first layer has this number. */
  kept = 0;
  keptBase = 0;
  /** No entry may be leased before this time on the clock, in ms since the epoch. */
  blockedUntil = 0;
  /** The host's own limits, each plus one. 0 means the set's limit. */
  private ownDelayMs = 0;
  private ownMaxLeased = 0;
  private ownMaxUrls = 0;
  /**
   * Entries created by this time of the queue's clock are dropped and no longer count. `voided` of them are still
   * stored as delayed, scheduled or dead, and `droppedLeased` are still leased.
   */
  dropped = 0;
  voided = 0;
  droppedLeased = 0;
  name = '';

  readonly id: string;
  readonly key: Buffer;
  /** Calls for the next flush. They append entries to the lane's logs. */
  readonly pending: ((logs: LaneLogs) => void)[] = [];
  /** True if entries were leased from the lane since the last flush. */
  served = false;
  /** The number of waiting entries in the stored record. */
  storedWaiting: number;
  /** Since the last flush: the first time at which an entry came due. Undefined if entries were already waiting. */
  cameAt: number | undefined;
  /** Since the last flush: when the lane had fewer than `maxLeased` entries in progress again. */
  freedAt: number | undefined;

  /** `key`: the generation and the lane's id. `record` is absent if the lane is new. */
  constructor(key: Buffer, record: Buffer | undefined) {
    this.key = key;
    this.id = key.toString('latin1');
    if (record) this.decode(record);
    this.storedWaiting = this.waiting;
    this.stored = record !== undefined;
  }

  /** True if the lane has a record. */
  stored: boolean;

  /** True if this is the lane's id. */
  isOf(first: number, second: number): boolean {
    const { key } = this;
    return key.readUInt32BE(GENERATION_BYTES) === first && key.readUInt32BE(GENERATION_BYTES + 4) === second;
  }

  get numbers(): this {
    return this;
  }

  get waiting(): number {
    return waitingIn(this.logs);
  }

  /** Number of entries that workers may be processing. A worker doesn't know that its entry was dropped. */
  get inProgress(): number {
    return this.leased + this.droppedLeased;
  }

  /** Number of the host's entries in any state. */
  get held(): number {
    return this.waiting + this.leased + this.delayed + this.scheduled + this.dead;
  }

  /** Number of the host's URLs that count in this period. */
  foundIn({ number, end, base }: Period): number {
    if (this.base !== base) {
      // A sync was committed. In a set that ages, it also kept URLs from earlier periods.
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

  /** How many of the host's URLs are in a sync's layers. */
  keptIn(base: number): number {
    return this.keptBase === base ? this.kept : 0;
  }

  /** Counts URLs of the host that a sync's layers gained (`by` is positive) or lost. */
  keep(base: number, by: number): void {
    this.kept = Math.max(0, this.keptIn(base) + by);
    this.keptBase = base;
  }

  /** The host's own limits, which replace the set's. */
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

  /** All of the host's limits. `perHost`: the set's limits. */
  limits(perHost: PerHost): PerHost {
    const { own } = this;
    return own ? { ...perHost, ...own } : perHost;
  }

  /** Drops all entries. Returns how many were in each state other than waiting. */
  drop(clock: number): Readonly<Record<HeldState, number>> {
    const { leased, delayed, scheduled, dead } = this;
    this.dropped = clock;
    this.voided += delayed + scheduled + dead;
    this.droppedLeased += leased;
    for (const log of this.logs) {
      const { nextRow } = log;
      if (log.voidFrom >= log.voidTo) log.voidFrom = log.headRow;
      Object.assign(log, { voidTo: nextRow, waiting: 0, headRow: nextRow, headAt: 0, headDiscoveredAt: 0 });
    }
    Object.assign(this, { leased: 0, delayed: 0, scheduled: 0, dead: 0 });
    return { leased, delayed, scheduled, dead };
  }

  /** True if dropped entries are still stored. */
  get hasDropped(): boolean {
    return this.voided + this.droppedLeased > 0 || this.hasDroppedRows;
  }

  /** True if rows of dropped waiting entries are still stored. */
  get hasDroppedRows(): boolean {
    return this.logs.some(({ voidFrom, voidTo }) => voidFrom < voidTo);
  }

  encode(): Buffer {
    const { logs } = this;
    const has = {
      scheduled: this.scheduled > 0,
      settings: SETTINGS.some((name) => this[name] > 0),
      voids: this.hasDroppedRows,
      droppedLeased: this.droppedLeased > 0,
    };
    let numbers = COMMON.length + logs.length * LOG_NUMBERS.length;
    if (has.scheduled) numbers++;
    if (has.settings) numbers += SETTINGS.length;
    if (has.voids) numbers += logs.length * VOID.length;
    if (has.droppedLeased) numbers++;
    const nameAt = 1 + numbers * NUMBER_BYTES;
    const record = Buffer.allocUnsafe(nameAt + Buffer.byteLength(this.name));
    const parts = [has.scheduled, logs.length > 1, has.settings, has.voids, has.droppedLeased];
    record[0] = parts.reduce((sum, isThere, n) => sum + Number(isThere) * 2 ** n, 0);
    let at = 1;
    const put = (number: number): void => {
      at = record.writeUIntBE(number, at, NUMBER_BYTES);
    };
    for (const name of COMMON) put(this[name]);
    for (const log of logs) for (const name of LOG_NUMBERS) put(log[name]);
    if (has.scheduled) put(this.scheduled);
    if (has.settings) for (const name of SETTINGS) put(this[name]);
    if (has.voids) for (const log of logs) for (const name of VOID) put(log[name]);
    if (has.droppedLeased) put(this.droppedLeased);
    record.write(this.name, nameAt);
    return record;
  }

  private decode(record: Buffer): void {
    let at = 1;
    const next = (): number => {
      at += NUMBER_BYTES;
      return record.readUIntBE(at - NUMBER_BYTES, NUMBER_BYTES);
    };
    const has = (part: number): boolean => ((record[0] as number) & part) !== 0;
    for (const name of COMMON) this[name] = next();
    if (has(2)) this.logs = allLogs(this.logs);
    for (const log of this.logs) for (const name of LOG_NUMBERS) log[name] = next();
    if (has(1)) this.scheduled = next();
    if (has(4)) for (const name of SETTINGS) this[name] = next();
    if (has(8)) for (const log of this.logs) for (const name of VOID) log[name] = next();
    if (has(16)) this.droppedLeased = next();
    this.name = record.toString('utf8', at);
  }
}

/** A period in which discoveries are counted together. */
export interface Period {
  /** Its number, in a set that ages. */
  readonly number: number;
  /** When it ends, in the queue's time, or 0 if time doesn't end it. */
  readonly end: number;
  /** Number of the filter's first layer. When a sync is committed, this number and the URLs that count change. */
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

/** The key of a lane's record. Row keys in its log begin with it. */
export function laneKey(generation: Buffer, first: number, second: number): Buffer {
  const key = Buffer.allocUnsafe(GENERATION_BYTES + LANE_BYTES);
  key.set(generation);
  key.writeUInt32BE(first, GENERATION_BYTES);
  key.writeUInt32BE(second, GENERATION_BYTES + 4);
  return key;
}
