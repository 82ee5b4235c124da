import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Database } from './database.js';
import { numberKey } from './keys.js';
import { copyLive } from './testing/copy-live.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

/** Creations took 1 and 2, an add to each filter the next two. */
const LAST_OF_EARLY = 3;
const LAST_OF_LATE = 4;

const DAMAGES: Record<string, (database: Database, record: Buffer) => void> = {
  missing: (database, record) => database.journal.removeSync(record),
  broken: (database, record) => {
    const bytes = Buffer.from(database.journal.get(record) as Buffer);
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
    database.journal.putSync(record, bytes);
  },
};

describe.each(Object.keys(DAMAGES))('a journal with a record that is %s', (how) => {
  it.each([
    { which: 'the last one', record: LAST_OF_LATE, lost: ['late'], whole: ['early'] },
    { which: 'one before it', record: LAST_OF_EARLY, lost: ['early', 'late'], whole: [] },
  ])('loses the filters that changed in it or after it: $which', async ({ record, lost, whole }) => {
    const store = await bench.open({ checkpointBytes: 2 ** 30 });
    const filters = [
      await createFilter(store, { name: 'early' }),
      await createFilter(store, { name: 'late' }),
    ];
    for (const filter of filters) {
      await store.counters.add(filter, positions(filter, keys(100)), operation());
    }
    const directory = join(await bench.dataDir(), 'copy');
    await copyLive(await bench.dataDir(), directory);
    const database = new Database(directory);
    await database.transaction(() => DAMAGES[how]?.(database, numberKey(record)), true);
    await database.close();
    // Lost for good, though the first start ends with a journal without the record.
    for (let start = 0; start < 2; start++) {
      const opened = await bench.open({ dataDir: directory });
      for (const filter of filters) {
        const described = opened.describe(filter);
        if (whole.includes(filter.name)) expect((await described).items).toBe(100);
        if (lost.includes(filter.name))
          await expect(described).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
      }
      await opened.close();
    }
  });
});
