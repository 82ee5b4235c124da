import type { Config } from '../config/config.js';
import type { Fault } from '../errors/problem.js';
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

/** What a batch takes. */
export type Entries = BatchConfig['entries'] | 'ids';

/** A URL that was discovered, and what a worker is to be given with it. */
export interface UrlWithPayload {
  readonly url: string;
  readonly payload: string;
}

export type Discovery = string | UrlWithPayload;

/** Longest payload of a URL, in UTF-8 bytes. */
export const MAX_URL_PAYLOAD_BYTES = 1_024;

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
  if (entries === 'discoveries' && typeof entry === 'object') return discoveryFault(entry);
  if (typeof entry !== 'string') return `must be ${ENTRY_KINDS[entries]}`;
  if (entries === 'urls' || entries === 'discoveries') return undefined;
  if (isLonger(entry, maxItemBytes)) {
    return `must have at most ${maxItemBytes} bytes in UTF-8, not ${Buffer.byteLength(entry)}`;
  }
  if (entry.length === 0) return 'must not be empty';
  return entry.isWellFormed() ? undefined : 'must be well-formed Unicode, without lone surrogates';
}

/** What is wrong with a URL that has a payload. */
function discoveryFault(entry: object | null): string | undefined {
  if (entry === null || Array.isArray(entry)) return `must be ${ENTRY_KINDS.discoveries}`;
  const { url, payload, ...others } = entry as Partial<Record<string, unknown>>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `must have only the members url and payload, not ${show(unknown)}`;
  if (typeof url !== 'string') return 'must be a string, or an object whose url is a string';
  if (typeof payload !== 'string') return 'must have a payload that is a string';
  if (!payload.isWellFormed()) return 'must have a payload of well-formed Unicode, without lone surrogates';
  const bytes = Buffer.byteLength(payload);
  if (bytes <= MAX_URL_PAYLOAD_BYTES) return undefined;
  return `must have a payload of at most ${MAX_URL_PAYLOAD_BYTES} bytes in UTF-8, not ${bytes}`;
}

const ENTRY_KINDS: Readonly<Record<Entries, string>> = {
  items: 'a string',
  urls: 'a string',
  ids: 'a string',
  discoveries: 'a string, or an object of url and payload',
};

/** The member of a JSON body that holds the batch. */
const MEMBER = { items: 'items', urls: 'urls', ids: 'ids', discoveries: 'urls' } as const satisfies Record<
  Entries,
  string
>;

const MEMBERS: Readonly<Record<(typeof MEMBER)[Entries], ReadonlySet<string>>> = {
  items: new Set(['items']),
  urls: new Set(['urls']),
  ids: new Set(['ids']),
};
/** Those of a route whose URLs may live for a time: ttlOf reads it. */
const WITH_TTL: ReadonlySet<string> = new Set(['urls', 'ttlSeconds']);

/** Entries of a batch that one error names at most. */
export const MAX_NAMED_FAULTS = 100;

/**
 * The entries of a parsed body such as `{"urls": […]}`. Throws VALIDATION_FAILED that names the first MAX_NAMED_FAULTS entries
 * that are wrong, and the limits.
 */
export function jsonBatch(
  body: unknown,
  entries: Exclude<Entries, 'discoveries'>,
  limits: BatchLimits,
  ttl?: boolean,
): readonly string[];
export function jsonBatch(
  body: unknown,
  entries: Entries,
  limits: BatchLimits,
  ttl?: boolean,
): readonly Discovery[];
export function jsonBatch(
  body: unknown,
  entries: Entries,
  limits: BatchLimits,
  ttl = false,
): readonly Discovery[] {
  const member = MEMBER[entries];
  const { [member]: batch } = jsonObject(body, ttl ? WITH_TTL : MEMBERS[member]);
  const { maxItems, maxItemBytes } = limits;
  const fault = (what: string): Error => refused([{ pointer: `#/${member}`, detail: `${member}${what}` }]);
  if (batch === undefined) throw fault(' must be an array of strings; it is missing');
  if (!Array.isArray(batch)) throw fault(` must be an array of strings, not ${show(batch)}`);
  if (batch.length > maxItems) throw fault(` must have at most ${maxItems} entries, not ${batch.length}`);
  const faults: Fault[] = [];
  for (let i = 0; i < batch.length && faults.length < MAX_NAMED_FAULTS; i++) {
    const wrong = entryFault(batch[i], entries, maxItemBytes);
    if (wrong === undefined) continue;
    faults.push({ pointer: `#/${member}/${i}`, detail: `${member}[${i}] ${wrong}; it is ${show(batch[i])}` });
  }
  if (faults.length > 0) throw refused(faults);
  return batch as Discovery[];
}
