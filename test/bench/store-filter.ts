import { randomBytes, randomUUID } from 'node:crypto';
import { planGeometry, SEED_BYTES, type Segmentation } from '#bloom';
import type { Filter, Operation, Store } from '#store';

export const TIMEOUT_MS = 60_000;
const CAPACITY = 1_000_000;

/** A counting filter for a million items, for rows that use only the store. */
export async function makeFilter(store: Store, segmentation: Segmentation): Promise<Filter> {
  const sizing = { capacity: CAPACITY, errorRate: 1e-3, cellBits: 4 as const };
  const { filter } = await store.create(
    {
      ...{ name: randomUUID(), kind: 'filter', type: 'counting', semantics: 'set', ...sizing },
      geometry: planGeometry(sizing, segmentation),
      seed: randomBytes(SEED_BYTES),
    },
    operation(),
  );
  return filter;
}

export function operation(): Operation {
  const now = Date.now();
  return {
    ...{ id: randomUUID(), origin: 'made', fingerprint: 'bench', repeat: false },
    ...{ madeAt: now, deadline: now + TIMEOUT_MS },
  };
}
