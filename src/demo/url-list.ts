import { createReadStream } from 'node:fs';
import { compileProfile, normaliseProfile } from '#url-key';
import { isLonger } from '../batches/entries.js';
import { DEFAULT_MAX_ITEM_BYTES } from '../config/config.js';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';

/** Facts about a line from the exact set, as flags to combine with OR. */
export const Flag = { Invalid: 0, Url: 1, First: 2, Stale: 4 } as const;

/** An input list, read once and compared with an exact set. */
export interface UrlList {
  readonly path: string;
  /** The flags of each non-empty line, one byte per line. */
  readonly lineFlags: Uint8Array;
  /** How many distinct URLs there are, by the URL key that the service uses. */
  readonly distinct: number;
}

const STALE_EVERY = 5;

/**
 * Reads an input list and sets each line's flags by an exact set of URL keys, which is the reference for the service.
 * Every fifth distinct URL is stale, with all its repetitions. Throws DemoError.
 */
export async function readUrlList(
  path: string,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<UrlList> {
  const canonicaliser = compileProfile(normaliseProfile('safe'));
  const staleByKey = new Map<string, boolean>();
  const lineFlags: number[] = [];
  const progress = new Progress(output, 'read');
  for await (const lines of blocksOfLines(path)) {
    signal.throwIfAborted();
    for (const line of lines) {
      const key = canonicaliser.key(line);
      if (typeof key !== 'string' || isLonger(line, DEFAULT_MAX_ITEM_BYTES)) {
        lineFlags.push(Flag.Invalid);
        continue;
      }
      const known = staleByKey.get(key);
      const stale = known ?? staleByKey.size % STALE_EVERY === STALE_EVERY - 1;
      if (known === undefined) staleByKey.set(key, stale);
      lineFlags.push(Flag.Url | (known === undefined ? Flag.First : 0) | (stale ? Flag.Stale : 0));
    }
    progress.add(lines.length);
  }
  if (staleByKey.size === 0) throw new DemoError(`${path} has no lines with http or https URLs`);
  progress.end();
  return { path, lineFlags: Uint8Array.from(lineFlags), distinct: staleByKey.size };
}

/** Reads the input list again, and yields the lines whose flags are wanted. Throws DemoError. */
export async function* linesOf(list: UrlList, wanted: (flags: number) => boolean): AsyncGenerator<string> {
  let at = 0;
  for await (const lines of blocksOfLines(list.path)) {
    for (const line of lines) {
      const flags = list.lineFlags[at++];
      if (flags === undefined)
        throw new DemoError(`${list.path} grew while the demo read it; run the demo again`);
      if (wanted(flags)) yield line;
    }
  }
}

/** Lines as the service splits them: at LF or CRLF, without empty lines. */
async function* blocksOfLines(path: string): AsyncGenerator<string[]> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8' })) {
      const lines = (rest + (chunk as string)).split('\n');
      rest = lines.pop() ?? '';
      yield withoutEnds(lines);
    }
  } catch (error) {
    throw new DemoError(`cannot read the list: ${(error as Error).message}`);
  }
  yield withoutEnds([rest]);
}

function withoutEnds(lines: readonly string[]): string[] {
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)).filter((line) => line !== '');
}
