import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kept, type Filter, type Store } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { Random, SEED } from '../support/random.js';
import { embedded, redis, type StoreHarness } from '../support/stores.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  type FilterOptions,
  inBatches,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  seedOf,
  tally,
} from './calls.js';
import { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const MAX_AGE_SECONDS = 13_000_000;
/** An age has 13 of these epochs. They are so long that none ends by chance during a test. */
const EPOCH_MS = 1_000_000_000;
const AGE = 13;

const SHAPES: readonly FilterOptions[] = [
  {},
  { segmentation: SEGMENTED },
  { growsTo: Infinity, capacity: 200, segmentation: SEGMENTED },
];

describe.each([embedded, redis])('$name: filters that age', (fixture) => {
  const subject = new Subject<StoreHarness>(fixture);
  beforeEach(async () => {
    clock.toStartOf(EPOCH_MS);
    await subject.setUp();
  });
  afterEach(() => subject.tearDown());

  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, {
      ...{ kind: 'visited-set', maxAgeSeconds: MAX_AGE_SECONDS, errorRate: 1e-6 },
      ...options,
    });
  const pass = (epochs: number) => clock.advance(epochs * EPOCH_MS);
  const again = ({ name, kind }: Filter) => subject.store.open(name, kind, { fresh: true });

  it.each(SHAPES)('an item expires when its age has passed, and not earlier: %j', async (options) => {
    const filter = await make(options);
    const { store } = subject;
    expect(await add(store, filter, items(300))).toEqual(items(300).map(() => 1));
    pass(AGE - 1);
    expect(tally(await check(store, filter, items(300)), 1)).toBe(300);
    expect(tally(await add(store, filter, items(100)), 0)).toBe(100);
    pass(1);
    expect(tally(await check(store, filter, items(300)), 1)).toBe(300);
    // Items live for up to one more epoch.
    pass(1);
    expect(tally(await check(store, filter, items(300)), 1)).toBe(100);
    // The store estimates the count from the live cells.
    expect(Math.abs((await store.describe(filter)).items - 100)).toBeLessThan(5);
    expect(tally(await add(store, filter, items(300)), 1)).toBe(200);
    pass(AGE + 1);
    expect(tally(await check(store, filter, items(300)), 1)).toBe(0);
    expect(await store.describe(filter)).toMatchObject({ items: 0, nonZeroCells: 0, added: 500 });
  });

  it('an add with a shorter age never shortens an item’s remaining life', async () => {
    const filter = await make();
    const { store } = subject;
    await add(store, filter, ['short', 'long'], undefined, 2 * EPOCH_MS);
    await add(store, filter, ['long'], undefined, 6 * EPOCH_MS);
    await add(store, filter, ['long'], undefined, EPOCH_MS);
    for (let epoch = 1; epoch <= 8; epoch++) {
      pass(1);
      const lives = [2, 6].map((ttl) => (epoch <= ttl ? 1 : 0));
      expect([epoch, await check(store, filter, ['short', 'long'])]).toEqual([epoch, lives]);
    }
  });

  it('a short-lived item doesn’t shorten the life of items that share its cells', async () => {
    const seed = seedOf(new Random(SEED));
    const filter = await make({ capacity: 400, errorRate: 0.1, seed });
    const { store } = subject;
    const added = await add(store, filter, items(400));
    const long = items(400).filter((_, n) => added[n] === 1);
    const brief = await add(store, filter, items(200, 'brief'), undefined, EPOCH_MS);
    expect(tally(brief, 1)).toBeGreaterThan(50);
    pass(1);
    await add(store, filter, items(60, 'later'), undefined, EPOCH_MS);
    for (const epochs of [2, AGE - 3]) {
      pass(epochs);
      expect(tally(await check(store, filter, long), 0)).toBe(0);
    }
  });

  it('an untouched page stays expired, even after a long time', async () => {
    const filter = await make();
    const { store } = subject;
    await add(store, filter, items(200));
    pass(AGE + 1);
    for (let epoch = AGE + 1; epoch <= 40; epoch++) {
      expect([epoch, tally(await check(store, filter, items(200)), 1)]).toEqual([epoch, 0]);
      pass(1);
    }
    expect(tally(await add(store, filter, items(200)), 1)).toBe(200);
    expect(tally(await check(store, filter, items(200)), 1)).toBe(200);
    expect(Math.abs((await store.describe(filter)).items - 200)).toBeLessThan(5);
  });

  it('after downtime longer than the age the set is empty, and after less, the live items are there', async () => {
    const filter = await make({ segmentation: SEGMENTED });
    await add(subject.store, filter, items(100));
    pass(10);
    await subject.reopen();
    expect(tally(await check(subject.store, await again(filter), items(100)), 1)).toBe(100);
    await subject.reopen();
    pass(30);
    expect(tally(await check(subject.store, await again(filter), items(100)), 1)).toBe(0);
    expect(tally(await add(subject.store, await again(filter), items(100)), 1)).toBe(100);
  });

  it('while the clock is set back, time stands still, and no item expires early', async () => {
    const filter = await make();
    const { store } = subject;
    await add(store, filter, items(100));
    pass(5);
    await add(store, filter, items(100, 'later'));
    pass(-5);
    await add(store, filter, items(100, 'back'));
    await subject.reopen();
    const current = await again(filter);
    const all = [...items(100), ...items(100, 'later'), ...items(100, 'back')];
    expect(tally(await check(subject.store, current, all), 1)).toBe(300);
    // Time continues after five epochs, and the first items have eight left.
    pass(AGE);
    expect(tally(await check(subject.store, current, all), 1)).toBe(300);
    pass(1);
    expect(tally(await check(subject.store, current, all), 1)).toBe(200);
    pass(5);
    expect(tally(await check(subject.store, current, all), 1)).toBe(0);
  });

  it('a repeat with the same key has the same result and is not another visit', async () => {
    const filter = await make();
    const { store } = subject;
    const operation = keyed();
    await add(store, filter, items(10), operation);
    expect(await add(store, filter, items(10), operation)).toEqual(items(10).map(() => 1));
    expect((await store.describe(filter)).added).toBe(10);
  });

  it(`40 epochs of churn: no item expires early, and errors stay within 1.1 times the rate; SEED=${SEED}`, async () => {
    const random = new Random(SEED);
    const [capacity, errorRate] = [4_000, 0.01];
    const filter = await make({ capacity, errorRate, seed: seedOf(random) });
    const { store } = subject;
    /**
     * The epoch in which each item was last added. An item that tested positive at its first add lives on the counts of
     * other items (G8).
     */
    const live = new Map<string, number>();
    const counted = new Set<string>();
    let [next, wrong, asked] = [0, 0, 0];
    for (let epoch = 0; epoch < 40; epoch++) {
      for (const [item, at] of live) if (epoch - at > AGE) live.delete(item);
      const known = [...live.keys()];
      const revisited = known.filter(() => random.below(100) < 10);
      const gone = known.filter((item) => counted.has(item) && random.below(100) < 1);
      const room = epoch < AGE ? capacity / AGE : capacity - live.size;
      const fresh = Array.from({ length: Math.max(0, Math.floor(room)) }, () => `url ${next++}`);
      for (const item of [...revisited, ...fresh]) live.set(item, epoch);
      await inBatches(add, store, filter, revisited);
      const answers = await inBatches(add, store, filter, fresh);
      for (const [n, item] of fresh.entries()) if (answers[n] === 1) counted.add(item);
      expect(tally(await inBatches(remove, store, filter, gone), 0)).toBe(0);
      for (const item of gone) live.delete(item);
      const kept = [...live.keys()].filter((item) => counted.has(item));
      expect([epoch, tally(await inBatches(check, store, filter, kept), 0)]).toEqual([epoch, 0]);
      expect([epoch, tally(await check(store, filter, gone), 1)]).toEqual([epoch, 0]);
      if (epoch >= 30) {
        const probes = items(20_000, `absent ${epoch}`);
        wrong += tally(await inBatches(check, store, filter, probes), 1);
        asked += probes.length;
      }
      pass(1);
    }
    console.log(`${wrong} of ${asked} absent items test positive, at ${errorRate}`);
    expect(wrong / asked).toBeLessThan(1.1 * errorRate);
    expect(wrong).toBeGreaterThan(0);
  });

  it(`30 ages with a tenth permanent and hot items forgotten repeatedly: none of them is still seen; SEED=${SEED}`, async () => {
    const random = new Random(SEED);
    const filter = await make({ capacity: 600, errorRate: 0.01, seed: seedOf(random) });
    const { store } = subject;
    const permanent = items(60, 'permanent');
    const hot = items(20, 'hot');
    /**
     * Items with their own counts. An item that tested positive when it was added has no counts to remove or keep (G8).
     */
    const counted = new Set<string>();
    let hidden = 0;
    let forgotten = 0;
    for (let epoch = 0; epoch < 30 * AGE; epoch += 3) {
      const often = [...permanent, ...hot];
      const added = await add(store, filter, [...often, ...items(100, `passing ${epoch}`)]);
      for (const [n, item] of often.entries()) if (added[n] === 1) counted.add(item);
      if (random.below(3) > 0) {
        const gone = hot.filter((item) => counted.has(item));
        await remove(store, filter, gone);
        for (const item of gone) counted.delete(item);
        expect([epoch, tally(await check(store, filter, gone), 1)]).toEqual([epoch, 0]);
        forgotten += gone.length;
        hidden = Math.max(hidden, (await store.describe(filter)).age!.hidden);
      }
      const kept = permanent.filter((item) => counted.has(item));
      expect([epoch, tally(await check(store, filter, kept), 0)]).toEqual([epoch, 0]);
      pass(3);
    }
    // Shows that the cells alone would not be enough.
    expect(hidden).toBeGreaterThan(2);
    expect(forgotten).toBeGreaterThan(30 * hot.length);
  });

  it('forgotten items whose cells other items keep alive are hidden exactly, also after a restart, up to a limit', async () => {
    const most = 12;
    await subject.reopen({ maxHidden: most });
    // The set is so full that many items share every cell with other items. Items that tested positive when they were
    // added have no counts.
    const filter = await make({ capacity: 400, errorRate: 0.1 });
    const added = await add(subject.store, filter, items(700));
    const many = items(700).filter((_, n) => added[n] === 1);
    let forgotten = 0;
    let refused: unknown;
    for (const item of many) {
      try {
        await remove(subject.store, filter, [item]);
        forgotten++;
      } catch (error) {
        refused = error;
        break;
      }
    }
    expect(refused).toMatchObject({
      code: 'STORE_FULL',
      message: `visited set "${filter.name}" records ${most} forgotten items whose counters other items keep above zero, and the limit is ${most}; nothing was changed. Retry when some of them have expired`,
      isPublic: true,
    });
    expect((await subject.store.describe(filter)).age).toMatchObject({ hidden: most });
    await subject.reopen({ maxHidden: most });
    let current = await again(filter);
    expect(tally(await check(subject.store, current, many.slice(0, forgotten)), 1)).toBe(0);
    expect(tally(await check(subject.store, current, many.slice(forgotten)), 0)).toBe(0);
    await expectRefusal(remove(subject.store, current, many.slice(forgotten, forgotten + 1)), 'STORE_FULL');
    // Items added again are present and can be forgotten again.
    const once = many.slice(0, forgotten);
    const addedAgain = await add(subject.store, current, once);
    const shown = once.filter((_, n) => addedAgain[n] === 1);
    expect(shown.length).toBeGreaterThanOrEqual(most);
    expect(tally(await check(subject.store, current, once), 0)).toBe(0);
    expect((await subject.store.describe(current)).age).toMatchObject({ hidden: 0 });
    const [one] = shown as [string, ...string[]];
    expect(await remove(subject.store, current, [one, one])).toEqual([1, 0]);
    // Their counts are their own: they stay when the items that kept their cells alive are forgotten.
    await subject.reopen({ maxHidden: 1_000 });
    current = await again(filter);
    await remove(subject.store, current, many.slice(forgotten));
    expect(tally(await check(subject.store, current, shown.slice(1)), 0)).toBe(0);
    pass(AGE + 1);
    expect((await subject.store.describe(current)).age).toMatchObject({ hidden: 0 });
    expect(tally(await add(subject.store, current, many.slice(0, 5)), 1)).toBeGreaterThan(0);
  });

  it('the limit applies to the set’s layers and to a sync’s: URLs that only the sync lists take no room in the set', async () => {
    await subject.reopen({ maxHidden: 2 });
    const filter = await make({});
    const calls = new SyncCalls(subject);
    await add(subject.store, filter, ['a', 'b']);
    const sync = await calls.open(filter);
    await calls.keep(filter, sync, ['listed']);
    expect(await remove(subject.store, filter, ['a', 'b', 'listed'])).toEqual([1, 1, 1]);
    await add(subject.store, filter, ['c', 'd', 'e']);
    await expectRefusal(remove(subject.store, filter, ['c', 'd', 'e']), 'STORE_FULL');
    expect(await remove(subject.store, filter, ['c', 'd'])).toEqual([1, 1]);
  });

  it('a sync keeps the ages of known URLs, and gives a full age to new URLs and to URLs visited during it', async () => {
    const filter = await make({ segmentation: SEGMENTED });
    const calls = new SyncCalls(subject);
    await add(subject.store, filter, ['known', 'visited', 'left', 'gone']);
    pass(5);
    const sync = await calls.open(filter);
    expect(await calls.keep(filter, sync, ['known', 'visited', 'new', 'known'])).toEqual([
      ...[Kept.Present, Kept.Present, Kept.New, Kept.Present],
    ]);
    expect(await calls.add(filter, ['visited', 'new', 'added'])).toEqual([0, 0, 1]);
    pass(1);
    expect(await calls.add(filter, ['new'])).toEqual([0]);
    await calls.commit(filter, sync);
    const names = ['known', 'visited', 'new', 'added', 'left', 'gone'];
    expect(await calls.check(filter, names)).toEqual([1, 1, 1, 1, 0, 0]);
    pass(AGE - 6);
    expect(await calls.check(filter, names)).toEqual([1, 1, 1, 1, 0, 0]);
    pass(1);
    expect(await calls.check(filter, names)).toEqual([0, 1, 1, 1, 0, 0]);
    pass(5);
    expect(await calls.check(filter, names)).toEqual([0, 0, 1, 0, 0, 0]);
    pass(1);
    expect(await calls.check(filter, names)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it.each(SHAPES)('a short visit while a sync is open shortens no life: %j', async (options) => {
    const filter = await make(options);
    const calls = new SyncCalls(subject);
    const visit = async (names: readonly string[], epochs: number) =>
      add(subject.store, await again(filter), names, undefined, epochs * EPOCH_MS);
    const names = ['visited', 'visited, then listed', 'listed, then visited', 'listed', 'queued', 'brief'];
    const [visited, before, after, listed, queued, brief] = names as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    await add(subject.store, filter, [visited, before, after, listed]);
    await discover(subject.store, filter, [queued]);
    pass(2);
    const sync = await calls.open(filter);
    expect(await visit([visited, before, queued, brief], 3)).toEqual([0, 0, 0, 1]);
    await calls.keep(filter, sync, [before, after, listed]);
    expect(await visit([after, visited], 1)).toEqual([0, 0]);
    await calls.commit(filter, sync);
    pass(3);
    expect(await calls.check(filter, names)).toEqual([1, 1, 1, 1, 1, 1]);
    pass(AGE - 5);
    expect(await calls.check(filter, names)).toEqual([1, 1, 1, 1, 1, 0]);
    pass(1);
    expect(await calls.check(filter, names)).toEqual(names.map(() => 0));
  });

  it('a longer visit while a sync is open counts, before and after the URL is listed', async () => {
    const filter = await make();
    const calls = new SyncCalls(subject);
    const visit = async (names: readonly string[], epochs: number) =>
      add(subject.store, await again(filter), names, undefined, epochs * EPOCH_MS);
    await visit(['before', 'after', 'listed'], 3);
    pass(1);
    const sync = await calls.open(filter);
    await visit(['before'], 6);
    await calls.keep(filter, sync, ['before', 'after', 'listed']);
    await visit(['after'], 6);
    await calls.commit(filter, sync);
    pass(2);
    expect(await calls.check(filter, ['before', 'after', 'listed'])).toEqual([1, 1, 1]);
    pass(1);
    expect(await calls.check(filter, ['before', 'after', 'listed'])).toEqual([1, 1, 0]);
    pass(3);
    expect(await calls.check(filter, ['before', 'after', 'listed'])).toEqual([1, 1, 0]);
    pass(1);
    expect(await calls.check(filter, ['before', 'after', 'listed'])).toEqual([0, 0, 0]);
  });

  it.each(SHAPES)(
    'a URL that is new to the set gets one age, even if a sync lists it again: %j',
    async (options) => {
      const filter = await make(options);
      const calls = new SyncCalls(subject);
      const sync = await calls.open(filter);
      expect(await calls.keep(filter, sync, ['once', 'twice'])).toEqual([Kept.New, Kept.New]);
      pass(8);
      expect(await calls.keep(filter, sync, ['twice', 'late'])).toEqual([Kept.Present, Kept.New]);
      await subject.reopen();
      expect(await calls.keep(filter, sync, ['twice', 'late'])).toEqual([Kept.Present, Kept.Present]);
      await calls.commit(filter, sync);
      pass(AGE - 8);
      expect(await calls.check(filter, ['once', 'twice', 'late'])).toEqual([1, 1, 1]);
      pass(1);
      expect(await calls.check(filter, ['once', 'twice', 'late'])).toEqual([0, 0, 1]);
      pass(7);
      expect(await calls.check(filter, ['once', 'twice', 'late'])).toEqual([0, 0, 1]);
      pass(1);
      expect(await calls.check(filter, ['once', 'twice', 'late'])).toEqual([0, 0, 0]);
    },
  );

  it('a false positive in the sync’s layers lives for at least a full age from the opening', async () => {
    const filter = await make({ capacity: 20_000, seed: seedOf(new Random(SEED)) });
    const calls = new SyncCalls(subject);
    const visit = async (names: readonly string[], epochs: number) =>
      add(subject.store, await again(filter), names, undefined, epochs * EPOCH_MS);
    const sync = await calls.open(filter, { capacity: 2_000, errorRate: 0.1 });
    await visit(items(2_000, 'brief'), 2);
    pass(1);
    const listed = items(1_500, 'listed');
    const answers = await calls.keep(filter, sync, listed);
    expect(tally(answers, Kept.Present)).toBeGreaterThan(10);
    await calls.commit(filter, sync);
    pass(AGE - 1);
    expect(tally(await calls.check(filter, listed), 0)).toBe(0);
  });

  it('a sync opened after the clock was set back shortens no life', async () => {
    const filter = await make();
    const calls = new SyncCalls(subject);
    await add(subject.store, filter, ['early']);
    pass(5);
    await add(subject.store, filter, ['late']);
    pass(-5);
    const sync = await calls.open(filter);
    await calls.keep(filter, sync, ['early', 'late', 'new']);
    await calls.commit(filter, sync);
    // The first item has eight epochs left from the point where time stopped, which is five ahead of the clock.
    pass(AGE);
    expect(await calls.check(filter, ['early', 'late', 'new'])).toEqual([1, 1, 1]);
    pass(1);
    expect(await calls.check(filter, ['early', 'late', 'new'])).toEqual([0, 1, 1]);
    pass(5);
    expect(await calls.check(filter, ['early', 'late', 'new'])).toEqual([0, 0, 0]);
  });

  it('an abandoned sync has shortened no life', async () => {
    const filter = await make();
    const calls = new SyncCalls(subject);
    await add(subject.store, filter, ['one', 'other']);
    pass(5);
    const sync = await calls.open(filter);
    await calls.keep(filter, sync, ['one']);
    expect(await calls.add(filter, ['one'])).toEqual([0]);
    await calls.abandon(filter, sync);
    pass(AGE - 4);
    expect(await calls.check(filter, ['one', 'other'])).toEqual([1, 0]);
  });

  it('a sync keeps live URLs that are queued when it opens, and expired URLs stay queued', async () => {
    const filter = await make({ segmentation: SEGMENTED });
    const calls = new SyncCalls(subject);
    await discover(subject.store, filter, ['old']);
    pass(AGE);
    await discover(subject.store, filter, ['young']);
    pass(1);
    const sync = await calls.open(filter);
    await calls.commit(filter, sync);
    expect(await calls.check(filter, ['old', 'young'])).toEqual([0, 1]);
    const leased = await subject.store.queue.lease(await again(filter), 10, 60_000, made());
    expect(leased.map(({ payload }) => payload).sort()).toEqual(['old', 'young']);
  });

  it.each<FilterOptions>([{}, { segmentation: SEGMENTED }])(
    'live URLs in the queue take room in a sync’s layers, and expired ones don’t: %j',
    async (options) => {
      const filter = await make(options);
      const calls = new SyncCalls(subject);
      await discover(subject.store, filter, items(300, 'old'));
      pass(AGE + 1);
      await discover(subject.store, filter, items(10, 'young'));
      // This sync's layers hold 40 items.
      const sync = await calls.open(filter, { capacity: 20 });
      expect(await calls.commit(filter, sync)).toMatchObject({ state: 'committed', kept: 10 });
      expect(tally(await calls.check(filter, items(10, 'young')), 1)).toBe(10);
      const grown = await calls.open(filter, { capacity: 400 });
      await calls.commit(filter, grown);
      await discover(subject.store, await again(filter), items(80, 'more'));
      const small = await calls.open(filter, { capacity: 20 });
      await expectRefusal(calls.commit(filter, small), 'SYNC_ENDED');
      expect(await calls.get(filter, small)).toMatchObject({ state: 'abandoned' });
    },
  );

  it('the limit on a sync’s forgets counts live items, even if nothing was written since other items expired', async () => {
    const filter = await make({ segmentation: SEGMENTED });
    const calls = new SyncCalls(subject);
    await add(subject.store, filter, items(300));
    pass(AGE + 1);
    const sync = await calls.open(filter);
    expect(await calls.get(filter, sync)).toMatchObject({ items: 0 });
    expect(await calls.commit(filter, sync, 0.1)).toMatchObject({ state: 'committed', items: 0 });
  });

  it('an export has absolute epochs, so items in a file expire too', async () => {
    const filter = await make({ growsTo: Infinity, capacity: 100, segmentation: SEGMENTED });
    await add(subject.store, filter, items(300, 'short'), undefined, 3 * EPOCH_MS);
    await add(subject.store, filter, items(100, 'long'));
    const file = await exportFile(subject.store, filter);
    pass(4);
    const copy = await importFile(subject.store, file, made(), `copy-${filter.name}`);
    expect(tally(await check(subject.store, copy, items(300, 'short')), 1)).toBe(0);
    expect(tally(await check(subject.store, copy, items(100, 'long')), 1)).toBe(100);
    expect(Math.abs((await subject.store.describe(copy)).items - 100)).toBeLessThan(10);
  });

  it('describes how many items live until each epoch', async () => {
    const filter = await make({ capacity: 5_000 });
    const { store } = subject;
    for (const ttl of [1, 5, AGE])
      await add(store, filter, items(1_000, `for ${ttl}`), undefined, ttl * EPOCH_MS);
    const { age, items: all } = await store.describe(filter);
    expect(age).toMatchObject({ epochMs: EPOCH_MS, hidden: 0 });
    expect(age!.items).toHaveLength(AGE + 1);
    expect(Math.abs(all - 3_000)).toBeLessThan(100);
    for (const [left, count] of age!.items.entries())
      expect([left, Math.abs(count - ([1, 5, AGE].includes(left) ? 1_000 : 0)) < 150]).toEqual([left, true]);
  });

  it('throws TypeError for ages that it can’t keep', async () => {
    const filter = await make();
    const plain = await makeFilter(subject.store);
    const wrong = (of: Filter, ttl: number, store: Store = subject.store) =>
      add(store, of, ['a'], undefined, ttl);
    await expect(wrong(plain, 1_000)).rejects.toThrow(TypeError);
    await expect(wrong(filter, MAX_AGE_SECONDS * 1_000 + 1)).rejects.toThrow(TypeError);
    await expect(wrong(filter, 0)).rejects.toThrow(TypeError);
  });
});
