import { afterEach, describe, expect, it } from '@jest/globals';
import type { Filter } from '../store.js';
import { Database } from './database.js';
import type { EmbeddedStore } from './embedded-store.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';
import { blockKey, generationKey, numberKey } from './keys.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

/** Two filters with items, checkpointed or in the journal only, and the store closed; then damage is done. */
async function damaged(damage: (database: Database, generation: Buffer) => void): Promise<{
  store: EmbeddedStore;
  hurt: Filter;
  whole: Filter;
}> {
  const store = await bench.open();
  const hurt = await createFilter(store, { name: 'hurt' });
  const whole = await createFilter(store, { name: 'whole' });
  for (const filter of [hurt, whole]) {
    await store.counters.add(filter, positions(filter, keys(500)), operation());
  }
  await store.close();
  const database = new Database(await bench.dataDir());
  await database.transaction(() => damage(database, generationKey(hurt.generation)), true);
  await database.close();
  return { store: await bench.open(), hurt, whole };
}

const DAMAGES: Record<string, (database: Database, generation: Buffer) => void> = {
  'a missing block': (database, generation) => database.blocks.removeSync(blockKey(generation, 0)),
  'a short block': (database, generation) => {
    const key = blockKey(generation, 0);
    database.blocks.putSync(key, (database.blocks.get(key) as Buffer).subarray(0, -1));
  },
  'an empty block': (database, generation) => {
    database.blocks.putSync(blockKey(generation, 0), Buffer.alloc(1));
  },
  'a flipped bit in a block': (database, generation) => {
    const key = blockKey(generation, 1);
    const block = database.blocks.get(key) as Buffer;
    block[block.length - 1] = (block[block.length - 1] as number) ^ 1;
    database.blocks.putSync(key, block);
  },
  'no state': (database, generation) => database.states.removeSync(generation),
};

describe('a filter of which something is missing', () => {
  it.each(Object.keys(DAMAGES))('answers STORE_DATA_LOST to every call: %s', async (name) => {
    const { store, hurt, whole } = await damaged(DAMAGES[name] as (typeof DAMAGES)[string]);
    const batch = positions(hurt, keys(500));
    const calls = [
      store.counters.check(hurt, batch),
      store.counters.count(hurt, batch),
      store.counters.add(hurt, batch, operation()),
      store.counters.remove(hurt, batch, operation()),
      store.describe(hurt),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_DATA_LOST' } });
    }
    expect([...(await store.counters.check(whole, positions(whole, keys(500))))]).not.toContain(0);
    expect(await store.readiness()).toMatchObject({
      ready: true,
      warnings: ['part of a filter is missing'],
    });
  });

  it('stays lost over restarts, until it is cleared', async () => {
    const { store, hurt } = await damaged((database, generation) => {
      database.blocks.removeSync(blockKey(generation, 0));
    });
    await store.close();
    const again = await bench.open();
    await expect(again.describe(hurt)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    const cleared = await again.clear('hurt', 'filter', operation());
    await again.counters.add(cleared, positions(cleared, keys(5)), operation());
    expect((await again.describe(cleared)).items).toBe(5);
    expect((await again.readiness()).warnings).toEqual([]);
  });
});

describe('a journal', () => {
  it('with a gap loses the filters that changed at or after it, and no others', async () => {
    const store = await bench.open({ checkpointBytes: 2 ** 30 });
    const early = await createFilter(store, { name: 'early' });
    const late = await createFilter(store, { name: 'late' });
    await store.counters.add(early, positions(early, keys(100)), operation());
    for (let i = 0; i < 3; i++) {
      await store.counters.add(late, positions(late, keys(100, i * 100)), operation());
    }
    // Creations took 1 and 2. While the store runs, nothing has been checkpointed.
    const database = new Database(await bench.dataDir());
    await database.transaction(() => void database.journal.removeSync(numberKey(5)), true);
    const copy = `${await bench.dataDir()}/copy`;
    await (database as unknown as Backed).root.backup(`${copy}/data.mdb`, false);
    await database.close();
    const opened = await bench.open({ dataDir: copy });
    await expect(opened.describe(late)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect((await opened.describe(early)).items).toBe(100);
  });
});

interface Backed {
  readonly root: { backup(path: string, compact: boolean): Promise<void> };
}
