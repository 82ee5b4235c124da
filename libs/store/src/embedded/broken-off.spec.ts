import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../test/support/until.js';
import { StoreError, type Operation } from '../index.js';
import { Database } from './database/database.js';
import { generationKey, numberedKey, numberKey } from './database/keys.js';
import {
  clockOf,
  createFilter,
  filterSpec,
  keys,
  operation,
  positions,
  Workbench,
} from './testing/fixtures.js';
import { flipRow } from './testing/flip-row.js';
import { CREATE } from './operations/verbs.js';

const bench = new Workbench();
afterEach(() => bench.tidy());

const keyed = (id: string, deadline = Infinity): Operation =>
  operation({ id, origin: 'caller', repeat: true, deadline });

/** Retries a call until the store has reloaded its memory. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  const answers: T[] = [];
  await until('the store has reloaded its memory', async () => {
    try {
      answers.push(await call());
      return true;
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
      return false;
    }
  });
  return answers[0] as T;
}

describe('a change that fails after it has written data', () => {
  it('throws, is rolled back, and does not affect parallel changes', async () => {
    const store = await bench.open();
    const visited = await createFilter(store, { name: 'visited', kind: 'visited-set' });
    const counted = await createFilter(store, { name: 'counted', semantics: 'multiset' });
    await store.counters.add(visited, positions(visited, keys(2)), operation(), { payloads: keys(2) });
    // The first payload can be queued, but the second can't.
    const payloads = [...keys(1, 2), undefined as unknown as string];

    const batches = Array.from({ length: 20 }, (_, i) => keys(10, i * 10));
    const add = (i: number) =>
      store.counters.add(counted, positions(counted, batches[i]!), keyed(`add-${i}`));
    const outcomes = await Promise.allSettled([
      ...batches.slice(0, 10).map((_, i) => add(i)),
      store.counters.add(visited, positions(visited, keys(2, 2)), keyed('broken'), { payloads }),
      ...batches.slice(10).map((_, i) => add(i + 10)),
    ]);
    expect(outcomes[10]).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });

    for (const i of batches.keys()) {
      expect([...(await patiently(() => add(i)))]).toEqual(batches[i]!.map(() => 1));
    }
    const counts = await store.counters.count(counted, positions(counted, batches.flat()));
    expect([...counts]).toEqual(batches.flat().map(() => 1));
    const before = await patiently(() => store.describe(visited));
    expect(before).toMatchObject({ added: 2, queue: { waiting: 2, leased: 0 } });
    await store.close();
    const again = await bench.open();
    expect((await again.describe(counted)).added).toBe(200);
    // The entries have aged since the filter was described.
    const oldestSeconds = expect.any(Number);
    expect(await again.describe(visited)).toEqual({ ...before, queue: { ...before.queue, oldestSeconds } });
  });
});

describe('a store whose last write failed', () => {
  it('is not ready until a write succeeds, and makes a test write itself', async () => {
    const store = await bench.open();
    const visited = await createFilter(store, { kind: 'visited-set' });
    const broken = [undefined as unknown as string];
    let unready: string | undefined;
    // On a busy machine, the pause after the failure may end before readiness is checked.
    for (let attempt = 0; attempt < 20 && unready === undefined; attempt++) {
      const failing = store.counters.add(visited, positions(visited, keys(1)), operation(), {
        payloads: broken,
      });
      await expect(failing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      // Makes the store reload its memory, which starts the pause.
      await store.describe(visited);
      unready = (await store.readiness()).reason;
    }
    expect(unready).toBe('the last write to the data directory failed; the store retries soon');
    await until('the store is ready again', async () => (await store.readiness()).ready);
  });
});

describe('a read that sees a change before it is committed', () => {
  it('returns after the commit', async () => {
    let onChange = (): void => undefined;
    const now = (): number => {
      onChange();
      return Date.now();
    };
    const store = await bench.open({ clock: clockOf(now) });
    const filter = await createFilter(store);
    const database = Database.open(await bench.dataDir());
    const isCommitted = (record: number): boolean => {
      database.environment.read().done();
      return database.journal.get(numberKey(record)) !== undefined;
    };
    const seen: { present: number; committed: boolean }[] = [];
    for (let turn = 0; turn < 50; turn++) {
      const batch = positions(filter, keys(10, turn * 10));
      const reading = new Promise<void>((resolve, reject) => {
        // This runs inside the transaction. A microtask that waits for the transaction's end runs before the commit.
        onChange = () => {
          onChange = () => undefined;
          queueMicrotask(() => {
            store.counters
              .check(filter, batch)
              .then((answers) => {
                const present = answers.filter((answer) => answer === 1).length;
                seen.push({ present, committed: isCommitted(turn + 2) });
                resolve();
              })
              .catch(reject);
          });
        };
      });
      await Promise.all([store.counters.add(filter, batch, operation()), reading]);
    }
    await database.close();
    expect(seen).toEqual(seen.map(() => ({ present: 10, committed: true })));
    expect(seen).toHaveLength(50);
  });
});

describe('a row of a queue that goes missing or is damaged while the store runs', () => {
  const BREAK: Record<string, (database: Database, key: Buffer) => void> = {
    missing: (database, key) => void database.log.removeSync(key),
    damaged: (database, key) => flipRow(database, 'log', key),
  };

  it.each(Object.keys(BREAK))('permanently loses its visited set, but no other data: %s', async (how) => {
    const store = await bench.open();
    const visited = await createFilter(store, { name: 'visited', kind: 'visited-set' });
    const counted = await createFilter(store, { name: 'counted', semantics: 'multiset' });
    await store.counters.add(visited, positions(visited, keys(2)), operation(), { payloads: keys(2) });
    const database = Database.open(await bench.dataDir());
    const row = numberedKey(generationKey(visited.generation), 1);
    await database.transaction(() => BREAK[how]?.(database, row), true);
    await database.close();

    const lease = () => store.queue.lease(visited, 1, 60_000, operation());
    await expect(lease()).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    // Succeeds immediately, because the disk works and the call waits for no other.
    const add = () => store.counters.add(counted, positions(counted, keys(5)), keyed('add'));
    expect([...(await add())]).toEqual(keys(5).map(() => 1));
    await expect(lease()).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect(await store.readiness()).toMatchObject({ ready: true, warnings: ['part of a filter is missing'] });
    await store.close();
    const again = await bench.open();
    await expect(again.describe(visited)).rejects.toMatchObject({ code: 'STORE_DATA_LOST' });
    expect((await again.describe(counted)).added).toBe(5);
  });
});

describe('a change whose answer can’t be recorded', () => {
  it('fails alone, before it changes anything, and causes no reload', async () => {
    const store = await bench.open();
    const counted = await createFilter(store, { name: 'counted', semantics: 'multiset' });
    const other = filterSpec(store, { name: 'other' });
    const { encode } = CREATE;
    const unspeakable = jest.spyOn(CREATE, 'encode').mockImplementation((answer) => {
      if (answer.filter.name === 'other') throw new RangeError('Invalid string length');
      return encode(answer);
    });
    try {
      const outcomes = await Promise.allSettled([
        store.counters.add(counted, positions(counted, keys(1)), keyed('before')),
        store.create(other, keyed('create')),
        store.counters.add(counted, positions(counted, keys(1)), keyed('after')),
        store.create(filterSpec(store, { name: 'third' }), keyed('create')),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
      ]);
      expect(outcomes[1]).toMatchObject({ reason: { cause: { message: 'Invalid string length' } } });
      await expect(store.open('other', 'filter')).rejects.toMatchObject({ code: 'FILTER_NOT_FOUND' });
    } finally {
      unspeakable.mockRestore();
    }
    // The operation changed nothing, so its id can be reused.
    expect(await store.create(other, keyed('create'))).toMatchObject({ created: true });
    await store.close();
    const again = await bench.open();
    expect((await again.list('filter', 10)).filters.map(({ name }) => name)).toEqual([
      'counted',
      'other',
      'third',
    ]);
    expect([...(await again.counters.count(counted, positions(counted, keys(1))))]).toEqual([2]);
  });
});

describe('a disk that hangs (another process holds the database’s write lock)', () => {
  it('causes STORE_UNAVAILABLE at the deadline, while reads continue and expired changes do not start', async () => {
    const store = await bench.open();
    const filter = await createFilter(store, { semantics: 'multiset' });
    const batch = positions(filter, keys(10));
    await store.counters.add(filter, positions(filter, keys(10, 10)), operation());

    const holder = await holdWriteLock(join(await bench.dataDir(), 'data.mdb'));
    const late = store.counters.add(filter, batch, keyed('a', Date.now() + 100));
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const present = await store.counters.check(filter, positions(filter, keys(20)), Date.now() + 10_000);
    expect([...present]).toEqual(Array.from({ length: 20 }, (_, i) => (i < 10 ? 0 : 1)));
    await holder.release();

    expect([...(await store.counters.add(filter, batch, keyed('a')))]).toEqual(keys(10).map(() => 1));
    expect([...(await store.counters.count(filter, batch))]).toEqual(keys(10).map(() => 1));
  });
});

/** Starts a transaction in a separate process. It lasts until `release`. */
async function holdWriteLock(path: string): Promise<{ release(): Promise<void> }> {
  const program = `
    import { open } from 'lmdb';
    import { readSync, writeSync } from 'node:fs';
    const root = open({ path: ${JSON.stringify(path)}, noSubdir: true });
    root.transactionSync(() => {
      writeSync(1, 'held');
      readSync(0, Buffer.alloc(1));
    });
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  if (child.exitCode !== null) throw new Error('the lock was not taken');
  return {
    async release() {
      child.stdin.end('.');
      await ended;
    },
  };
}

describe('a change of the same filter right after a failed one', () => {
  it('builds on the state before the failed one', async () => {
    const store = await bench.open();
    const visited = await createFilter(store, { kind: 'visited-set' });
    await store.counters.add(visited, positions(visited, keys(2)), operation(), { payloads: keys(2) });
    // The first payload can be queued, but the second can't.
    const payloads = [...keys(1, 2), undefined as unknown as string];
    const breakOff = () =>
      store.counters.add(visited, positions(visited, keys(2, 2)), operation(), { payloads });

    const more = keys(1, 4);
    const add = () => store.counters.add(visited, positions(visited, more), keyed('add'), { payloads: more });
    const [broken] = await Promise.allSettled([breakOff(), add()]);
    expect(broken).toMatchObject({ status: 'rejected' });
    expect([...(await patiently(add))]).toEqual([1]);
    const { queue } = await patiently(() => store.describe(visited));
    expect(queue).toMatchObject({ waiting: 3, leased: 0 });
  });
});
