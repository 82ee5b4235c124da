import { UnseenClient, type Filter } from '#client';
import { freshName } from '../support/app.js';

/** A multiset, whose counts show items that were added twice. */
export const BAG = { type: 'counting', semantics: 'multiset', capacity: 20_000, errorRate: 1e-9 } as const;

/** Creates a multiset in the service at this URL. */
export async function newBag(url: string, fetching: typeof fetch = fetch): Promise<Filter> {
  const bag = new UnseenClient({ url, fetch: fetching, onRetry: () => undefined }).filter(freshName('bag'));
  await bag.create(BAG);
  return bag;
}

export const itemAt = (i: number): string => `item ${i}`;

/** `count` items, numbered from `from`. */
export const items = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => itemAt(from + i));
