/** A log's numbers, stored in this order. */
export const LOG_NUMBERS = ['waiting', 'headRow', 'headAt', 'headDiscoveredAt', 'nextRow'] as const;

export class LogNumbers {
  /** Number of waiting entries. */
  waiting = 0;
  /** The head: its row, the offset in the row, and when the entry there was discovered, if any. */
  headRow = 1;
  headAt = 0;
  headDiscoveredAt = 0;
  /** The next number to assign to a row. */
  nextRow = 1;
  /** In hosts' lanes: the rows from `voidFrom` to `voidTo` hold dropped entries, and are still to be deleted. */
  voidFrom = 0;
  voidTo = 0;
}

/** A lane's logs: only the one for normal entries, or one per priority, by level (queue/entry.ts). */
export type Logs = readonly [LogNumbers, ...LogNumbers[]];

/** Number of logs in a lane that has had entries with a priority other than normal. */
const LEVELS = 3;

/** The levels in the order in which entries are leased: high, normal, low. */
const SERVED = [1, 0, 2] as const;
const NORMAL = [0] as const;

export const newLogs = (): Logs => [new LogNumbers()];

/** All three logs. Creates those that don't exist. */
export const allLogs = ([normal, ...others]: Logs): Logs => [
  normal,
  ...(others.length > 0 ? others : Array.from({ length: LEVELS - 1 }, () => new LogNumbers())),
];

/** The logs' levels, in the order in which entries are leased. */
export const servedLevels = (logs: Logs): readonly number[] => (logs.length === 1 ? NORMAL : SERVED);

export function waitingIn(logs: Logs): number {
  let waiting = 0;
  for (const log of logs) waiting += log.waiting;
  return waiting;
}

/** The log with the entry that is leased next. Undefined if no entry waits. */
export function headOf(logs: Logs): LogNumbers | undefined {
  for (const level of servedLevels(logs)) {
    const log = logs[level];
    if (log && log.waiting > 0) return log;
  }
  return undefined;
}

/** The logs' numbers as stored, with the normal log first. */
export const packLogs = (logs: readonly LogNumbers[]): number[] =>
  logs.flatMap((log) => LOG_NUMBERS.map((name) => log[name]));

/** The logs from these numbers. */
export function unpackLogs(numbers: readonly number[]): Logs {
  const logs = newLogs();
  const all = numbers.length > LOG_NUMBERS.length ? allLogs(logs) : logs;
  for (const [level, log] of all.entries())
    for (const [n, name] of LOG_NUMBERS.entries())
      log[name] = numbers[level * LOG_NUMBERS.length + n] as number;
  return all;
}
