import type { IncomingMessage } from 'node:http';
import { ProblemError } from '../errors/problem.js';
import { StreamedBody, type StreamLimits } from '../http/streamed-body.js';
import type { Permit } from '../request/permit.js';
import type { LineFormat } from './line-format.js';
import { decodeLines, tooLong, type LengthLimits, type Lines } from './lines.js';
import { LongLine } from './long-line.js';

export type LineLimits = StreamLimits & LengthLimits;

/** An unread streamed body. Reading it takes memory for one chunk and one line. */
export class LineInput extends StreamedBody {
  constructor(
    payload: IncomingMessage,
    readonly format: LineFormat,
    permit?: Permit,
  ) {
    super(payload, permit);
  }

  /** The lines, in runs as they arrive. Never throws. Instead, the last run reports the fault. Call it once. */
  async *lines(limits: LineLimits): AsyncGenerator<Lines, void, undefined> {
    let rest: Buffer[] = [];
    let restBytes = 0;
    let long: LongLine | undefined;
    try {
      for await (const chunk of this.chunks(limits)) {
        let from = 0;
        if (long) {
          const end = chunk.indexOf(LF);
          long.skip(end < 0 ? chunk : chunk.subarray(0, end));
          if (end < 0) continue;
          yield { lines: [long.text()] };
          long = undefined;
          from = end + 1;
        }
        const cut = chunk.lastIndexOf(LF) + 1;
        if (cut > from) {
          const run = decodeLines(joined(rest, chunk.subarray(from, cut)), this.format, limits);
          yield run;
          if (run.fault) return;
          rest = [];
          restBytes = 0;
          from = cut;
        }
        if (from < chunk.length) rest.push(chunk.subarray(from));
        restBytes += chunk.length - from;
        if (restBytes <= limits.maxLineBytes) continue;
        if (limits.cutTo === undefined) throw tooLong(limits.maxLineBytes);
        long = new LongLine(this.format, limits.cutTo);
        for (const part of rest.splice(0)) long.skip(part);
        restBytes = 0;
      }
      if (long) yield { lines: [long.text()] };
      else if (restBytes > 0) yield decodeLines(Buffer.concat(rest), this.format, limits);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      yield { lines: [], fault: error };
    }
  }
}

const LF = 0x0a;

function joined(rest: readonly Buffer[], last: Buffer): Buffer {
  return rest.length === 0 ? last : Buffer.concat([...rest, last]);
}
