import type { ErrorCode } from '../errors/error-codes.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { entryFault, type Discovery, type Entries } from './entries.js';
import { BYTE_ORDER_MARK, type LineFormat } from './line-format.js';
import type { LineInput, LineLimits } from './line-input.js';

/**
 * How many lines go to the store in one call. Fixed, because the id of a block's operation depends on its first line
 * number.
 */
export const BLOCK_LINES = 1_000;

/** A block ends early if the sender pauses for this long. */
export const PAUSE_MS = 20;

/** How many characters to read before checking the turn's budget again. */
const PORTION_LENGTH = 16 * PORTION;

/** The items of up to BLOCK_LINES lines. If a bad line follows them, `fault` is its error, and no block follows. */
export interface LineBlock {
  /** Number of the first line, from 1. */
  readonly from: number;
  readonly items: readonly Discovery[];
  readonly fault?: LineFault;
}

/** An error that names its line. */
export interface LineFault {
  readonly line: number;
  readonly problem: ProblemError;
}

export interface ItemLimits extends LineLimits {
  readonly entries: Entries;
  /** UTF-8 bytes. */
  readonly maxItemBytes: number;
  /**
   * True if only lines end a block, never a pause. A block's lines identify its operation, so a repeat of the stream
   * must have the same blocks.
   */
  readonly wholeBlocks: boolean;
}

/**
 * Splits a streamed body into blocks. A block ends at a line whose number is a multiple of BLOCK_LINES, or earlier if
 * the sender pauses and `wholeBlocks` is false. Never throws. Instead, the last block reports the fault.
 */
export async function* lineBlocks(
  input: LineInput,
  limits: ItemLimits,
): AsyncGenerator<LineBlock, void, undefined> {
  const { wholeBlocks } = limits;
  const runs = input.lines(limits);
  let from = 1;
  let lines: string[] = [];
  // The length of the last block yielded. The store may still be working on it while the next one is read.
  let given = 0;
  const take = (count: number): Promise<LineBlock> => {
    const taken = lines.slice(0, count);
    lines = lines.slice(count);
    given = lengthOf(taken);
    const block = readBlock(input.format, from, taken, limits);
    from += count;
    return block;
  };
  try {
    for (;;) {
      const arriving = runs.next();
      // The consumer may leave before this arrives.
      arriving.catch(() => undefined);
      if (!wholeBlocks && lines.length > 0 && (await isPausing(arriving))) {
        yield await take(lines.length);
        input.holds(given);
      }
      const { done, value: run } = await arriving;
      if (done) break;
      for (const line of run.lines) lines.push(line);
      input.holds(given + lengthOf(lines));
      for (let left = leftInBlock(from); lines.length >= left; left = leftInBlock(from)) {
        const block = await take(left);
        yield block;
        if (block.fault) return;
        input.holds(given + lengthOf(lines));
      }
      if (run.fault) {
        yield await lastBlock(run.fault);
        return;
      }
    }
    if (lines.length > 0) yield await take(lines.length);
  } finally {
    // Not awaited: it may wait for the sender.
    void runs.return();
  }

  async function lastBlock(fault: ProblemError): Promise<LineBlock> {
    // A repeat may get further, so it must not find an operation for this incomplete block.
    if (wholeBlocks && OF_TIME.has(fault.code)) return { from, items: [], fault: atLine(from, fault) };
    const end = from + lines.length;
    const block = await take(lines.length);
    return block.fault ? block : { ...block, fault: atLine(end, fault) };
  }
}

/** Errors that depend on when lines arrive, not on their contents. */
const OF_TIME: ReadonlySet<ErrorCode> = new Set(['REQUEST_TIMEOUT', 'OVERLOADED']);

function leftInBlock(from: number): number {
  return BLOCK_LINES - ((from - 1) % BLOCK_LINES);
}

async function isPausing(arriving: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const paused = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), PAUSE_MS);
  });
  try {
    return await Promise.race([arriving.then(() => false), paused]);
  } finally {
    clearTimeout(timer);
  }
}

/** Approximate size of lines in bytes. The incomplete line at the end of a chunk is small enough to leave out. */
function lengthOf(lines: readonly string[]): number {
  let length = 0;
  for (const line of lines) length += line.length;
  return length;
}

/** Reads items from lines, up to the first bad line, in portions. */
async function readBlock(
  format: LineFormat,
  from: number,
  lines: string[],
  limits: ItemLimits,
): Promise<LineBlock> {
  const items: Discovery[] = [];
  for (let start = 0; start < lines.length;) {
    if (turn.isSpent()) await turn.next();
    const end = portionEnd(lines, start);
    const fault = readLines(format, from + start, lines.slice(start, end), limits, items);
    if (fault) return { from, items, fault };
    start = end;
  }
  return { from, items };
}

/** End of the portion that begins at `start`. A block of ordinary lines is one portion. */
function portionEnd(lines: readonly string[], start: number): number {
  let end = start;
  for (let length = 0; end < lines.length && length < PORTION_LENGTH; end++)
    length += lines[end]?.length ?? 0;
  return end;
}

/** Appends some lines' items to `items`. `from` is the number of the first line. Returns the first fault. */
function readLines(
  format: LineFormat,
  from: number,
  lines: string[],
  limits: ItemLimits,
  items: Discovery[],
): LineFault | undefined {
  const values = format === 'text' ? textLines(lines, from) : parseLines(lines);
  for (let i = 0; i < lines.length; i++) {
    const value = values[i];
    if (format === 'text' && value === '') continue;
    const fault =
      value === undefined ? 'must be a JSON string' : entryFault(value, limits.entries, limits.maxItemBytes);
    if (fault !== undefined) {
      const line = from + i;
      const detail = `line ${line} ${fault}; it is ${show(lines[i])}`;
      return { line, problem: new ProblemError('VALIDATION_FAILED', detail, { line }) };
    }
    items.push(value as Discovery);
  }
  return undefined;
}

/** The problem, with its line number. */
export function atLine(line: number, problem: ProblemError): LineFault {
  const detail = `line ${line}: ${problem.message}`;
  return {
    line,
    problem: new ProblemError(problem.code, detail, { line, headers: problem.headers, cause: problem.cause }),
  };
}

function textLines(lines: readonly string[], from: number): string[] {
  const texts = lines.map(withoutCr);
  const [first] = texts;
  if (from === 1 && first?.startsWith(BYTE_ORDER_MARK)) texts[0] = first.slice(BYTE_ORDER_MARK.length);
  return texts;
}

function withoutCr(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

/**
 * The values of NDJSON lines, `undefined` for invalid ones. Parses all lines as one array, in half the time of parsing
 * them one by one. If the array has as many values as lines, and all of them are strings, each line is exactly one
 * string. The reason: no string can contain the line feed between two lines, and each line adds at least one value or
 * makes the array invalid.
 */
function parseLines(lines: readonly string[]): unknown[] {
  try {
    const values = JSON.parse(`[${lines.join(',\n')}]`) as unknown[];
    if (values.length === lines.length && values.every((value) => typeof value === 'string')) return values;
  } catch {
    // On an invalid line, the array is invalid. Parse line by line to find the bad one.
  }
  return lines.map(parseLine);
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
