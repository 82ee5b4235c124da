import { isAscii, isUtf8 } from 'node:buffer';
import { ProblemError } from '../errors/problem.js';
import { isLonger } from './entries.js';
import type { LineFormat } from './line-format.js';
import { LongLine } from './long-line.js';

export interface LengthLimits {
  /** Maximum length of a line as sent, in bytes. */
  readonly maxLineBytes: number;
  /** A line that is too long becomes an item longer than this (see LongLine) or, if this is undefined, a fault. */
  readonly cutTo?: number | undefined;
}

/** A run of decoded lines. If a bad line follows them, `fault` is its error, and no lines follow. */
export interface Lines {
  readonly lines: string[];
  readonly fault?: ProblemError;
}

export function tooLong(maxLineBytes: number): ProblemError {
  return new ProblemError('VALIDATION_FAILED', `a line may have at most ${maxLineBytes} bytes`);
}

/**
 * Decodes whole lines. Only the very last line may lack its line feed. The result for a line doesn't depend on its run.
 */
export function decodeLines(bytes: Buffer, format: LineFormat, limits: LengthLimits): Lines {
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) return decodeOneByOne(bytes, format, limits);
  const lines = bytes.toString(ascii ? 'latin1' : 'utf8').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const { maxLineBytes } = limits;
  const short = bytes.length <= maxLineBytes || !lines.some((line) => isLonger(line, maxLineBytes));
  return short ? { lines } : decodeOneByOne(bytes, format, limits);
}

const LF = 0x0a;

/** For a run with a line that is too long or not UTF-8. The lines before the fault count. */
function decodeOneByOne(bytes: Buffer, format: LineFormat, { maxLineBytes, cutTo }: LengthLimits): Lines {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(LF, start);
    const line = bytes.subarray(start, end < 0 ? bytes.length : end);
    start += line.length + 1;
    if (line.length > maxLineBytes) {
      if (cutTo === undefined) return { lines, fault: tooLong(maxLineBytes) };
      const long = new LongLine(format, cutTo);
      long.skip(line);
      lines.push(long.text());
    } else if (isUtf8(line)) {
      lines.push(line.toString('utf8'));
    } else {
      return { lines, fault: new ProblemError('VALIDATION_FAILED', 'the line is not valid UTF-8') };
    }
  }
  return { lines };
}
