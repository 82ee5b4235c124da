import type { UrlWithPayload } from '#client';
import { LineError } from './line-error.js';
import { textsOf } from './texts.js';

/** `auto`: each file as its first line looks. */
export type Format = 'auto' | 'text' | 'ndjson';

/** What a line stands for: an item or a URL; in NDJSON also a URL with its payload. */
export type Line = string | UrlWithPayload;

/** The item or URL of a line. */
export function itemOf(line: Line): string {
  return typeof line === 'string' ? line : line.url;
}

/** How files are read. */
export interface Reading {
  readonly format?: Format;
  /** Told of bytes that were read, of the files as they are: their sizes add up to it. */
  readonly onRead?: (bytes: number) => void;
}

/** Longest line, in characters: many times what the service takes. */
const MOST_LINE = 2 ** 20;

/** What a text is called that was not in a file. */
const PASTED = 'The text';

/**
 * The lines of files, plain or compressed by gzip, one file after the other. A text that was pasted is `new Blob([text])`. Empty
 * lines are left out. It holds a part of one file at a time, however large they are. Throws LineError, after the lines before it.
 */
export async function* linesOf(files: readonly Blob[], reading: Reading = {}): AsyncGenerator<Line> {
  for (const file of files)
    for await (const part of partsOf(file, reading)) for (const line of part) yield line;
}

/** The lines of a file, many at a time: a step of a generator for each, on each floor, would cost more than all else. */
async function* partsOf(
  file: Blob,
  { format = 'auto', onRead = () => undefined }: Reading,
): AsyncGenerator<Line[]> {
  const name = 'name' in file ? (file as File).name : PASTED;
  let is = format;
  let number = 0;
  let rest = '';
  for await (const text of textsOf(file, name, onRead)) {
    const raw = (rest + text).split('\n');
    // The last text is empty: what is left then is a line.
    rest = text === '' ? '' : (raw.pop() ?? '');
    const lines: Line[] = [];
    for (const each of raw) {
      number++;
      const line = each.endsWith('\r') ? each.slice(0, -1) : each;
      if (is === 'auto' && line !== '') is = lineOfJson(line) === undefined ? 'text' : 'ndjson';
      if (line === '' || (is === 'ndjson' && line.trim() === '')) continue;
      const read = is === 'ndjson' ? lineOfJson(line) : line;
      if (read === undefined) {
        yield lines;
        throw new LineError(name, number, 'it is neither a JSON string nor an object with a url');
      }
      lines.push(read);
    }
    yield lines;
    if (rest.length > MOST_LINE)
      throw new LineError(name, number + 1, `it has more than ${MOST_LINE} characters`);
  }
}

/** Undefined: it is none. */
function lineOfJson(text: string): Line | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const { url, item, payload } = value as Readonly<Record<string, unknown>>;
  const entry = url ?? item;
  if (typeof entry !== 'string') return undefined;
  return typeof payload === 'string' ? { url: entry, payload } : entry;
}
