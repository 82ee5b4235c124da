import { parseArgs } from 'node:util';
import { DemoError } from './demo-error.js';

export const USAGE = `npm run demo -- [--url URL] [--error-rate P] [FILE]
npm run demo -- [--url URL] [--error-rate P] --sync OLD NEW

Streams a list of URLs, one per line, through a visited set, forgets every fifth URL, and compares with an exact set.

  FILE, --file FILE   the list (default: a sample of home pages of Debian packages)
  --sync OLD NEW      compares two lists instead: fills a visited set from OLD and syncs it to NEW. A list has one URL per
                      line, or is JSON: an array of URLs, or an object whose values are URLs
  --url URL           a running service (default: starts one, and removes it with its data afterwards)
  --error-rate P      maximum false-positive rate, 1e-9 to 0.5 (default: 1e-4)
`;

export interface CommandLine {
  readonly help: boolean;
  /** Undefined for the shipped sample. */
  readonly file: string | undefined;
  /** The two input lists for a sync, instead of `file`. */
  readonly sync?: { readonly old: string; readonly now: string };
  /** Undefined if the demo starts its own service. */
  readonly url: URL | undefined;
  readonly errorRate: number;
}

/** Reads the arguments after the program's name. Throws DemoError. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parse(args);
  const files = [...positionals, ...(values.file === undefined ? [] : [values.file])];
  const common = {
    help: values.help === true,
    url: values.url === undefined ? undefined : serviceUrl(values.url),
    errorRate: errorRate(values['error-rate'] ?? '1e-4'),
  };
  if (values.sync) {
    const [old, now] = positionals;
    if (old !== undefined && now !== undefined && files.length === 2)
      return { ...common, file: undefined, sync: { old, now } };
    throw new DemoError(`--sync takes two lists, OLD and NEW, not ${files.length}`);
  }
  if (files.length > 1) throw new DemoError(`give one list, not ${files.length}: ${files.join(', ')}`);
  return { ...common, file: files[0] };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        file: { type: 'string' },
        'error-rate': { type: 'string' },
        sync: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new DemoError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function serviceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new DemoError(`--url must be an http or https URL such as http://127.0.0.1:3000, not ${text}`);
}

function errorRate(text: string): number {
  const rate = text.trim() === '' ? NaN : Number(text);
  if (rate >= 1e-9 && rate <= 0.5) return rate;
  throw new DemoError(`--error-rate must be a number from 1e-9 to 0.5, not ${text}`);
}
