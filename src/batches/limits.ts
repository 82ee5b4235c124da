import type { Config } from '../config/config.js';
import type { BatchConfig } from '../request/request.js';

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
