import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { entryFault, type Discovery, type Entries } from './entries.js';
import { BYTE_ORDER_MARK, type LineFormat } from './line-format.js';
import type { LineInput, LineLimits } from './line-input.js';

/** Lines of the input that go to the store in one call. Fixed, because operation ids go by the first line's number. */
export const BLOCK_LINES = 1_000;

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
}

/** A streamed body in blocks. Never throws: a fault is the last block's. */
export async function* lineBlocks(
  input: LineInput,
  limits: ItemLimits,
): AsyncGenerator<LineBlock, void, undefined> {
  let from = 1;
  let lines: string[] = [];
  for await (const run of input.lines(limits)) {
    for (const line of run.lines) lines.push(line);
    input.holds(lengthOf(lines));
    let taken = 0;
    while (lines.length - taken >= BLOCK_LINES) {
      const block = await readBlock(input.format, from, lines.slice(taken, taken + BLOCK_LINES), limits);
      yield block;
      if (block.fault) return;
      taken += BLOCK_LINES;
      from += BLOCK_LINES;
    }
    if (taken > 0) {
      lines = lines.slice(taken);
      input.holds(lengthOf(lines));
    }
    if (run.fault) {
      const block = await readBlock(input.format, from, lines, limits);
      yield block.fault ? block : { ...block, fault: atLine(from + lines.length, run.fault) };
      return;
    }
  }
  if (lines.length > 0) yield await readBlock(input.format, from, lines, limits);
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
