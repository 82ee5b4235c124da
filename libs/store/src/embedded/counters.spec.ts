import { afterEach, describe, expect, it } from '@jest/globals';
import { type Filter, Added, Removed } from '../port/index.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';
import type { EmbeddedStore } from './embedded-store.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

const COUNT = 2_500;
const URLS = keys(COUNT);

async function visitedSet(capacity = 10_000): Promise<{ store: EmbeddedStore; filter: Filter }> {
  const store = await bench.open();
  return { store, filter: await createFilter(store, { kind: 'visited-set', errorRate: 1e-9, capacity }) };
}

const times = (count: number, answer: number): number[] => Array<number>(count).fill(answer);

describe('a visited set’s batch that takes several rows of the log', () => {
  it('gets answers in order, is queued in order, and repeats as a whole', async () => {
    const { store, filter } = await visitedSet();
    const all = positions(filter, URLS);
    const mixed = [...URLS.slice(0, 1_500), ...keys(1_000, COUNT)];
    const first = operation({ repeat: true });
    for (let run = 0; run < 2; run++) {
      expect([...(await store.counters.add(filter, all, first, { payloads: URLS }))]).toEqual(
        times(COUNT, Added.New),
      );
    }
    const again = await store.counters.add(filter, positions(filter, mixed), operation(), {
      payloads: mixed,
    });
    expect([...again]).toEqual([...times(1_500, Added.Present), ...times(1_000, Added.New)]);
    const leased: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const some = await store.queue.lease(filter, 4_000, 60_000, operation());
      leased.push(...some.map(({ payload }) => payload));
    }
    expect(leased).toEqual([...URLS, ...keys(1_000, COUNT)]);
    const forget = operation({ repeat: true });
    for (let run = 0; run < 2; run++) {
      const answers = await store.counters.remove(filter, all, forget);
      expect([...answers]).toEqual(times(COUNT, Removed.Removed));
    }
    expect((await store.describe(filter)).queue).toMatchObject({
      waiting: 0,
      leased: 3_500,
      forgotten: COUNT,
    });
  });

  it('is refused before any change if the whole batch does not fit', async () => {
    const { store, filter } = await visitedSet(1_000);
    const call = store.counters.add(filter, positions(filter, URLS), operation(), { payloads: URLS });
    await expect(call).rejects.toMatchObject({ code: 'FILTER_FULL' });
    expect(await store.describe(filter)).toMatchObject({ items: 0, queue: { waiting: 0 } });
  });
});
