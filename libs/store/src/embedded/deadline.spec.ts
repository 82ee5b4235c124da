import { afterEach, describe, expect, it } from '@jest/globals';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

describe('a change whose deadline has passed when its turn comes', () => {
  it('fails with STORE_UNAVAILABLE and does not start', async () => {
    const store = await bench.open();
    const filter = await createFilter(store);
    const late = store.counters.add(
      filter,
      positions(filter, keys(1)),
      operation({ deadline: Date.now() - 1 }),
    );
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    // This add waits for the first one to run.
    await store.counters.add(filter, positions(filter, keys(1, 1)), operation());
    expect([...(await store.counters.check(filter, positions(filter, keys(2))))]).toEqual([0, 1]);
  });
});

describe('a store that is closed while its first changes are in progress', () => {
  it('completes those changes and keeps them', async () => {
    const first = await bench.open();
    const { name } = await createFilter(first, { capacity: 100_000 });
    await first.close();
    // Nothing has changed since the start, so closing has nothing to write or wait for.
    const store = await bench.open();
    const filter = await store.open(name, 'filter');
    // One transaction runs fewer adds than these, so some are still waiting in the process.
    const batches = Array.from({ length: 20 }, (_, i) => positions(filter, keys(1_000, i * 1_000)));
    const added = batches.map((batch) => store.counters.add(filter, batch, operation()));
    await store.close();
    await Promise.all(added);
    const again = await bench.open();
    for (const batch of batches) {
      expect((await again.counters.check(filter, batch)).includes(0)).toBe(false);
    }
  });
});
