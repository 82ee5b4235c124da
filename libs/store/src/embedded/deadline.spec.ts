import { afterEach, describe, expect, it } from '@jest/globals';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

describe('a change that comes to its turn when nobody waits for it any more', () => {
  it('is STORE_UNAVAILABLE, and is not begun', async () => {
    const store = await bench.open();
    const filter = await createFilter(store);
    const late = store.counters.add(
      filter,
      positions(filter, keys(1)),
      operation({ deadline: Date.now() - 1 }),
    );
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    // Behind it in line.
    await store.counters.add(filter, positions(filter, keys(1, 1)), operation());
    expect([...(await store.counters.check(filter, positions(filter, keys(2))))]).toEqual([0, 1]);
  });
});
