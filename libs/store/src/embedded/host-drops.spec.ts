import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { SlowClock } from '../../../../test/support/slow-clock.js';
import { until } from '../../../../test/support/until.js';
import { deadlineIn, SYSTEM_CLOCK } from '../clock.js';
import { Added, PRIORITIES } from '../port/index.js';
import { REST_FACTOR, SWEEP_AFTER_MS } from '../sweeping.js';
import { operation } from './testing/fixtures.js';
import { create, discover, HostBench, lease, LEASE_MS, urls } from './testing/host-sets.js';

const HOST = 'a.example';
/** Time limit of a call, longer than any test. */
const CALL_MS = 600_000;
/** URLs of one host. */
const pages = (count: number, of = 'page'): string[] =>
  Array.from({ length: count }, (_, n) => `http://${HOST}/${of}/${n}`);

const bench = new HostBench();
afterEach(async () => {
  jest.restoreAllMocks();
  await bench.tidy();
});
const open = bench.hosts.bind(bench);
const rowsOf = bench.rowsOf.bind(bench);

describe('a dropped host', () => {
  it('leaves no rows, even after many entries', async () => {
    const clock = new MovedClock();
    const store = await open({ rowBytes: 200, purgedPerSlice: 2 }, clock);
    const filter = await create(store, {}, 10_000, { maxAttempts: 1 });
    await discover(store, filter, [...pages(100), ...urls(1)]);
    const leased = await store.queue.lease(filter, 3, LEASE_MS, operation());
    const ids = leased.map(({ id }) => id);
    await store.queue.release(filter, ids.slice(0, 2), operation());
    expect(rowsOf(store, 'log')).toBeGreaterThan(20);
    expect(rowsOf(store, 'dead')).toBe(2);
    expect(await store.hosts.drop(filter, HOST, operation())).toBe(100);
    expect(rowsOf(store, 'log')).toBe(1);
    // The lane stays as long as its entries are stored.
    expect(rowsOf(store, 'lanes')).toBe(2);
    expect([...(await store.queue.ack(filter, ids.slice(0, 2), operation()))]).toEqual([2, 2]);
    clock.advance(SWEEP_AFTER_MS);
    await until('the others are gone', async () => rowsOf(store, 'dead') + rowsOf(store, 'leases') === 0);
    expect(rowsOf(store, 'lanes')).toBe(1);
  });

  it('leaves no rows of any priority, nor scheduled ones', async () => {
    const clock = new MovedClock();
    const store = await open({ rowBytes: 200, purgedPerSlice: 2 }, clock);
    const filter = await create(store, {});
    for (const priority of PRIORITIES)
      await discover(store, filter, pages(30, priority), operation(), { priority });
    await discover(store, filter, [...pages(30, 'later'), ...urls(1)], operation(), { delayMs: 86_400_000 });
    expect(await store.hosts.drop(filter, HOST, operation())).toBe(120);
    expect(rowsOf(store, 'log')).toBe(0);
    clock.advance(SWEEP_AFTER_MS);
    await until('the scheduled entries are gone', async () => rowsOf(store, 'due') === 1);
    expect(rowsOf(store, 'lanes')).toBe(1);
    expect((await store.describe(filter)).queue).toMatchObject({ waiting: 0, scheduled: 1 });
  });

  it('leaves no rows if the store stops before they are removed', async () => {
    const sizes = { rowBytes: 100, purgedPerSlice: 1, sweptPerSlice: 1, sweptRowsPerSlice: 1 };
    const store = await open(sizes);
    const filter = await create(store, {}, 10_000, { maxAttempts: 1 });
    await discover(store, filter, pages(10, 'dead'));
    const leased = await store.queue.lease(filter, 10, LEASE_MS, operation());
    const ids = leased.map(({ id }) => id);
    await store.queue.release(filter, ids, operation());
    await discover(store, filter, pages(10, 'later'), operation(), { delayMs: 86_400_000 });
    await discover(store, filter, [...pages(100, 'now'), ...urls(1)]);
    // Make the deletion of the second row fail. The store then reloads its memory, as after a crash.
    const { log } = bench.databaseOf(store);
    const remove = log.removeSync.bind(log);
    let deleted = 0;
    log.removeSync = (key) => {
      if (deleted++ > 0) throw new Error('broken off');
      return remove(key);
    };
    const dropping = store.hosts.drop(filter, HOST, operation());
    await expect(dropping).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
    const clock = new MovedClock();
    const copy = await open(sizes, clock);
    const rows = () => (['dead', 'due', 'log', 'lanes'] as const).map((table) => rowsOf(copy, table));
    expect(Math.min(...rows())).toBeGreaterThan(1);
    clock.advance(SWEEP_AFTER_MS);
    // Changes run in order, so a sweep that has begun takes a step with each of these.
    for (let turn = 0; turn < 400 && rows().join() !== '0,0,1,1'; turn++) await copy.hosts.list(filter, 1);
    expect(rows()).toEqual([0, 0, 1, 1]);
    expect((await copy.describe(filter)).queue).toMatchObject({
      ...{ waiting: 1, leased: 0, delayed: 0, scheduled: 0, dead: 0 },
    });
  });

  it('needs one change if it has few entries, and can be dropped again while rows are left', async () => {
    const store = await open({ purgedPerSlice: 1 });
    const filter = await create(store, {});
    await discover(store, filter, urls(1));
    const both = [1, 2].map(() => store.hosts.drop(filter, 'h0.example', operation()));
    expect((await Promise.all(both)).sort()).toEqual([0, 1]);
    await discover(store, filter, urls(1, 0, 'other'));
    expect(rowsOf(store, 'log')).toBe(1);
    expect(await lease(store, filter, 10)).toEqual(urls(1, 0, 'other'));
  });

  it('leaves no rows if the call ends before they are deleted', async () => {
    const clock = new MovedClock();
    const store = await open({ rowBytes: 100, purgedPerSlice: 1 }, clock);
    const filter = await create(store, {});
    await discover(store, filter, pages(10));
    const { log } = bench.databaseOf(store);
    const remove = log.removeSync.bind(log);
    jest.spyOn(log, 'removeSync').mockImplementation((key) => {
      jest.spyOn(SYSTEM_CLOCK, 'now').mockImplementation(() => Date.now() + 2 * CALL_MS);
      return remove(key);
    });
    const dropping = store.hosts.drop(filter, HOST, operation({ deadline: deadlineIn(CALL_MS) }));
    await expect(dropping).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    jest.restoreAllMocks();
    expect(rowsOf(store, 'log')).toBeGreaterThan(5);
    clock.advance(SWEEP_AFTER_MS);
    await until('they are gone', async () => rowsOf(store, 'log') + rowsOf(store, 'lanes') === 0);
  });

  it('makes room for other hosts within a minute, even if entries were leased', async () => {
    const clock = new MovedClock();
    const store = await open({ maxHosts: 1 }, clock);
    const filter = await create(store, {});
    await discover(store, filter, pages(3));
    await store.queue.lease(filter, 2, 10 * SWEEP_AFTER_MS, operation());
    await store.hosts.drop(filter, HOST, operation());
    expect(await discover(store, filter, urls(1))).toEqual([Added.Limited]);
    clock.advance(SWEEP_AFTER_MS);
    await until('it is gone', async () => rowsOf(store, 'leases') === 0);
    expect(await discover(store, filter, urls(1))).toEqual([Added.New]);
  });

  it('leaves the counts, even if many of its entries are due', async () => {
    const clock = new MovedClock();
    const store = await open({ leasePortion: 1, rowBytes: 100, sweptPerSlice: 10 }, clock);
    const filter = await create(store, {});
    await discover(store, filter, urls(2));
    const counts = async () => (await store.describe(filter)).queue;
    await store.queue.lease(filter, 2, SWEEP_AFTER_MS / 2, operation());
    await discover(store, filter, pages(600));
    await store.queue.lease(filter, 300, SWEEP_AFTER_MS / 4, operation(), { maxPerHost: 300 });
    await store.hosts.drop(filter, HOST, operation());
    clock.advance(SWEEP_AFTER_MS / 2);
    // A description reads a limited number of rows. It misses expired leases beyond those rows.
    expect(await counts()).toMatchObject({ waiting: 0, leased: 2 });
    clock.advance(SWEEP_AFTER_MS / 2);
    await until('they are gone', async () => rowsOf(store, 'leases') === 2);
    expect(await counts()).toMatchObject({ waiting: 2, leased: 0 });
  });

  it.each(['scheduled', 'leased'] as const)(
    'makes a description read a limited number of hosts, even if entries of many are %s and due',
    async (state) => {
      const clock = new MovedClock();
      const store = await open({}, clock);
      const filter = await create(store, {});
      const hosts = urls(1_000);
      await discover(store, filter, pages(1));
      if (state === 'scheduled') await discover(store, filter, hosts, operation(), { delayMs: LEASE_MS });
      else await discover(store, filter, hosts);
      const take = () => store.queue.lease(filter, 100, LEASE_MS, operation());
      while ((await take()).length > 0);
      await store.hosts.drop(filter, HOST, operation());
      clock.advance(LEASE_MS);
      const reads = jest.spyOn(bench.databaseOf(store).lanes, 'get');
      const { waiting, [state]: held } = (await store.describe(filter)).queue!;
      expect(reads.mock.calls.length).toBeLessThanOrEqual(250);
      // The description misses that the other entries are due.
      expect(waiting).toBeGreaterThan(100);
      expect(held).toBeGreaterThan(0);
      expect(waiting + held).toBe(1_000);
    },
  );

  it('is not swept while the queue rests', async () => {
    const clock = new SlowClock();
    const store = await open({}, clock);
    const filter = await create(store, {}, 10_000, { maxAttempts: 1 });
    const dropDead = async (host: number) => {
      await discover(store, filter, urls(1, host));
      const held = await store.queue.lease(filter, 1, LEASE_MS, operation());
      await store.queue.release(
        filter,
        held.map(({ id }) => id),
        operation(),
      );
      await store.hosts.drop(filter, `h${host}.example`, operation());
    };
    const swept = () => until('it is swept', async () => rowsOf(store, 'dead') === 0);
    await dropDead(0);
    clock.advance(SWEEP_AFTER_MS);
    clock.isSlow = true;
    await swept();
    // Changes run in order, so by now the sweep has noticed that it is done.
    await store.hosts.list(filter, 1);
    clock.isSlow = false;
    await dropDead(1);
    clock.advance(SWEEP_AFTER_MS);
    // Changes run in order, so a sweep would take a step with each of these.
    for (let turn = 0; turn < 20; turn++) await store.hosts.list(filter, 1);
    expect(rowsOf(store, 'dead')).toBe(1);
    clock.advance(REST_FACTOR * clock.passedMs);
    await swept();
  });
});
