import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Filter } from '../port/index.js';
import { Database } from './database/database.js';
import type { EmbeddedStore } from './embedded-store.js';
import { flipRow } from './testing/flip-row.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';
import { verifyDirectory } from './verify-directory.js';
import { blockKey, generationKey, numberKey } from './database/keys.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

/** Creates two filters with items, closes the store, and then damages its data. */
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
  const database = Database.open(await bench.dataDir());
  await database.transaction(() => damage(database, generationKey(hurt.generation)), true);
  await database.close();
  return { store: await bench.open(), hurt, whole };
}

const DAMAGES: Record<string, (database: Database, generation: Buffer) => void> = {
  'a missing block': (database, generation) => database.blocks.removeSync(blockKey(generation, 0, 0)),
  'a short block': (database, generation) => {
    const key = blockKey(generation, 0, 0);
    database.blocks.putSync(key, (database.blocks.get(key) as Buffer).subarray(0, -1));
  },
  'an empty block': (database, generation) => {
    database.blocks.putSync(blockKey(generation, 0, 0), Buffer.alloc(1));
  },
  'a flipped bit in a block': (database, generation) =>
    flipRow(database, 'blocks', blockKey(generation, 0, 1)),
  'a flipped bit in its state': (database, generation) => flipRow(database, 'states', generation),
  'a flipped bit in its count of blocks': (database, generation) =>
    flipRow(database, 'block-counts', generation),
  'no state': (database, generation) => database.states.removeSync(generation),
};

