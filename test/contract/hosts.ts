import { describe, expect, it } from '@jest/globals';
import { positionsOf, type Layer } from '#bloom';
import { type Filter, Settled } from '#store';
import { decodeEntryId } from '../../libs/store/src/entry-id.js';
import { exportFile, importFile, readFile } from '../support/export-files.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  discover,
  inBatches,
  made,
  makeFilter,
  remove,
  tally,
  type FilterOptions,
} from './calls.js';
import type { Subject } from './subject.js';
import { SyncCalls, syncPlan } from './sync-calls.js';

const ERROR_RATE = 1e-2;
const QUERIES = 5_000;
/** So low that no test meets a false positive. */
const EXACT = { errorRate: 1e-9 } as const;
/** Nothing expires during a test. */
const AGES = { maxAgeSeconds: 86_400 } as const;

/** So that layers have several segments in each run. */
const segmentation = (spread: number) => ({
  ...{ maxSegmentBytes: 16_384, minSegments: 1, minSegmentBytes: 1, spread },
});

const hostsOf = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, n) => `http://${prefix}${n}.example/`);
const pagesOf = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `http://${host}/${n}`);

export function hostsContract(subject: Subject): void {
  const make = (spread: number, options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, {
      ...{ kind: 'visited-set', capacity: 2_000, errorRate: ERROR_RATE, growsTo: Infinity },
      ...{ segmentation: segmentation(spread), ...options },
    });
  const runOf = (filter: Filter, key: string): number => {
    const { segments, spread = segments } = filter.geometry;
    const { segment } = positionsOf([key], filter.seed, filter.geometry);
    return Math.floor((segment[0]! * spread) / segments);
  };

  describe('a set in which hosts choose the segments', () => {
    it.each([
      { spread: 1, full: 2, ages: {} },
      { spread: 3, full: 3, ages: {} },
      { spread: 6, full: 4, ages: {} },
      { spread: 6, full: 4, ages: AGES },
    ])(
      'keeps its error rate at capacity with 90 % of its URLs from one host, $spread runs, $ages',
      async ({ spread, full, ages }) => {
        const { store } = subject;
        const filter = await make(spread, ages);
        // Fills the large host's run in these layers.
        const capacity = filter.layers!.slice(0, full).reduce((sum, layer) => sum + layer.capacity, 0);
        const total = 10 * Math.floor(capacity / (1 + 0.9 * (spread - 1)) / 10);
        const big = pagesOf('big.example', 0.9 * total);
        const small = hostsOf(0.1 * total, 'small');
        // All hosts' URLs are mixed, as a crawl finds them.
        const urls = small.flatMap((url, n) => [url, ...big.slice(9 * n, 9 * n + 9)]);
        expect(new Set(big.map((url) => runOf(filter, url))).size).toBe(1);
        await inBatches(discover, store, filter, urls);
        expect(await inBatches(check, store, filter, urls)).toEqual(urls.map(() => 1));
        for (const absent of [
          pagesOf('big.example', total + QUERIES).slice(total),
          hostsOf(QUERIES, 'absent'),
        ]) {
          const positives = tally(await inBatches(check, store, filter, absent), 1);
          expect(positives).toBeLessThan(QUERIES * ERROR_RATE + 4 * Math.sqrt(QUERIES * ERROR_RATE));
        }
        const stats = await store.describe(filter);
        expect(stats.items).toBeGreaterThan(0.97 * total);
        // A set that ages estimates its items.
        const tolerated = filter.maxAgeSeconds === undefined ? 0 : 0.01 * total;
        expect(Math.abs(stats.items - stats.queue!.waiting)).toBeLessThanOrEqual(tolerated);
        await subject.reopen();
        const opened = await subject.store.open(filter.name, filter.kind);
        expect((await subject.store.describe(opened)).items).toBe(stats.items);
      },
    );

    it('that is full for one host takes other hosts’ URLs, and refuses batches as a whole', async () => {
      // The set has one layer.
      const made = await make(3, { capacity: 600, growsTo: 1 });
      const big = pagesOf('big.example', 200);
      const elsewhere = hostsOf(30, 'other').filter((url) => runOf(made, url) !== runOf(made, big[0]!));
      await discover(subject.store, made, big);
      await subject.reopen();
      const { store } = subject;
      const filter = await store.open(made.name, made.kind);
      const refused = [...elsewhere.slice(0, 2), ...pagesOf('big.example', 210).slice(200)];
      await expect(discover(store, filter, refused)).rejects.toMatchObject({
        ...{ name: 'StoreError', code: 'FILTER_FULL' },
        message: expect.stringMatching(/room for \d+ more URLs from these hosts/),
      });
      expect(await check(store, filter, refused)).toEqual(refused.map(() => 0));
      expect(await discover(store, filter, elsewhere)).toEqual(elsewhere.map(() => 1));
      expect(await remove(store, filter, big.slice(0, 50))).toEqual(big.slice(0, 50).map(() => 1));
      expect(tally(await add(store, filter, pagesOf('big.example', 240).slice(200)), 1)).toBe(40);
    });

    it.each([
      { spread: 1, ages: {} },
      { spread: 3, ages: {} },
      { spread: 3, ages: AGES },
    ])('is the same after an export and import, $spread runs, $ages', async ({ spread, ages }) => {
      const { store } = subject;
      const filter = await make(spread, { ...EXACT, growsTo: 2 ** 22, ...ages });
      const urls = [...pagesOf('big.example', 2_000), ...hostsOf(300, 'small')];
      await inBatches(discover, store, filter, urls);
      const before = await store.describe(filter);
      const file = await exportFile(store, filter);
      await store.drop(filter.name, filter.kind, made());
      const imported = await importFile(store, file, made());
      expect(imported.geometry).toEqual(filter.geometry);
      expect(await inBatches(check, store, imported, urls)).toEqual(urls.map(() => 1));
      const { items, queue } = await store.describe(imported);
      expect(items).toBe(before.items);
      if (filter.maxAgeSeconds === undefined) expect(items).toBe(urls.length);
      // If slots move during the export, it may contain an entry twice.
      expect(queue?.waiting).toBeGreaterThanOrEqual(urls.length);
      expect(tally(await inBatches(remove, store, imported, urls), 1)).toBe(urls.length);
    });

    it('has about as much room for a host after an export and import', async () => {
      const { store } = subject;
      // The set has one layer, in which each run has a share of 200.
      const filter = await make(6, { capacity: 1_200, growsTo: 1 });
      const big = pagesOf('big.example', 250);
      const others = hostsOf(200, 'other').filter((url) => runOf(filter, url) !== runOf(filter, big[0]!));
      await discover(store, filter, [...big.slice(0, 190), ...others]);
      const roomOf = async (of: Filter): Promise<number> => {
        const refusal = await discover(store, of, big).catch(String);
        return Number(/room for (\d+) more URLs/.exec(String(refusal))?.[1]);
      };
      const room = await roomOf(filter);
      const file = await exportFile(store, filter);
      const copy = await importFile(store, file, made(), `${filter.name}-copy`);
      expect(Math.abs((await roomOf(copy)) - room)).toBeLessThanOrEqual(5);
    });

    it('has at most its share of room in each run after its imported URLs are forgotten', async () => {
      const { store } = subject;
      const [runs, share] = [6, 200];
      const filter = await make(runs, { capacity: runs * share, growsTo: 1 });
      const urls = hostsOf(0.7 * runs * share, 'host');
      const added = await discover(store, filter, urls);
      const file = await exportFile(store, filter);
      const copy = await importFile(store, file, made(), `${filter.name}-copy`);
      await remove(
        store,
        copy,
        urls.filter((_, n) => added[n] === 1),
      );
      const rooms = new Map<number, number>();
      for (let n = 0; rooms.size < runs; n++) {
        const pages = pagesOf(`big${n}.example`, share + 100);
        const run = runOf(copy, pages[0]!);
        if (rooms.has(run)) continue;
        const refusal = String(await discover(store, copy, pages).catch(String));
        rooms.set(run, Number(/room for (\d+) more URLs/.exec(refusal)?.[1]));
      }
      for (const room of rooms.values()) expect(room).toBeLessThanOrEqual(share);
    });

    it('hides the same URLs in each run after an export and import, and after a restart', async () => {
      const filter = await make(3, {
        ...{ capacity: 1_200, errorRate: 0.25, growsTo: 1, ...AGES },
        segmentation: { ...segmentation(3), maxSegmentBytes: 1_000 },
      });
      expect(filter.geometry.segments).toBeGreaterThan(3);
      const urls = hostsOf(1_100, 'host');
      const added = await add(subject.store, filter, urls);
      const counted = urls.filter((_, n) => added[n] === 1);
      const gone = counted.slice(0, 300);
      expect(tally(await remove(subject.store, filter, gone), 1)).toBe(gone.length);
      const file = await exportFile(subject.store, filter);
      const { parts } = await readFile(file);
      const hidden = parts.flatMap((part) => (part.type === 'hidden' ? [part] : []));
      const pieces = filter.geometry.segments / 3;
      expect(new Set(hidden.map(({ segment }) => Math.floor(segment / pieces))).size).toBe(3);
      expect(new Set(hidden.map(({ segment }) => segment)).size).toBeGreaterThan(3);
      const asked = [...urls, ...hostsOf(500, 'absent')];
      const [answers, before] = [
        await check(subject.store, filter, asked),
        await subject.store.describe(filter),
      ];
      expect(before.age!.hidden).toBe(hidden.reduce((sum, { items }) => sum + items.length, 0));
      const copy = await importFile(subject.store, file, made(), `${filter.name}-copy`);
      for (const again of [false, true]) {
        if (again) await subject.reopen();
        const opened = await subject.store.open(copy.name, copy.kind);
        expect(await check(subject.store, opened, asked)).toEqual(answers);
        const { items, age } = await subject.store.describe(opened);
        expect({ items, age }).toEqual({ items: before.items, age: before.age });
      }
      const opened = await subject.store.open(copy.name, copy.kind);
      expect(tally(await remove(subject.store, opened, gone), 1)).toBe(0);
      expect(tally(await add(subject.store, opened, gone), 0)).toBeLessThan(gone.length / 2);
      expect(tally(await check(subject.store, opened, counted), 0)).toBe(0);
    });

    it('has entry ids with bytes from the URL’s hash, none of which come from its host', async () => {
      const { queue } = subject.store;
      const filter = await make(3, { ...EXACT, maxAttempts: 1 });
      const urls = pagesOf('big.example', 20);
      await discover(subject.store, filter, urls);
      const words = (url: string): number[] => [...positionsOf([url], filter.seed, filter.geometry).hash];
      const wordsIn = (id: string): number[] => {
        const prefix = Buffer.from(decodeEntryId(filter.generation, id)!.hashPrefix);
        return [prefix.readUInt32BE(), prefix.readUInt32BE(4)];
      };
      /** The id with a different last byte in its hash. */
      const changed = (id: string): string => {
        const bytes = Buffer.from(id, 'base64url');
        bytes[bytes.length - 1]! ^= 1;
        return bytes.toString('base64url');
      };
      const leased = await queue.lease(filter, 20, 60_000, made());
      expect(leased).toHaveLength(20);
      for (const { id, payload } of leased) expect(wordsIn(id)).toEqual(words(payload).slice(1, 3));
      const settled = async (verb: 'ack' | 'release' | 'putBack' | 'purge', ids: readonly string[]) =>
        tally([...(await queue[verb](filter, ids, made()))], Settled.Done);
      const ids = leased.map(({ id }) => id);
      expect(await settled('ack', ids.map(changed))).toBe(0);
      expect(await settled('ack', ids.slice(0, 10))).toBe(10);
      expect(await settled('release', ids.slice(10))).toBe(10);
      const { entries } = await queue.deadLetters(filter, 20);
      expect(entries).toHaveLength(10);
      for (const { id, payload } of entries) expect(wordsIn(id)).toEqual(words(payload).slice(1, 3));
      const letters = entries.map(({ id }) => id);
      expect(await settled('purge', letters.map(changed))).toBe(0);
      expect(await settled('putBack', letters)).toBe(10);
    });

    it('hides as many forgotten URLs as any set, even if one host has nearly all', async () => {
      const most = 12;
      await subject.reopen({ maxHidden: most });
      const { store } = subject;
      // The set has one layer, in which each run has a share of 400. Many URLs share every cell with other URLs.
      const filter = await make(3, { capacity: 1_200, errorRate: 0.25, growsTo: 1, ...AGES });
      const big = pagesOf('big.example', 380);
      const others = hostsOf(3_000, 'other').filter((url) => runOf(filter, url) !== runOf(filter, big[0]!));
      const hidden = async () => (await store.describe(filter)).age!.hidden;
      const counted = async (urls: readonly string[]): Promise<string[]> => {
        const added = await add(store, filter, urls);
        return urls.filter((_, n) => added[n] === 1);
      };
      const [few, many] = [await counted(others.slice(0, 700)), await counted(big)];
      // Removes the oldest first, because the newest has its own cell.
      while ((await hidden()) < 2) await remove(store, filter, [few.shift()!]);
      let refused: unknown;
      while (refused === undefined && many.length > 0)
        refused = await remove(store, filter, [many.shift()!]).then(
          () => undefined,
          (error: unknown) => error,
        );
      expect(refused).toMatchObject({ code: 'STORE_FULL', message: expect.stringMatching(/limit is 12;/) });
      expect(await hidden()).toBe(most);
      const file = await exportFile(store, filter);
      const copy = await importFile(store, file, made(), `${filter.name}-copy`);
      expect((await store.describe(copy)).age!.hidden).toBe(most);
      await subject.reopen();
    });

    it('notes as many removals during a sync as any set, for one host or for many', async () => {
      await subject.reopen({ maxSyncForgets: 3_000 });
      const syncs = new SyncCalls(subject);
      const filter = await make(3, EXACT);
      const sync = await syncs.open(filter);
      await syncs.remove(filter, pagesOf('big.example', 2_900));
      expect(await syncs.get(filter, sync)).toMatchObject({ state: 'open' });
      await syncs.remove(filter, pagesOf('big.example', 3_100));
      await until('it has ended', async () => (await syncs.get(filter, sync)).state === 'abandoned');
      const another = await syncs.open(filter);
      await syncs.remove(filter, hostsOf(2_900, 'host'));
      expect(await syncs.get(filter, another)).toMatchObject({ state: 'open' });
      await syncs.remove(filter, hostsOf(3_100, 'host'));
      await subject.store.syncs.tend();
      // The Redis keys for the noted removals.
      const noted = (await subject.harness.kept()).filter((key) => key.includes(':removed:'));
      expect(noted.filter((key) => key.includes(filter.generation))).toEqual([]);
      await until('it has ended', async () => (await syncs.get(filter, another)).state === 'abandoned');
      await subject.reopen();
    });

    it('refuses a sync whose plan has a different number of runs', async () => {
      const { store } = subject;
      const filter = await make(3, EXACT);
      const plan = syncPlan(filter);
      const withSpread = (spread: number, layer: Layer): Layer => ({
        ...layer,
        geometry: { ...layer.geometry, spread },
      });
      const [first, ...later] = plan.layers!;
      const unfit = [
        { ...plan, geometry: { ...plan.geometry, spread: 1 } },
        { ...plan, layers: [first!, ...later.map((layer) => withSpread(1, layer))] },
        { ...plan, geometry: { ...plan.geometry, spread: plan.geometry.segments + 1 } },
      ];
      for (const one of unfit) await expect(store.syncs.open(filter, one, made())).rejects.toThrow(/spread/);
    });

    it.each([1, 3])('keeps the URLs that a sync lists, %d runs', async (spread) => {
      const { store } = subject;
      const syncs = new SyncCalls(subject);
      const filter = await make(spread, EXACT);
      const urls = [...pagesOf('big.example', 3_000), ...hostsOf(500, 'small')];
      await inBatches(add, store, filter, urls);
      const sync = await syncs.open(filter, { capacity: 4_000 });
      const live = urls.filter((_, n) => n % 2 === 0);
      await syncs.keep(filter, sync, live);
      await syncs.commit(filter, sync);
      const current = await syncs.current(filter);
      expect(current.geometry.spread).toBe(spread);
      expect(await inBatches(check, store, current, live)).toEqual(live.map(() => 1));
      const added = await inBatches(add, store, current, urls);
      expect(added).toEqual(urls.map((_, n) => n % 2));
    });
  });
}
