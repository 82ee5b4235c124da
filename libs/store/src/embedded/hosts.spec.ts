import { afterEach, describe, expect, it } from '@jest/globals';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { until } from '../../../../test/support/until.js';
import { Added, type Filter, type Part } from '../port/index.js';
import type { EmbeddedStore } from './embedded-store.js';
import { operation, positions } from './testing/fixtures.js';
import { create, discover, HostBench, lease, LEASE_MS, pages, urls } from './testing/host-sets.js';

const bench = new HostBench();
afterEach(() => bench.tidy());
const open = bench.hosts.bind(bench);
const rowsOf = bench.rowsOf.bind(bench);

describe('new settings of a host', () => {
  it('show its due entries as waiting, although one change moves only some of them', async () => {
    const clock = new MovedClock();
    const store = await open({ movesPerChange: 2 }, clock);
    const filter = await create(store, {});
    await discover(store, filter, pages('a', 6));
    for (let n = 0; n < 6; n++) expect(await lease(store, filter, 1)).toHaveLength(1);
    clock.advance(LEASE_MS);
    const view = await store.hosts.set(filter, 'a.example', {}, operation());
    expect(view).toMatchObject({ waiting: 6, leased: 0 });
    expect(rowsOf(store, 'leases')).toBe(4);
  });
});

describe('the number of hosts', () => {
  it('is limited: URLs of more hosts are neither visited nor queued', async () => {
    const store = await open({ maxHosts: 3 });
    const filter = await create(store, {});
    const { New, Present, Limited } = Added;
    expect(await discover(store, filter, urls(2))).toEqual([New, New]);
    const more = [...urls(1), ...urls(3, 1), ...urls(1, 3), ...urls(1, 2, 'other')];
    expect(await discover(store, filter, more)).toEqual([Present, Present, New, Limited, Limited, New]);
    const found = await store.counters.check(filter, positions(filter, more), Infinity);
    expect([...found]).toEqual([1, 1, 1, 0, 0, 1]);
    expect((await store.describe(filter)).queue).toMatchObject({ waiting: 4 });
    // Hosts without entries don't count.
    const leased = await store.queue.lease(filter, 1, LEASE_MS, operation());
    await store.queue.ack(
      filter,
      leased.map(({ id }) => id),
      operation(),
    );
    expect(await discover(store, filter, urls(2, 3))).toEqual([New, Limited]);
  });
});

describe('a committed sync', () => {
  it('stops counting hosts whose URLs it all forgets', async () => {
    const store = await open({ maxHosts: 3, hostsPerChange: 2 });
    let filter = await create(store, { maxUrls: 5 });
    const { New, Limited } = Added;
    await discover(store, filter, urls(3));
    const leased = await store.queue.lease(filter, 10, LEASE_MS, operation());
    const ids = leased.map(({ id }) => id);
    await store.queue.ack(filter, ids, operation());
    expect(await discover(store, filter, urls(1, 3))).toEqual([Limited]);
    const { capacity, errorRate, geometry, layers } = filter;
    const plan = { capacity, errorRate, geometry, ...(layers && { layers }) };
    const { id } = await store.syncs.open(filter, plan, operation());
    const kept = urls(5, 2);
    const by = operation({ id: 'list', origin: 'caller', repeat: true });
    const names = kept.map((key) => new URL(key).hostname);
    const listed = [...(await store.syncs.keep(filter, id, positions(filter, kept), by, names))];
    expect([...(await store.syncs.keep(filter, id, positions(filter, kept), by, names))]).toEqual(listed);
    expect(listed).toEqual([0, 1, 1, 1, 1]);
    await store.syncs.commit(filter, id, 1, Infinity);
    filter = await store.open(filter.name, filter.kind);
    // Of the five hosts, only one had a lane, and the queue had no room for the other four.
    await until('the others are gone', async () => rowsOf(store, 'lanes') === 1);
    expect(await discover(store, filter, urls(3, 7))).toEqual([New, New, Limited]);
  });
});

describe('an abandoned sync', () => {
  it('stops counting the hosts that it listed', async () => {
    const store = await open({ maxHosts: 5, hostsPerChange: 2 });
    const filter = await create(store, { maxUrls: 5 });
    const { capacity, errorRate, geometry, layers } = filter;
    const plan = { capacity, errorRate, geometry, ...(layers && { layers }) };
    const { id } = await store.syncs.open(filter, plan, operation());
    const kept = urls(5);
    const names = kept.map((key) => new URL(key).hostname);
    await store.syncs.keep(filter, id, positions(filter, kept), operation(), names);
    expect(rowsOf(store, 'lanes')).toBe(5);
    await store.syncs.abandon(filter, id, Infinity);
    await until('their lanes are gone', async () => rowsOf(store, 'lanes') === 0);
  });
});

