import { UnseenClient, type Filter } from '#client';
import { freshName } from '../support/app.js';

/** A multiset: its counts show if an item was added twice. */
export const BAG = { type: 'counting', semantics: 'multiset', capacity: 20_000, errorRate: 1e-9 } as const;

/** Makes a multiset in the service at this URL. */
export async function newBag(url: string, fetching: typeof fetch = fetch): Promise<Filter> {
  const bag = new UnseenClient({ url, fetch: fetching, onRetry: () => undefined }).filter(freshName('bag'));
  await bag.create(BAG);
  return bag;
}

export const itemAt = (i: number): string => `item ${i}`;

/** So many items, from a number on. */
export const items = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => itemAt(from + i));
