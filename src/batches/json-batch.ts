import type { Keys } from '#bloom';
import { show } from '../errors/show.js';
import { jsonObject, refused } from '../validation/json-object.js';
import { PackedItems } from './packed-items.js';
import { entryFault, type BatchLimits, type Entries } from './limits.js';

const MEMBERS: Readonly<Record<Entries, ReadonlySet<string>>> = {
  items: new Set(['items']),
  urls: new Set(['urls']),
  ids: new Set(['ids']),
};

/** The entries of a JSON body as it was read, packed if they are items. Throws as jsonBatch. */
export async function entriesOf(body: unknown, entries: Entries, limits: BatchLimits): Promise<Keys> {
  if (!(body instanceof PackedItems)) return jsonBatch(body, entries, limits);
  // What is beyond a limit is parsed after all: the error is to say what it is.
  return body.isWithin(limits) ? body.keys : jsonBatch(await body.parse(), entries, limits);
}

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
