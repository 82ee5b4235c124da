import { openSync, readFileSync, writeSync } from 'node:fs';
import type { QueueAttempt, QueueOperation } from '../queue-history.js';

/** Two clocks agree well enough if the readings are this close, in ms. */
const CLOSE_MS = 0.5;
const READINGS = 1_000;
/** Added to performance.now(), this makes one clock for all processes, in ms. */
const CLOCK_MS = clockOffset();

type Line =
  | { readonly sent: QueueOperation; readonly at: number }
  | { readonly attempts: readonly Omit<QueueAttempt, 'operation'>[] };

/** Takes the closest of several readings, because other processes may interrupt a reading. */
function clockOffset(): number {
  let best = { apart: Infinity, offset: 0 };
  for (let n = 0; n < READINGS && best.apart > CLOSE_MS; n++) {
    const before = performance.now();
    const clock = Number(process.hrtime.bigint()) / 1e6;
    const apart = performance.now() - before;
    if (apart < best.apart) best = { apart, offset: clock - before };
  }
  return best.offset;
}

/** A worker's requests and answers, in a file that is complete whenever the worker is killed. */
export class RequestLog {
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  /** Call this before an operation's first request. */
  sends(operation: QueueOperation): void {
    this.write({ sent: operation, at: performance.now() + CLOCK_MS });
  }

  /** Call this after its last request. */
  learns(attempts: readonly QueueAttempt[]): void {
    this.write({ attempts: attempts.map(({ operation: _, ...attempt }) => shifted(attempt, CLOCK_MS)) });
  }

  private write(line: Line): void {
    writeSync(this.file, `${JSON.stringify(line)}\n`);
  }
}

/** A log's attempts, on this process's clock. An operation that the worker's end cut off may have taken effect. */
export function readLog(path: string): QueueAttempt[] {
  const attempts: QueueAttempt[] = [];
  let sent: { readonly operation: QueueOperation; readonly at: number } | undefined;
  // Text after the last line break was cut off during writing.
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const line = JSON.parse(text) as Line;
    if ('sent' in line) {
      sent = { operation: line.sent, at: line.at - CLOCK_MS };
    } else if (sent) {
      const { operation } = sent;
      attempts.push(...line.attempts.map((attempt) => ({ operation, ...shifted(attempt, -CLOCK_MS) })));
      sent = undefined;
    }
  }
  if (!sent) return attempts;
  const { operation, at } = sent;
  const common = { client: 0, instance: 0, start: at, end: at };
  return [...attempts, { operation, ...common, outcome: 'info', note: 'the worker was killed' }];
}

function shifted<Attempt extends { readonly start: number; readonly end: number }>(
  attempt: Attempt,
  ms: number,
): Attempt {
  return { ...attempt, start: attempt.start + ms, end: attempt.end + ms };
}
