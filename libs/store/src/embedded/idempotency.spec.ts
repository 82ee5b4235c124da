import { afterEach, describe, expect, it } from '@jest/globals';
import { Added } from '../port/index.js';
import { Database } from './database/database.js';
import { flipRow } from './testing/flip-row.js';
import {
  clockOf,
  createFilter,
  filterSpec,
  keys,
  operation,
  positions,
  Workbench,
} from './testing/fixtures.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

const DAY = 86_400_000;
const START = 1_800_000_000_000;

/** A store whose clock moves only when the test moves it. */
async function clocked(options: { maxRecordBytes?: number } = {}) {
  const clock = { ms: START };
  const store = await bench.open({ ...options, clock: clockOf(() => clock.ms) });
  return { clock, store };
}

const repeated = (id: string, fingerprint = 'f') =>
  operation({ id, origin: 'caller', fingerprint, repeat: true });

describe('operation records', () => {
  it('survive a restart', async () => {
    const store = await bench.open();
    const filter = await createFilter(store, { semantics: 'multiset' });
    const batch = positions(filter, keys(10));
    const first = await store.counters.add(filter, batch, repeated('k'));
    await store.close();
    const again = await bench.open();
    expect(await again.counters.add(filter, batch, repeated('k'))).toEqual(first);
    expect([...(await again.counters.count(filter, batch))]).toEqual(new Array(10).fill(1));
    await expect(again.counters.add(filter, batch, repeated('k', 'other'))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    });
  });

  it('that are damaged cause STORE_DATA_LOST, because the operation has run but its answer is unknown', async () => {
    const store = await bench.open();
    const filter = await createFilter(store, { semantics: 'multiset' });
    const [batch, other] = [positions(filter, keys(10)), positions(filter, keys(10, 10))];
    await store.counters.add(filter, batch, repeated('k'));
    await store.close();
    const database = Database.open(await bench.dataDir());
    const recorded = [...database.records.getKeys({})];
    await database.transaction(() => recorded.forEach((key) => flipRow(database, 'records', key)), true);
    await database.close();
    const again = await bench.open();
    await expect(again.counters.add(filter, batch, repeated('k'))).rejects.toMatchObject({
      code: 'STORE_DATA_LOST',
    });
    expect([...(await again.counters.count(filter, batch))]).toEqual(new Array(10).fill(1));
    expect([...(await again.counters.add(filter, other, repeated('other')))]).toEqual(
      new Array(10).fill(Added.New),
    );
  });

  it("of callers' keys are kept for a day, and deleted after two", async () => {
    const { clock, store } = await clocked();
    const filter = await createFilter(store);
    await store.counters.add(filter, positions(filter, keys(1)), repeated('k'));
    clock.ms += DAY - 1000;
    await store.counters.add(filter, positions(filter, keys(1, 1)), repeated('other'));
    clock.ms += 2000;
    expect([...(await store.counters.add(filter, positions(filter, keys(1)), repeated('k')))]).toEqual([
      Added.New,
    ]);
    clock.ms += 2 * DAY;
    expect([...(await store.counters.add(filter, positions(filter, keys(1)), repeated('k')))]).toEqual([
      Added.Present,
    ]);
  });

  it('of generated ids: a repeat fails once the record is deleted', async () => {
    const { clock, store } = await clocked();
    const filter = await createFilter(store);
    const made = operation({ repeat: true, madeAt: START });
    await store.counters.add(filter, positions(filter, keys(1)), made);
    clock.ms += 59_000;
    expect([...(await store.counters.add(filter, positions(filter, keys(1)), made))]).toEqual([Added.New]);
    clock.ms += 120_000;
    await expect(store.counters.add(filter, positions(filter, keys(1)), made)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_KEY_EXPIRED',
    });
  });

  it('stay within their byte limit by a shorter window, which the description shows', async () => {
    const { clock, store } = await clocked({ maxRecordBytes: 20_000 });
    const filter = await createFilter(store);
    expect((await store.describe(filter)).recordWindowSeconds).toEqual({ caller: 86_400, made: 60 });
    for (let i = 0; i < 500; i++) {
      clock.ms += 1000;
      await store.counters.add(filter, positions(filter, keys(1)), repeated(`key-${i}`));
    }
    const { caller, made } = (await store.describe(filter)).recordWindowSeconds;
    expect(made).toBe(60);
    expect(caller).toBeGreaterThan(100);
    expect(caller).toBeLessThan(400);
    const latest = await store.counters.add(filter, positions(filter, keys(1)), repeated('key-499'));
    expect([...latest]).toEqual([Added.Present]);
  });

  it('of creations, clears and drops outlive the filter', async () => {
    const store = await bench.open();
    const spec = filterSpec(store);
    const made = await store.create(spec, repeated('create'));
    const cleared = await store.clear('seen', 'filter', repeated('clear'));
    await store.counters.add(cleared, positions(cleared, keys(5)), operation());
    expect(await store.clear('seen', 'filter', repeated('clear'))).toEqual(cleared);
    expect((await store.describe(cleared)).items).toBe(5);
    await store.drop('seen', 'filter', repeated('drop'));
    await store.close();

    const again = await bench.open();
    await again.drop('seen', 'filter', repeated('drop'));
    expect(await again.create(spec, repeated('create'))).toEqual(made);
    expect(await again.clear('seen', 'filter', repeated('clear'))).toEqual(cleared);
    await expect(again.open('seen', 'filter')).rejects.toMatchObject({ code: 'FILTER_NOT_FOUND' });
  });
});
