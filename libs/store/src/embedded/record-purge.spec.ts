import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../../test/support/until.js';
import { Database } from './database/database.js';
import { generationKey, prefixRange } from './database/keys.js';
import { clockOf, createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

const WINDOWS = 20;
const RECORDS_A_WINDOW = 10;
const MINUTE = 60_000;

describe('records in windows that have ended', () => {
  it('are deleted while the store runs, except for the last window', async () => {
    let now = 1_800_000_000_000;
    const store = await bench.open({ clock: clockOf(() => now) });
    const filter = await createFilter(store);
    for (let window = 0; window < WINDOWS; window++) {
      for (let n = 0; n < RECORDS_A_WINDOW; n++) {
        await store.counters.add(filter, positions(filter, keys(1)), operation({ madeAt: now }));
      }
      now += MINUTE;
    }
    const database = Database.open(await bench.dataDir());
    const kept = () => [...database.records.getKeys(prefixRange(generationKey(filter.generation)))].length;
    await until('the older windows are deleted', async () => kept() <= 2 * RECORDS_A_WINDOW);
    const found = kept();
    await database.close();
    expect(found).toBe(2 * RECORDS_A_WINDOW);
  });
});
