import type { Config } from '../config.js';

/** What a batch may hold. */
export interface BatchLimits {
  readonly maxItems: number;
  /** UTF-8 bytes. */
  readonly maxItemBytes: number;
  /** Strings are known to be well-formed, so that none has to be asked. */
  readonly wellFormed?: boolean;
}

export function batchLimits(config: Config): BatchLimits {
  return { maxItems: config.maxBatchItems, maxItemBytes: config.maxItemBytes };
}

/** Which strings a batch takes: items are kept by their bytes; a URL that is none is answered "invalid" later. */
export type ItemRule = 'item' | 'url';

/**
 * What is wrong with one entry of a batch, naming the limit; undefined if nothing is. A lone surrogate is refused, since
 * encoding to UTF-8 would merge it with other ones.
 */
export function itemFault(
  item: unknown,
  rule: ItemRule,
  { maxItemBytes, wellFormed = false }: Omit<BatchLimits, 'maxItems'>,
): string | undefined {
  if (typeof item !== 'string') return 'must be a string';
  // UTF-8 takes at most three bytes a UTF-16 unit: counting is for the few that are near the limit.
  if (item.length * 3 > maxItemBytes && Buffer.byteLength(item) > maxItemBytes) {
    return `must have at most ${maxItemBytes} bytes in UTF-8, not ${Buffer.byteLength(item)}`;
  }
  if (rule === 'url') return undefined;
  if (item.length === 0) return 'must not be empty';
  return wellFormed || item.isWellFormed()
    ? undefined
    : 'must be well-formed Unicode, without lone surrogates';
}
