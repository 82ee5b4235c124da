import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter, Part, QueuedHost, Store } from '#store';
import { CATALOGUE } from '../../libs/store/src/redis/layout/keys.js';
import { RedisStore } from '#store/redis';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { exportFile, importFile, readFile, specOf } from '../support/export-files.js';
import {
  embedded,
  redis,
  redisCluster,
  type RedisHarness,
  type StoreFixture,
  type StoreHarness,
} from '../support/stores.js';
import { startRedis } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { add, discover, expectRefusal, items, keyed, made, makeFilter, type FilterOptions } from './calls.js';
import { DELAY_MS, HELD_MS, hostOptions, urls } from './host-calls.js';
import { contents, filled, leaseAll } from './transfer.js';

type Name = StoreFixture['name'];

const WAIT_MS = 60_000;

const KINDS: readonly FilterOptions[] = [
  { type: 'counting', semantics: 'multiset' },
  { type: 'standard' },
  { kind: 'visited-set', urlProfile: { base: 'safe', version: 1 } },
  { kind: 'visited-set', maxAgeSeconds: 86_400 },
];
const PAIRS = [embedded, redis, redisCluster].flatMap((from) =>
  [embedded, redis, redisCluster].map((to) => ({ from: from.name, to: to.name, spread: from.spread })),
);

/** An export's lanes, by name. */
async function lanesIn(store: Store, filter: Filter): Promise<QueuedHost[]> {
  const { parts } = await readFile(await exportFile(store, filter));
  const hosts = parts.flatMap((part) => (part.type === 'queue' ? (part.hosts ?? []) : []));
  return hosts.sort((a, b) => a.name.localeCompare(b.name));
}