describe('a batch of many hosts', () => {
  it('takes several changes, and a repeat returns the same answers', async () => {
    const store = await open({ hostsPerChange: 2 });
    const filter = await create(store, { maxUrls: 1 });
    const by = operation({ id: 'key', origin: 'caller', repeat: true });
    const batch = [...urls(5), ...urls(5), ...urls(4, 3, 'other')];
    const answers = await discover(store, filter, batch, by);
    expect(answers).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2, 2, 1, 1]);
    expect(await discover(store, filter, batch, by)).toEqual(answers);
    const keys = [...urls(5), ...urls(2, 5, 'other')];
    expect(await lease(store, filter, 100)).toEqual(keys);
    const removal = operation({ id: 'removal', origin: 'caller', repeat: true });
    const removed = await store.counters.remove(filter, positions(filter, batch), removal);
    expect([...removed]).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    expect(await store.counters.remove(filter, positions(filter, batch), removal)).toEqual(removed);
    // Now there is room for these keys' hosts again.
    expect(await discover(store, filter, keys)).toEqual(keys.map(() => Added.New));
  });

  it('also takes several changes when its entries are released', async () => {
    const store = await open({ hostsPerChange: 2 });
    const filter = await create(store, {});
    await discover(store, filter, urls(7));
    const ids = (await store.queue.lease(filter, 10, LEASE_MS, operation())).map(({ id }) => id);
    const by = operation({ id: 'key', origin: 'caller', repeat: true });
    const named = [...ids, 'unknown', ids[6] as string];
    for (let turn = 0; turn < 2; turn++) {
      const answers = await store.queue.release(filter, named, by);
      expect([...answers]).toEqual([1, 1, 1, 1, 1, 1, 1, 0, 2]);
    }
    expect(await lease(store, filter, 10)).toEqual(urls(7));
  });

  it('is refused before any change if the filter has no room for it', async () => {
    const store = await open({ hostsPerChange: 2 });
    const filter = await create(store, {}, 10);
    await expect(discover(store, filter, urls(30))).rejects.toMatchObject({ code: 'FILTER_FULL' });
    const found = await store.counters.check(filter, positions(filter, urls(30)), Infinity);
    expect([...found]).toEqual(urls(30).map(() => 0));
  });

  it.each([1, 2])(
    'is added as a whole even if another batch takes its room between its changes: %d layers',
    async (layers) => {
      const store = await open({ hostsPerChange: 2 });
      const filter = await create(store, {}, 10, { layers });
      const { New } = Added;
      // Three hosts take two changes. The second one does not fit after the other batch, which fills the first layer.
      const last = filter.layers!.at(-1)!.capacity;
      const large = [...urls(2), ...pages('h2', layers === 1 ? last - 2 : last + 1)];
      const other = pages('other', 8);
      const answers = await Promise.all([large, other].map((batch) => discover(store, filter, batch)));
      expect(answers).toEqual([large.map(() => New), other.map(() => New)]);
      await expect(discover(store, filter, urls(1, 9))).rejects.toMatchObject({ code: 'FILTER_FULL' });
    },
  );
});

describe('an export with many hosts', () => {
  async function exported(store: EmbeddedStore, filter: Filter): Promise<Part[]> {
    const parts: Part[] = [];
    for await (const part of store.transfer.export(filter)) parts.push(part);
    return parts;
  }

  it('has each lane once, page by page, and an import takes them slice by slice', async () => {
    const store = await open({ entriesPerPage: 3, hostsPerChange: 2, entriesPerSlice: 2 });
    const filter = await create(store, { delayMs: LEASE_MS });
    await discover(store, filter, urls(10));
    expect(await lease(store, filter, 4)).toEqual(urls(4));
    const parts = await exported(store, filter);
    const hosts = parts.flatMap((part) => (part.type === 'queue' ? (part.hosts ?? []) : []));
    expect(hosts.map(({ name }) => `http://${name}/`)).toEqual([...urls(6, 4), ...urls(4)]);
    const { generation: _, createdAt: __, ...spec } = filter;
    const copy = await store.transfer.import({ ...spec, name: 'copy' }, given(parts), operation());
    expect(await lease(store, copy, 100)).toEqual(urls(6, 4));
  });

  it('is refused by a store with a lower limit, and leaves nothing', async () => {
    const store = await open({});
    const filter = await create(store, {});
    await discover(store, filter, urls(4));
    const parts = await exported(store, filter);
    const { generation: _, createdAt: __, ...spec } = filter;
    const other = await open({ maxHosts: 3 });
    const imported = other.transfer.import({ ...spec, name: 'copy' }, given(parts), operation());
    await expect(imported).rejects.toMatchObject({
      code: 'STORE_FULL',
      message: expect.stringMatching(
        /at least 4 hosts, and the queue of visited set "copy" may have at most 3;/,
      ),
    });
    await expect(other.open('copy', 'visited-set')).rejects.toMatchObject({ code: 'FILTER_NOT_FOUND' });
  });
});

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

describe('a lease over many hosts', () => {
  it('looks at a limited number of them, and may return fewer entries', async () => {
    const store = await open({ lanesPerLease: 4 });
    const filter = await create(store, { delayMs: LEASE_MS });
    await discover(store, filter, urls(10));
    expect(await lease(store, filter, 100)).toEqual(urls(4));
    expect(await lease(store, filter, 100)).toEqual(urls(4, 4));
    expect(await lease(store, filter, 100)).toEqual(urls(2, 8));
    expect(await lease(store, filter, 100)).toEqual([]);
  });

  it('finds the only live entry behind hosts with forgotten ones', async () => {
    const store = await open({ lanesPerLease: 3, skipsPerLease: 1 });
    const filter = await create(store, { delayMs: LEASE_MS });
    await discover(store, filter, urls(40));
    await store.counters.remove(filter, positions(filter, urls(39)), operation());
    expect(await lease(store, filter, 100)).toEqual(urls(1, 39));
    expect((await store.describe(filter)).queue).toMatchObject({ waiting: 0, leased: 1 });
  });
});
