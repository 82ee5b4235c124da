import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../errors/problem.js';
import { StreamedBody, type StreamLimits } from '../http/streamed-body.js';
import type { Slot } from '../overload/in-flight.js';

/** `ndjson`: a JSON string a line. `text`: a line an item, LF or CRLF. */
export type LineFormat = 'ndjson' | 'text';

export interface LineLimits extends StreamLimits {
  /** Bytes of one line on the wire. */
  readonly maxLineBytes: number;
}

/** A run of decoded lines. `fault`: what is wrong with the line after them; no more lines follow. */
export interface Lines {
  readonly lines: string[];
  readonly fault?: ProblemError;
}

/** A streamed body that has not been read yet. Memory: one chunk and one line. */
export class LineInput extends StreamedBody {
  constructor(
    payload: IncomingMessage,
    readonly format: LineFormat,
    slot?: Slot,
  ) {
    super(payload, slot);
  }

  /** The lines in the runs they arrive in. Does not throw: a fault is the last run's. Read it once. */
  async *lines(limits: LineLimits): AsyncGenerator<Lines, void, undefined> {
    let rest: Buffer[] = [];
    let restBytes = 0;
    try {
      for await (const chunk of this.chunks(limits)) {
        const cut = chunk.lastIndexOf(LF) + 1;
        if (cut > 0) {
          const run = decodeLines(
            rest.length === 0 ? chunk.subarray(0, cut) : Buffer.concat([...rest, chunk.subarray(0, cut)]),
          );
          yield run;
          if (run.fault) return;
          rest = [];
          restBytes = 0;
        }
        if (cut < chunk.length) rest.push(chunk.subarray(cut));
        restBytes += chunk.length - cut;
        if (restBytes > limits.maxLineBytes) throw tooLong(limits.maxLineBytes);
      }
      if (restBytes > 0) yield decodeLines(Buffer.concat(rest));
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      yield { lines: [], fault: error };
    }
  }
}

const LF = 0x0a;

function tooLong(maxLineBytes: number): ProblemError {
  return new ProblemError('VALIDATION_FAILED', `a line has at most ${maxLineBytes} bytes`);
}

/** Bytes that hold whole lines, decoded; only the very last line may lack its end. */
function decodeLines(bytes: Buffer): Lines {
  if (isAscii(bytes)) return { lines: splitLines(bytes.toString('latin1')) };
  if (isUtf8(bytes)) return { lines: splitLines(bytes.toString('utf8')) };
  // Somewhere in here a line is broken: those before it count.
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(LF, start);
    const line = bytes.subarray(start, end < 0 ? bytes.length : end);
    if (!isUtf8(line)) break;
    start = end + 1;
  }
  return {
    lines: splitLines(bytes.subarray(0, start).toString('utf8')),
    fault: new ProblemError('VALIDATION_FAILED', 'the line is not valid UTF-8'),
  };
}

function splitLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
