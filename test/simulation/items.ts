import { planGeometry, positionsOf, SEED_BYTES } from '#bloom';

/** A filter whose few cells all items share, so others keep a removed item's cells. */
export const CROWDED = { capacity: 40, errorRate: 0.25, cellBits: 8 } as const;
export const CROWDED_SEED = Buffer.alloc(SEED_BYTES, 'crowded');
export const ONE_SEGMENT = { maxSegmentBytes: 2 ** 16, minSegments: 1, minSegmentBytes: 1 } as const;
export const MOST_ITEMS = 20;
const SHARED_CELLS = 6;
/** The items' hosts. */
export const HOSTS = ['a', 'b', 'c'] as const;

/** Items are short URLs. */
const SCHEME = 's://';
const HOST_AT = SCHEME.length;

export const ITEMS: readonly string[] = crowdedItems();

export function itemOf(n: number): string {
  const item = ITEMS[n];
  if (item === undefined) throw new RangeError(`there is no item ${n}`);
  return item;
}

/** The name of an item's host. */
export const hostOf = (item: string): string => item.slice(HOST_AT, HOST_AT + 1);

function crowdedItems(): string[] {
  const geometry = planGeometry(CROWDED, ONE_SEGMENT);
  const found: string[] = [];
  for (let n = 0; found.length < MOST_ITEMS; n++) {
    const item = `${SCHEME}${HOSTS[found.length % HOSTS.length]}/${n}`;
    const { cell } = positionsOf([item], CROWDED_SEED, geometry);
    if (cell.every((c) => c < SHARED_CELLS)) found.push(item);
  }
  return found;
}
