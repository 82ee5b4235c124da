import type { Config } from '../config/config.js';
import type { Fault } from '../errors/problem.js';
import { show } from '../errors/show.js';
import type { BatchConfig } from '../request/request.js';
import { jsonObject, refused } from '../validation/json-object.js';

export interface BatchLimits {
  readonly maxItems: number;
  /** UTF-8 bytes. */
  readonly maxItemBytes: number;
}

export function batchLimits(config: Pick<Config, 'maxBatchItems' | 'maxItemBytes'>): BatchLimits {
  return { maxItems: config.maxBatchItems, maxItemBytes: config.maxItemBytes };
}

/** The kind of a batch's entries. */
export type Entries = BatchConfig['entries'] | 'ids';

/** A discovered URL with the payload for its worker. */
export interface UrlWithPayload {
  readonly url: string;
  readonly payload: string;
}

export type Discovery = string | UrlWithPayload;

/** Maximum length of a URL's payload, in UTF-8 bytes. */
export const MAX_URL_PAYLOAD_BYTES = 1_024;

/** True if an item has more than `bytes` bytes in UTF-8. */
export function isLonger(item: string, bytes: number): boolean {
  // UTF-8 needs one to three bytes per UTF-16 unit, so only lengths near the limit need an exact count.
  return item.length > bytes || (item.length * 3 > bytes && Buffer.byteLength(item) > bytes);
}

/**
 * A batch entry's fault, with the limit, or undefined if the entry is valid. A lone surrogate is invalid, because all
 * lone surrogates would get the same bytes in UTF-8.
 */
export function entryFault(entry: unknown, entries: Entries, maxItemBytes: number): string | undefined {
  if (entries === 'discoveries' && typeof entry === 'object') return discoveryFault(entry);
  if (typeof entry !== 'string') return `must be ${ENTRY_KINDS[entries]}`;
  if (entries === 'urls' || entries === 'discoveries') return undefined;
  if (isLonger(entry, maxItemBytes)) {
    return `must have at most ${maxItemBytes} bytes in UTF-8, not ${Buffer.byteLength(entry)}`;
  }
  if (entry.length === 0) return 'must not be empty';
  return entry.isWellFormed() ? undefined : 'must be well-formed Unicode, without lone surrogates';
}

/** The fault of a URL with a payload. */
function discoveryFault(entry: object | null): string | undefined {
  if (entry === null || Array.isArray(entry)) return `must be ${ENTRY_KINDS.discoveries}`;
  const { url, payload, ...others } = entry as Partial<Record<string, unknown>>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `must contain only the members url and payload, not ${show(unknown)}`;
  if (typeof url !== 'string') return `must be a string, or an object whose url is a string${butNot(url)}`;
  if (typeof payload !== 'string') return `must have a payload that is a string${butNot(payload)}`;
  if (!payload.isWellFormed()) return 'must have a payload of well-formed Unicode, without lone surrogates';
  const bytes = Buffer.byteLength(payload);
  if (bytes <= MAX_URL_PAYLOAD_BYTES) return undefined;
  return `must have a payload of at most ${MAX_URL_PAYLOAD_BYTES} bytes in UTF-8, not ${bytes}`;
}

/** Shows an entry's wrong member. */
function butNot(value: unknown): string {
  return value === undefined ? ', but has none' : `, not ${show(value)}`;
}

const ENTRY_KINDS: Readonly<Record<Entries, string>> = {
  items: 'a string',
  urls: 'a string',
  ids: 'a string',
  discoveries: 'a string, or an object of url and payload',
};

/** The JSON member with the batch. */
const MEMBER = { items: 'items', urls: 'urls', ids: 'ids', discoveries: 'urls' } as const satisfies Record<
  Entries,
  string
>;

/** Maximum number of entries that one error names. */
export const MAX_NAMED_FAULTS = 100;

/**
 * The entries in a parsed body such as `{"urls": […]}`, which may also have `options`. Throws VALIDATION_FAILED, which
 * names the limits and the first MAX_NAMED_FAULTS invalid entries.
 */
export function jsonBatch(
  body: unknown,
  entries: Exclude<Entries, 'discoveries'>,
  limits: BatchLimits,
  options?: readonly string[],
): readonly string[];
export function jsonBatch(
  body: unknown,
  entries: Entries,
  limits: BatchLimits,
  options?: readonly string[],
): readonly Discovery[];
export function jsonBatch(
  body: unknown,
  entries: Entries,
  limits: BatchLimits,
  options: readonly string[] = [],
): readonly Discovery[] {
  const member = MEMBER[entries];
  const { [member]: batch } = jsonObject(body, new Set([member, ...options]));
  const { maxItems, maxItemBytes } = limits;
  const fault = (what: string): Error => refused([{ pointer: `#/${member}`, detail: `${member}${what}` }]);
  if (batch === undefined) throw fault(' is missing; it must be an array of strings');
  if (!Array.isArray(batch)) throw fault(` must be an array of strings, not ${show(batch)}`);
  if (batch.length > maxItems) throw fault(` must have at most ${maxItems} entries, not ${batch.length}`);
  const faults: Fault[] = [];
  for (let i = 0; i < batch.length && faults.length < MAX_NAMED_FAULTS; i++) {
    const wrong = entryFault(batch[i], entries, maxItemBytes);
    if (wrong === undefined) continue;
    const shown = show(batch[i]);
    // The fault already shows an object's wrong member.
    const value = entries === 'discoveries' && shown === 'an object' ? '' : `; it is ${shown}`;
    faults.push({ pointer: `#/${member}/${i}`, detail: `${member}[${i}] ${wrong}${value}` });
  }
  if (faults.length > 0) throw refused(faults);
  return batch as Discovery[];
}
