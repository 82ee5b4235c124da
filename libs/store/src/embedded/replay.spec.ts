import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Filter } from '../port/index.js';
import type { EmbeddedStore } from './embedded-store.js';
import { copyLive } from './testing/copy-live.js';
import { createGrowing, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

/** All data that a copy must share. */
async function contents(store: EmbeddedStore, filter: Filter): Promise<unknown> {
  const { recordWindowSeconds: _, ...stats } = await store.describe(filter);
  const cells: string[] = [];
  for await (const part of store.transfer.export(filter)) {
    if (part.type === 'cells') cells.push(Buffer.from(part.cells).toString('base64'));
  }
  return { stats, cells };
}

describe('a start after a crash', () => {
  it.each([
    { name: 'with only a journal', checkpointBytes: 2 ** 30 },
    { name: 'with blocks and the journal after them', checkpointBytes: 10_000 },
  ])('replays adds and removals, each once: $name', async ({ checkpointBytes }) => {
    const store = await bench.open({ checkpointBytes });
    const filter = await createGrowing(store, { semantics: 'multiset', capacity: 300 });
    for (let round = 0; round < 6; round++) {
      for (let batch = 0; batch < 10; batch++) {
        const from = (round * 10 + batch) * 50;
        await store.counters.add(filter, positions(filter, keys(100, from)), operation());
        await store.counters.remove(filter, positions(filter, keys(60, from)), operation());
      }
      const wanted = await contents(store, filter);
      const dataDir = join(await bench.dataDir(), `copy-${round}`);
      await copyLive(await bench.dataDir(), dataDir);
      // Opens each copy twice, because the second start must find all changes that the first has replayed.
      for (let start = 0; start < 2; start++) {
        const copy = await bench.open({ dataDir });
        expect(await contents(copy, await copy.open(filter.name, filter.kind))).toEqual(wanted);
        await copy.close();
      }
    }
    expect((await store.describe(filter)).layers.length).toBeGreaterThan(2);
  });
});
