import type { ErrorCode } from '../errors/error-codes.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { entryFault, type Discovery, type Entries } from './entries.js';
import { BYTE_ORDER_MARK, type LineFormat } from './line-format.js';
import type { LineInput, LineLimits } from './line-input.js';

/** Lines of the input that go to the store in one call. Fixed, because operation ids go by the first line's number. */
export const BLOCK_LINES = 1_000;

/** How long the sender lets lines wait before they are a block. */
export const PAUSE_MS = 20;

/** Characters of lines that are read without asking for another turn of the event loop. */
const PORTION_LENGTH = 16 * PORTION;

/** The items of up to BLOCK_LINES lines. `fault`: what is wrong with the line after them; it is the last block. */
export interface LineBlock {
  /** Number of the first line, from 1. */
  readonly from: number;
  readonly items: readonly Discovery[];
  readonly fault?: LineFault;
}

/** A problem that names its line. */
export interface LineFault {
  readonly line: number;
  readonly problem: ProblemError;
}

export interface ItemLimits extends LineLimits {
  readonly entries: Entries;
  /** UTF-8 bytes. */
  readonly maxItemBytes: number;
  /**
   * Whether a block ends where its lines say so only, and never because of the time: the operation of a block is known by
   * its lines, so those of a repeated stream must be the same ones.
   */
  readonly wholeBlocks: boolean;
}

/**
 * A streamed body in blocks, each of them up to a line whose number is a multiple of BLOCK_LINES. Unless they must be
 * whole, one ends earlier when the sender pauses. Never throws: a fault is the last block's.
 */
export async function* lineBlocks(
  input: LineInput,
  limits: ItemLimits,
): AsyncGenerator<LineBlock, void, undefined> {
  const { wholeBlocks } = limits;
  const runs = input.lines(limits);
  let from = 1;
  let lines: string[] = [];
  // Of the block that was given last: it is in the store while the next one is read.
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
      // Whoever takes the blocks may leave before it has arrived.
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
    // Not awaited: it may be waiting for the sender.
    void runs.return();
  }

  async function lastBlock(fault: ProblemError): Promise<LineBlock> {
    // Another try need not come to its end here: what is no whole block is left to it.
    if (wholeBlocks && OF_TIME.has(fault.code)) return { from, items: [], fault: atLine(from, fault) };
    const end = from + lines.length;
    const block = await take(lines.length);
    return block.fault ? block : { ...block, fault: atLine(end, fault) };
  }
}

/** Errors that do not come from what a stream says, but from when it does. */
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

/** About the bytes that lines hold; the rest of a chunk that is no line yet is as little as one line. */
function lengthOf(lines: readonly string[]): number {
  let length = 0;
  for (const line of lines) length += line.length;
  return length;
}

/** Lines to items, up to the first bad one, some lines at a time. */
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

/** Where a portion of the lines ends that begins at `start`: a block of ordinary lines is one. */
function portionEnd(lines: readonly string[], start: number): number {
  let end = start;
  for (let length = 0; end < lines.length && length < PORTION_LENGTH; end++)
    length += lines[end]?.length ?? 0;
  return end;
}

/** Puts the items of some lines, of which the first one has the number `from`, to `items`; returns what is wrong. */
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
      const problem = new ProblemError('VALIDATION_FAILED', `${fault}; it is ${show(lines[i])}`);
      return atLine(from + i, problem);
    }
    items.push(value as Discovery);
  }
  return undefined;
}

/** `problem` as one that names the line it was met at. */
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
 * The values of NDJSON lines, `undefined` for broken ones. All at once, as one array, which costs half of parsing
 * line by line. That is safe: a string cannot hold the line feed put between lines, so no string spans two lines; every
 * line thus adds at least one value to the array or breaks it, and if the values are strings and as many as the lines,
 * each line is one of them.
 */
function parseLines(lines: readonly string[]): unknown[] {
  try {
    const values = JSON.parse(`[${lines.join(',\n')}]`) as unknown[];
    if (values.length === lines.length && values.every((value) => typeof value === 'string')) return values;
  } catch {
    // Line by line, then, to find the bad one.
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
