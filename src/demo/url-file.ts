import { readFile } from 'node:fs/promises';
import { compileProfile, normaliseProfile } from '#url-key';
import { isLonger } from '../batches/entries.js';
import { DEFAULT_MAX_ITEM_BYTES } from '../config/config.js';
import { DemoError } from './demo-error.js';
import { Progress, type ProgressOutput } from './progress.js';

/** The contents of a URL file. */
export interface UrlFile {
  readonly path: string;
  /** The distinct URLs in file order and in their first spelling, by the URL key that the service uses. */
  readonly urls: ReadonlyMap<string, string>;
  /** How many texts the file has, including repeated and invalid ones. */
  readonly given: number;
  readonly invalid: number;
}

/** How many texts to read before checking the signal again. */
const PORTION = 10_000;

/**
 * Reads a list of URLs: one per line, a JSON array, or a JSON object with the URLs as values. The npm package
 * all-the-package-repos has such an object, with null for missing URLs. Throws DemoError.
 */
export async function readUrlFile(
  path: string,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<UrlFile> {
  const texts = await textsOf(path);
  const canonicaliser = compileProfile(normaliseProfile('safe'));
  const urls = new Map<string, string>();
  const progress = new Progress(output, 'read', texts.length);
  let invalid = 0;
  for (let from = 0; from < texts.length; from += PORTION) {
    // Lets the process receive signals, which arrive only between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const portion = texts.slice(from, from + PORTION);
    for (const text of portion) {
      const key = isLonger(text, DEFAULT_MAX_ITEM_BYTES) ? undefined : canonicaliser.key(text);
      // A text with a line feed would become two lines.
      if (typeof key !== 'string' || text.includes('\n')) invalid++;
      else if (!urls.has(key)) urls.set(key, text);
    }
    progress.add(portion.length);
  }
  if (urls.size === 0) throw new DemoError(`${path} has no http or https URLs`);
  progress.end();
  return { path, urls, given: texts.length, invalid };
}

async function textsOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new DemoError(`cannot read the list: ${(error as Error).message}`);
  });
  if (!/^\s*[[{]/.test(text)) return text.split(/\r?\n/).filter((line) => line !== '');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new DemoError(`${path} begins like JSON, but is not valid JSON: ${(error as Error).message}`);
  }
  return Object.values(json as object).filter((value) => typeof value === 'string');
}