describe('from store to store', () => {
  const harnesses = new Map<Name, { harness: StoreHarness; store: Store }>();
  beforeAll(async () => {
    await Promise.all(
      [embedded, redis, redisCluster].map(async (fixture) => {
        const harness = await fixture.setUp();
        harnesses.set(fixture.name, { harness, store: await harness.open() });
      }),
    );
  });
  afterAll(() => Promise.all([...harnesses.values()].map(({ harness }) => harness.tearDown())));

  const side = (name: Name) => harnesses.get(name)!;
  const all = (name: Name, filter: Filter) =>
    contents(side(name).store, (of, segment) => side(name).harness.segmentBytes(of, segment), filter);

  describe.each(PAIRS)('$from to $to', ({ from, to, spread }) => {
    it.each(KINDS)('byte for byte: %j', async (options) => {
      const filter = await filled(side(from).store, options);
      const file = await exportFile(side(from).store, filter);
      const name = `${filter.name}.to`;
      const copied = await importFile(side(to).store, file, made(), name);
      expect(await all(to, copied)).toEqual(await all(from, filter));
      const back = await importFile(
        side(from).store,
        await exportFile(side(to).store, copied),
        made(),
        `${name}.back`,
      );
      expect(await all(from, back)).toEqual(await all(from, filter));
      if (options.kind !== 'visited-set') return;
      expect(await leaseAll(side(to).store, copied)).toEqual(await leaseAll(side(from).store, filter));
    });

    it('with the lanes of hosts', async () => {
      const [origin, target] = [side(from).store, side(to).store];
      const filter = await makeFilter(origin, hostOptions({ delayMs: DELAY_MS, maxUrls: 9 }, {}, spread));
      for (let n = 0; n < 5; n++) {
        const hosts = Array.from({ length: 60 }, (_, host) => urls(`h${host}`, 1, n));
        await discover(origin, filter, hosts.flat());
      }
      const leased = await origin.queue.lease(filter, 30, HELD_MS, made());
      const ids = leased.slice(10).map(({ id }) => id);
      await origin.queue.ack(filter, ids, made());
      const copied = await importFile(target, await exportFile(origin, filter), made(), `${filter.name}.to`);
      expect((await target.describe(copied)).queue).toMatchObject({ waiting: 280, leased: 0 });
      // The copy's file has the same lanes.
      expect(await lanesIn(target, copied)).toEqual(await lanesIn(origin, filter));
    });

    it('a filter that the other store would have split differently', async () => {
      const { store } = side(from);
      const sizing = { capacity: 100_000, errorRate: 1e-2 };
      const filter = await makeFilter(store, { ...sizing, segmentation: store.segmentation });
      await add(store, filter, items(2_000));
      const copied = await importFile(
        side(to).store,
        await exportFile(store, filter),
        made(),
        `${filter.name}.to`,
      );
      expect(copied.geometry).toEqual(filter.geometry);
      expect(await all(to, copied)).toEqual(await all(from, filter));
    });
  });

  it.each([redis, redisCluster])(
    'the next import with a name finishes one that died in $name',
    async ({ name }) => {
      const harness = side(name).harness as RedisHarness;
      const { store } = side(name);
      const filter = await filled(store, { kind: 'visited-set' });
      const { header, parts } = await readFile(await exportFile(store, filter));
      const spec = specOf(header, `${filter.name}.to`);
      const before = await harness.kept();
      const dying = await harness.open();
      let stuck = false;
      const abandoned = dying.transfer
        .import(
          spec,
          (async function* () {
            yield* parts.slice(0, 3);
            stuck = true;
            await until('the store has died', async () => !stuck);
            yield* parts.slice(3);
          })(),
          made(),
        )
        .catch((error: unknown) => error);
      await until('the import is in progress', async () => stuck);
      await dying.close();
      stuck = false;
      expect(await abandoned).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect((await harness.kept()).length).toBeGreaterThan(before.length);
      await expectRefusal(store.open(spec.name, spec.kind), 'FILTER_BUSY');

      await ageEntry(harness, spec.name);
      const copied = await store.transfer.import(spec, given(parts), made());
      expect(await all(name, copied)).toEqual(await all(name, filter));
      await store.drop(spec.name, spec.kind, made());
      expect(await harness.kept()).toEqual(before);
    },
  );

  it.each([redis, redisCluster])(
    'an import in $name that another import has taken over writes nothing more',
    async ({ name }) => {
      const harness = side(name).harness as RedisHarness;
      const { store } = side(name);
      const filter = await filled(store, { kind: 'visited-set' });
      const { header, parts } = await readFile(await exportFile(store, filter));
      const spec = specOf(header, `${filter.name}.to`);
      const before = await harness.kept();
      const slow = store.transfer.import(
        spec,
        (async function* () {
          yield* parts.slice(0, 3);
          await ageEntry(harness, spec.name);
          await makeFilter(await harness.open(), { name: spec.name });
          yield* parts.slice(3);
        })(),
        keyed(),
      );
      await expect(slow).rejects.toMatchObject({
        code: 'FILTER_BUSY',
        message: `visited set "${spec.name}" was claimed by another request during the import; retry`,
      });
      const winner = await store.open(spec.name, 'filter', { fresh: true });
      expect(await store.describe(winner)).toMatchObject({ items: 0, nonZeroCells: 0 });
      await store.drop(spec.name, 'filter', made());
      expect(await harness.kept()).toEqual(before);
    },
  );

  it('a restart of Redis in the middle of a queue loses none of it', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const store = await RedisStore.open({ url: server.url, timeoutMs: WAIT_MS });
    try {
      const filter = await makeFilter(store, { kind: 'visited-set', capacity: 5_000, errorRate: 1e-4 });
      await discover(store, filter, items(3_000));
      const found = new Set<string>();
      let pages = 0;
      for await (const part of store.transfer.export(filter)) {
        if (part.type !== 'queue') continue;
        for (const { payload } of part.entries) found.add(Buffer.from(payload).toString());
        if (++pages === 3) await server.restart();
      }
      expect(found.size).toBe(3_000);
    } finally {
      await store.close();
      await server.stop();
    }
  });

  it('an import without enough memory in Redis is STORE_FULL, and leaves nothing', async () => {
    const harness = side('redis').harness as RedisHarness;
    const { store } = side('redis');
    const sizing = { capacity: 4_000_000, errorRate: 1e-3, segmentation: store.segmentation };
    const filter = await makeFilter(side('embedded').store, sizing);
    const { header, parts } = await readFile(await exportFile(side('embedded').store, filter), 2 ** 20);
    const before = await harness.kept();
    const [client] = harness.clients;
    const used = /used_memory:(\d+)/.exec(await client!.info('memory'))?.[1];
    await client!.config('SET', 'maxmemory', String(Number(used) + 8 * 2 ** 20));
    try {
      await expectRefusal(store.transfer.import(specOf(header), given(parts), made()), 'STORE_FULL');
      await expectRefusal(store.open(header.name, 'filter', { fresh: true }), 'FILTER_NOT_FOUND');
      expect(await harness.kept()).toEqual(before);
    } finally {
      await client!.config('SET', 'maxmemory', '0');
    }
    expect((await store.transfer.import(specOf(header), given(parts), made())).name).toBe(header.name);
    await store.drop(header.name, 'filter', made());
  });

  it('a queue under constant writes loses nothing on the way', async () => {
    for (const name of ['embedded', 'redis'] as const) {
      const { store } = side(name);
      const filter = await makeFilter(store, { kind: 'visited-set', capacity: 20_000, errorRate: 1e-9 });
      const urls = items(4_000, 'url');
      await discover(store, filter, urls);
      const acked = new Set<string>();
      let at = 0;
      const parts: Part[] = [];
      for await (const part of store.transfer.export(filter)) {
        parts.push(part);
        // Change the queue between any two parts, as real crawlers do.
        await discover(store, filter, items(20, `meanwhile ${at++},`));
        const leased = await store.queue.lease(filter, 40, 60_000, made());
        const done = leased.slice(0, 20);
        const ids = (of: typeof leased) => of.map(({ id }) => id);
        await store.queue.ack(filter, ids(done), made());
        await store.queue.release(filter, ids(leased.slice(20, 30)), made());
        for (const { payload } of done) acked.add(payload);
      }
      expect(acked.size).toBeGreaterThan(100);
      const spec = { ...specOf({ ...filter, id: '', exportedAt: 0 }), name: `${filter.name}.to` };
      const copied = await store.transfer.import(spec, given(parts), made());
      const queued = new Set((await leaseAll(store, copied)).map((entry) => entry.slice(2)));
      expect(urls.filter((url) => !queued.has(url) && !acked.has(url))).toEqual([]);
    }
  });
});

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

/** Makes a catalogue entry look as if its operation had died long ago. */
async function ageEntry({ clients }: RedisHarness, name: string): Promise<void> {
  for (const client of clients) {
    const raw = await client.hget(CATALOGUE.filters, name).catch(() => null);
    if (raw === null) continue;
    const entry = JSON.parse(raw) as CatalogueEntry;
    await client.hset(CATALOGUE.filters, name, JSON.stringify({ ...entry, since: 0 }));
  }
}
