import type { UrlWithPayload } from '#client';
import { LineError } from './line-error.js';
import { textsOf } from './texts.js';

/** `auto`: detects the format of each file by its first line. */
export type Format = 'auto' | 'text' | 'ndjson';

/** A line's value: an item or a URL. In NDJSON, also a URL with its payload. */
export type Line = string | UrlWithPayload;

/** A line's item or URL. */
export function itemOf(line: Line): string {
  return typeof line === 'string' ? line : line.url;
}

/** Options for reading files. */
export interface Reading {
  readonly format?: Format;
  /** Called with the number of bytes read. The numbers add up to the files' sizes, compressed or not. */
  readonly onRead?: (bytes: number) => void;
}

/** Longest line in characters, many times the service's limit. */
const MOST_LINE = 2 ** 20;

/** How errors refer to pasted text. */
const PASTED = 'The text';

/**
 * The files' lines, plain or gzip, one file after another. Pass pasted text as `new Blob([text])`. Skips empty lines.
 * Keeps only part of one file in memory. Throws LineError after the lines before the fault.
 */
export async function* linesOf(files: readonly Blob[], reading: Reading = {}): AsyncGenerator<Line> {
  for (const file of files)
    for await (const part of partsOf(file, reading)) for (const line of part) yield line;
}

/** A file's lines in arrays, because one generator step per line and level would cost more than all other work. */
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
    // Empty text marks the end of the file. The remaining text is then the last line.
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

/** undefined if the text is not a valid JSON line. */
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
