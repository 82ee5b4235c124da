import type { Config } from '../config/config.js';
import { show } from '../errors/show.js';
import type { BatchConfig } from '../request/request.js';
import { jsonObject, refused } from '../validation/json-object.js';

/** What a batch may hold. */
export interface BatchLimits {
  readonly maxItems: number;
  /** UTF-8 bytes. */
  readonly maxItemBytes: number;
}

export function batchLimits(config: Pick<Config, 'maxBatchItems' | 'maxItemBytes'>): BatchLimits {
  return { maxItems: config.maxBatchItems, maxItemBytes: config.maxItemBytes };
}

/** Which strings a batch takes: items and ids are kept by their bytes; a URL that is none is answered "invalid" later. */
export type Entries = BatchConfig['entries'] | 'ids';

/** Whether an item has more bytes in UTF-8 than so many. */
export function isLonger(item: string, bytes: number): boolean {
  // UTF-8 takes one to three bytes a UTF-16 unit: counting is for the few that are near the limit.
  return item.length > bytes || (item.length * 3 > bytes && Buffer.byteLength(item) > bytes);
}

/**
 * What is wrong with one entry of a batch, naming the limit; undefined if nothing is. A lone surrogate is refused, since
 * encoding to UTF-8 would merge it with other ones.
 */
export function entryFault(entry: unknown, entries: Entries, maxItemBytes: number): string | undefined {
  if (typeof entry !== 'string') return 'must be a string';
  if (entries === 'urls') return undefined;
  if (isLonger(entry, maxItemBytes)) {
    return `must have at most ${maxItemBytes} bytes in UTF-8, not ${Buffer.byteLength(entry)}`;
  }
  if (entry.length === 0) return 'must not be empty';
  return entry.isWellFormed() ? undefined : 'must be well-formed Unicode, without lone surrogates';
}

const MEMBERS: Readonly<Record<Entries, ReadonlySet<string>>> = {
  items: new Set(['items']),
  urls: new Set(['urls']),
  ids: new Set(['ids']),
};

/** The entries of a parsed body such as `{"urls": […]}`. Throws VALIDATION_FAILED that names the entry and the limit. */
export function jsonBatch(body: unknown, entries: Entries, limits: BatchLimits): readonly string[] {
  const { [entries]: batch } = jsonObject(body, MEMBERS[entries]);
  const { maxItems, maxItemBytes } = limits;
  const fault = (what: string, at = ''): Error =>
    refused([{ pointer: `#/${entries}${at}`, detail: `${entries}${what}` }]);
  if (batch === undefined) throw fault(' must be an array of strings, but is missing');
  if (!Array.isArray(batch)) throw fault(` must be an array of strings, not ${show(batch)}`);
  if (batch.length > maxItems) throw fault(` must have at most ${maxItems} entries, not ${batch.length}`);
  for (let i = 0; i < batch.length; i++) {
    const wrong = entryFault(batch[i], entries, maxItemBytes);
    if (wrong !== undefined) throw fault(`[${i}] ${wrong}; it is ${show(batch[i])}`, `/${i}`);
  }
  return batch as string[];
}
