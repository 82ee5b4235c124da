import type { Database } from '../database/database.js';
import type { HeadRows } from '../filters/head-rows.js';
import { allLogs, servedLevels, type LogNumbers } from '../filters/logs.js';
import type { Basket } from './basket.js';
import type { Entry, EntryChange, NewEntry } from './entry.js';
import type { Lane } from './lane.js';
import { QueueLog, ROWS_OF_LEVEL, type HostOf } from './log.js';

/** Appends an entry to the log for its level. */
interface Append {
  readonly level: number;
  readonly to: (log: QueueLog) => void;
}

/**
 * A lane's waiting entries, with one log per priority. Most lanes have only normal entries, and need no other logs. Use
 * it inside a transaction, and flush it before you use another lane.
 */
export class LaneLogs {
  private readonly normal: QueueLog;
  /** Entries with other priorities. They wait here, because only one log at a time accepts entries. */
  private others: Append[] = [];

  constructor(
    private readonly database: Database,
    private readonly lane: Lane,
    private readonly heads: HeadRows,
  ) {
    this.normal = this.logOf(0, lane.numbers.logs[0]);
  }

  append(entry: Entry, change?: EntryChange): void {
    const { level } = entry;
    if (level === 0) this.normal.append(entry, change);
    else this.others.push({ level, to: (log) => log.append(entry, change) });
  }

  /** See EntryPacker.addNew. */
  appendNew(hashes: Uint32Array, word: number, made: NewEntry, payload: string, host?: HostOf): void {
    const { level } = made;
    if (level === 0) this.normal.appendNew(hashes, word, made, payload, host);
    else this.others.push({ level, to: (log) => log.appendNew(hashes, word, made, payload, host) });
  }

  /** Writes the appended entries. Call it before a head is read, and at the end of a change. */
  flush(): void {
    this.normal.flush();
    if (this.others.length === 0) return;
    const { numbers } = this.lane;
    numbers.logs = allLogs(numbers.logs);
    for (const [level, log] of this.all()) {
      const appends = this.others.filter((append) => append.level === level);
      for (const { to } of appends) to(log);
      log.flush();
    }
    this.others = [];
  }

  /** Fills a basket from the heads. */
  take(basket: Basket): void {
    this.flush();
    basket.fill(this);
  }

  /** True if an entry is waiting. */
  get isReady(): boolean {
    return this.lane.numbers.logs.some(({ waiting }) => waiting > 0);
  }

  /** Takes entries off the heads, higher priorities first, until one is not wanted. The taken entries stay readable. */
  takeWhile(wanted: (entry: Entry) => boolean): void {
    // The usual case.
    if (this.lane.numbers.logs.length === 1) this.normal.takeWhile(wanted);
    else for (const [, log] of this.all()) if (!log.takeWhile(wanted)) return;
  }

  /** Removes void entries from the first row at or after this place. Returns the next place, if there is such a row. */
  sweep(place: number, lives: (entry: Entry) => boolean): number | undefined {
    for (const [level, numbers] of this.lane.numbers.logs.entries()) {
      const first = level * ROWS_OF_LEVEL;
      const row = Math.max(place - first, numbers.headRow);
      if (row >= numbers.nextRow) continue;
      this.logOf(level, numbers).sweep(row, lives);
      return first + row + 1;
    }
    return undefined;
  }

  private *all(): Generator<readonly [level: number, log: QueueLog]> {
    const { logs } = this.lane.numbers;
    for (const level of servedLevels(logs)) {
      const numbers = logs[level];
      if (numbers) yield [level, level === 0 ? this.normal : this.logOf(level, numbers)];
    }
  }

  private logOf(level: number, numbers: LogNumbers): QueueLog {
    return new QueueLog(this.database, this.lane, level, numbers, this.heads);
  }
}