describe('a filter with missing data', () => {
  it.each(Object.keys(DAMAGES))('fails every call with STORE_DATA_LOST: %s', async (name) => {
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

  it('is reported by verifyDirectory, like an intact one, and neither is changed', async () => {
    const { store } = await damaged((database, generation) => {
      database.blocks.removeSync(blockKey(generation, 0, 0));
    });
    const dataDir = await bench.dataDir();
    await expect(verifyDirectory(dataDir)).rejects.toThrow('in use');
    await store.close();
    const before = readFileSync(`${dataDir}/data.mdb`);
    expect(await verifyDirectory(dataDir)).toEqual({
      filters: [
        { name: 'hurt', kind: 'filter', whole: false },
        { name: 'whole', kind: 'filter', whole: true },
      ],
    });
    expect(readFileSync(`${dataDir}/data.mdb`).equals(before)).toBe(true);
    await expect(verifyDirectory(`${dataDir}/none`)).rejects.toThrow('data.mdb is missing or empty');
    expect(existsSync(`${dataDir}/none`)).toBe(false);
    const reading = Database.open(dataDir, undefined, { readOnly: true });
    const writing = reading.transaction(() => void reading.catalogue.removeSync(Buffer.from('whole')), false);
    await expect(writing).rejects.toThrow();
    await reading.close();
  });

  it('stays lost across restarts, until it is cleared', async () => {
    const { store, hurt } = await damaged((database, generation) => {
      database.blocks.removeSync(blockKey(generation, 0, 0));
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

describe('a filter that ages', () => {
  it('is lost if a row of its hidden items is missing, and intact otherwise', async () => {
    const store = await bench.open();
    const filter = await createFilter(store, {
      ...{ kind: 'visited-set', maxAgeSeconds: 86_400, capacity: 400, errorRate: 0.1 },
    });
    const added = await store.counters.add(filter, positions(filter, keys(700)), operation());
    const counted = keys(700).filter((_, n) => added[n] === 1);
    await store.counters.remove(filter, positions(filter, counted), operation());
    const { hidden } = (await store.describe(filter)).age!;
    expect(hidden).toBeGreaterThan(1);
    await store.close();
    const whole = await bench.open();
    expect((await whole.describe(filter)).age).toMatchObject({ hidden });
    await whole.close();
    const database = Database.open(await bench.dataDir());
    await database.transaction(() => {
      const [key] = database.hidden.getKeys({ limit: 1 });
      database.hidden.removeSync(Buffer.from(key!));
    }, true);
    await database.close();
    const again = await bench.open();
    await expect(again.describe(filter)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
  });
});

/** Tables that store removals, and a byte of their rows that is verified. */
const OF_REMOVALS = [
  ['removed', 3],
  ['hidden', 7],
] as const;

describe('stored removals', () => {
  it.each(OF_REMOVALS)('a damaged row of %s loses its filter, but no other', async (table, at) => {
    const store = await bench.open();
    const whole = await createFilter(store, { name: 'whole' });
    await store.counters.add(whole, positions(whole, keys(500)), operation());
    const hurt = await createFilter(store, {
      ...{ kind: 'visited-set', maxAgeSeconds: 86_400, capacity: 400, errorRate: 0.1 },
    });
    const added = await store.counters.add(hurt, positions(hurt, keys(700)), operation());
    await store.syncs.open(hurt, hurt, operation());
    const counted = keys(700).filter((_, n) => added[n] === 1);
    await store.counters.remove(hurt, positions(hurt, counted), operation());
    await store.close();
    const database = Database.open(await bench.dataDir());
    await database.transaction(() => {
      const [key] = database[table].getKeys({ limit: 1 });
      flipRow(database, table, Buffer.from(key!), at);
    }, true);
    await database.close();
    const again = await bench.open();
    await expect(again.describe(hurt)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect([...(await again.counters.check(whole, positions(whole, keys(500))))]).not.toContain(0);
  });
});

describe('a journal', () => {
  it('with a gap loses the filters that changed at or after it, but no others', async () => {
    const store = await bench.open({ checkpointBytes: 2 ** 30 });
    const early = await createFilter(store, { name: 'early' });
    const late = await createFilter(store, { name: 'late' });
    await store.counters.add(early, positions(early, keys(100)), operation());
    for (let i = 0; i < 3; i++) {
      await store.counters.add(late, positions(late, keys(100, i * 100)), operation());
    }
    const opened = await killedThen((database) => database.journal.removeSync(numberKey(5)));
    await expect(opened.describe(late)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect((await opened.describe(early)).items).toBe(100);
  });

  it.each([
    ['a damaged record', (database: Database) => flipRow(database, 'journal', numberKey(4))],
    ['a missing record', (database: Database) => database.journal.removeSync(numberKey(4))],
    ['a damaged last record', (database: Database) => flipRow(database, 'journal', numberKey(8))],
  ])('with %s loses that record’s filter, but none that changed after it', async (_, damage) => {
    const store = await bench.open({ checkpointBytes: 2 ** 30 });
    const hurt = await createFilter(store, { name: 'hurt' });
    const whole = await createFilter(store, { name: 'whole' });
    for (let i = 0; i < 3; i++) {
      for (const filter of [whole, hurt]) {
        await store.counters.add(filter, positions(filter, keys(100, i * 100)), operation());
      }
    }
    const opened = await killedThen(damage);
    await expect(opened.describe(hurt)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect((await opened.describe(whole)).items).toBe(300);
    const present = await opened.counters.check(whole, positions(whole, keys(300)));
    expect([...present]).not.toContain(0);
    // The loss stays reported even after the next checkpoint deletes the damaged record.
    await opened.close();
    const again = await bench.open({ dataDir: `${await bench.dataDir()}/copy` });
    await expect(again.describe(hurt)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect((await again.describe(whole)).items).toBe(300);
  });
});

/** A store on a damaged copy of the open store's data, as a kill would leave it. Records 1 and 2 are creations. */
async function killedThen(damage: (database: Database) => unknown): Promise<EmbeddedStore> {
  const database = Database.open(await bench.dataDir());
  const copy = `${await bench.dataDir()}/copy`;
  await (database.environment as unknown as Inside).root.backup(`${copy}/data.mdb`, false);
  await database.close();
  const copied = Database.open(copy);
  await copied.transaction(() => void damage(copied), true);
  await copied.close();
  return bench.open({ dataDir: copy });
}

/** The library has this property, but its types don't. */
interface Inside {
  readonly root: { backup(path: string, compact: boolean): Promise<void> };
}
