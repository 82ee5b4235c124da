import { describe, expect, it } from '@jest/globals';
import { filterBytes } from '#bloom';
import { Kept, type Filter, type Sync } from '#store';
import { until } from '../support/until.js';
import {
  add,
  check,
  expectRefusal,
  expectStale,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  type FilterOptions,
} from './calls.js';
import { SyncCalls, syncPlan } from './sync-calls.js';
import type { Subject } from './subject.js';

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);
const bytesOf = (filter: Filter) =>
  (filter.layers ?? [filter]).slice(0, 1).reduce((sum, { geometry }) => sum + filterBytes(geometry), 0);

export function syncLifeCycleContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { errorRate: 1e-7, ...options });

  describe('a sync’s life', () => {
    it('a set has one sync at a time, a multiset has none, and an unknown id is not found', async () => {
      const filter = await make();
      const sync = await calls.open(filter);
      await expectRefusal(calls.open(filter), 'SYNC_EXISTS');
      await expectRefusal(calls.get(filter, { id: '0123456789abcdef' }), 'SYNC_NOT_FOUND');
      await expectRefusal(calls.keep(filter, { id: '0123456789abcdef' }, ['a']), 'SYNC_NOT_FOUND');
      await expectRefusal(calls.commit(filter, { id: 'x' }), 'SYNC_NOT_FOUND');
      await expectRefusal(calls.abandon(filter, { id: '' }), 'SYNC_NOT_FOUND');
      expect(await calls.get(filter, sync)).toEqual(sync);
      await expectRefusal(calls.open(await make({ semantics: 'multiset' })), 'SYNC_UNSUPPORTED');
    });

    it('after the end late items are refused, a repeated end has the same result, and the next sync can open', async () => {
      const filter = await make();
      await calls.add(filter, items(10));
      const first = await calls.open(filter);
      await calls.keep(filter, first, items(10));
      const ended = await calls.commit(filter, first);
      expect(await calls.commit(filter, first)).toEqual(ended);
      expect(await calls.get(filter, first)).toEqual(ended);
      await expectRefusal(calls.keep(filter, first, ['late']), 'SYNC_ENDED');
      await expectRefusal(calls.abandon(filter, first), 'SYNC_ENDED');
      const second = await calls.open(filter);
      expect(await calls.get(filter, first)).toEqual(ended);
      expect(await calls.commit(filter, first)).toEqual(ended);
      await expectRefusal(calls.keep(filter, first, ['late']), 'SYNC_ENDED');
      const given = await calls.abandon(filter, second);
      expect(await calls.abandon(filter, second)).toEqual(given);
      await expectRefusal(calls.keep(filter, second, ['late']), 'SYNC_ENDED');
      await expectRefusal(calls.commit(filter, second), 'SYNC_ENDED');
      expect(await calls.check(filter, [...items(10), 'late'])).toEqual([...all(items(10), 1), 0]);
    });

    it('a commit that would forget more than the limit changes nothing, and names both numbers', async () => {
      const filter = await make();
      await calls.add(filter, items(100));
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, items(60));
      await expect(calls.commit(filter, sync, 0.39)).rejects.toMatchObject({
        code: 'SYNC_WOULD_FORGET',
        message: expect.stringMatching(/40 of the 100 items .* 39 %/) as unknown,
      });
      expect(await calls.get(filter, sync)).toMatchObject({ state: 'open' });
      expect(await calls.check(filter, items(100))).toEqual(all(items(100), 1));
      expect(await calls.commit(filter, sync, 0.4)).toMatchObject({ state: 'committed' });
      const empty = await make();
      expect(await calls.commit(empty, await calls.open(empty), 0)).toMatchObject({ state: 'committed' });
    });

    it('repeating a call gives the first result and changes nothing', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await calls.add(filter, ['a']);
      const opening = keyed();
      const sync = await calls.open(filter, {}, opening);
      expect(await calls.open(filter, {}, opening)).toEqual(sync);
      await expectRefusal(
        calls.open(filter, {}, { ...opening, fingerprint: 'other' }),
        'IDEMPOTENCY_KEY_REUSED',
      );
      const lines = keyed();
      expect(await calls.keep(filter, sync, ['a', 'b'], lines)).toEqual([Kept.Present, Kept.New]);
      expect(await calls.keep(filter, sync, ['a', 'b'], lines)).toEqual([Kept.Present, Kept.New]);
      expect(await calls.keep(filter, sync, ['a', 'b'])).toEqual([Kept.Present, Kept.Present]);
      expect(await calls.get(filter, sync)).toMatchObject({ listed: 4, new: 1, items: 1, kept: 1 });
      await calls.commit(filter, sync);
      expect(await calls.open(filter, {}, opening)).toMatchObject({ id: sync.id, state: 'committed' });
      expect(await calls.keep(filter, sync, ['a', 'b'], lines)).toEqual([Kept.Present, Kept.New]);
      await expectRefusal(
        calls.keep(filter, sync, ['a', 'b'], { ...lines, fingerprint: 'other' }),
        'IDEMPOTENCY_KEY_REUSED',
      );
    });

    it('a repeat that arrives when the next sync is open, or over, has the first result', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await calls.add(filter, items(10));
      const [opening, lines, others] = [keyed(), keyed(), keyed()];
      const first = await calls.open(filter, {}, opening);
      await calls.keep(filter, first, items(12), lines);
      const ended = await calls.commit(filter, first);
      const given = await calls.open(filter, {}, others);
      const repeats = async () => {
        expect(await calls.open(filter, {}, opening)).toEqual(ended);
        expect(await calls.get(filter, first)).toEqual(ended);
        expect(await calls.commit(filter, first)).toEqual(ended);
        await expectRefusal(calls.abandon(filter, first), 'SYNC_ENDED');
        expect(await calls.keep(filter, first, items(12), lines)).toEqual([...all(items(10), 0), 1, 1]);
        await expectRefusal(
          calls.open(filter, {}, { ...opening, fingerprint: 'other' }),
          'IDEMPOTENCY_KEY_REUSED',
        );
      };
      await repeats();
      expect(await calls.get(filter, given)).toMatchObject({ state: 'open', listed: 0 });
      const abandoned = await calls.abandon(filter, given);
      await repeats();
      await subject.reopen();
      const third = await calls.open(filter);
      expect(await calls.abandon(filter, given)).toEqual(abandoned);
      expect(await calls.open(filter, {}, others)).toEqual(abandoned);
      await repeats();
      expect(await calls.get(filter, third)).toMatchObject({ state: 'open', listed: 0 });
      expect(await calls.check(filter, items(12))).toEqual(all(items(12), 1));
    });

    it('an add from before a commit has its recorded result after it', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      const [adding, removing] = [keyed(), keyed()];
      expect(await add(subject.store, filter, items(30), adding)).toEqual(all(items(30), 1));
      expect(await remove(subject.store, filter, items(5), removing)).toEqual(all(items(5), 1));
      const sync = await calls.open(filter, { errorRate: 1e-2 });
      await calls.commit(filter, sync);
      const now = await calls.current(filter);
      expect(await add(subject.store, now, items(30), adding)).toEqual(all(items(30), 1));
      expect(await remove(subject.store, now, items(5), removing)).toEqual(all(items(5), 1));
      expect(await check(subject.store, now, items(30))).toEqual(all(items(30), 0));
    });

    it('a handle from before a commit is stale, and changes nothing', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await calls.add(filter, items(10));
      const sync = await calls.open(filter, { errorRate: 1e-3 });
      await calls.keep(filter, sync, items(10));
      await calls.commit(filter, sync);
      await expectStale(add(subject.store, filter, ['x']));
      await expectStale(check(subject.store, filter, ['x']));
      await expectStale(remove(subject.store, filter, items(10)));
      await expectStale(subject.store.describe(filter));
      expect(await calls.check(filter, [...items(10), 'x'])).toEqual([...all(items(10), 1), 0]);
    });

    it('a handle from before the opening still works, and the items it adds are kept', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await add(subject.store, filter, items(10));
      const sync = await calls.open(filter);
      expect(await add(subject.store, filter, items(10, 'later'))).toEqual(all(items(10), 1));
      expect(await check(subject.store, filter, items(10))).toEqual(all(items(10), 1));
      expect(await remove(subject.store, filter, ['later 0'])).toEqual([1]);
      await calls.commit(filter, sync);
      expect(await calls.check(filter, items(10, 'later'))).toEqual([0, ...all(items(9), 1)]);
      expect(await calls.check(filter, items(10))).toEqual(all(items(10), 0));
    });

    it('survives a restart, open or over, with all kept and removed items', async () => {
      const filter = await make({ growsTo: Infinity, capacity: 50, segmentation: SEGMENTED });
      await calls.add(filter, items(100));
      const sync = await calls.open(filter, { capacity: 60 });
      await calls.keep(filter, sync, items(80));
      await calls.remove(filter, ['item 0', 'absent']);
      await subject.reopen();
      const before = await calls.get(filter, sync);
      expect(before).toMatchObject({ state: 'open', listed: 80, items: 99, kept: 79, capacity: 60 });
      expect(await calls.keep(filter, sync, ['item 0', 'absent', 'item 80'])).toEqual([
        Kept.Forgotten,
        Kept.Forgotten,
        Kept.Present,
      ]);
      const ended = await calls.commit(filter, sync);
      const kept = items(81).slice(1);
      for (let restart = 0; restart < 2; restart++) {
        expect(await calls.get(filter, sync)).toEqual(ended);
        expect(await calls.check(filter, kept)).toEqual(all(kept, 1));
        expect(await calls.check(filter, items(100).slice(81))).toEqual(all(items(19), 0));
        await subject.reopen();
      }
      const other = await calls.open(filter);
      await calls.keep(filter, other, kept);
      await calls.abandon(filter, other);
      await subject.reopen();
      expect(await calls.get(filter, other)).toMatchObject({ state: 'abandoned' });
      expect(await calls.remove(filter, kept)).toEqual(all(kept, 1));
    });

    it('a cleared or dropped filter no longer has a sync', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, items(20));
      await subject.store.clear(filter.name, filter.kind, made());
      await expectRefusal(calls.get(filter, sync), 'SYNC_NOT_FOUND');
      expect(await calls.check(filter, items(20))).toEqual(all(items(20), 0));
      await calls.open(filter);
      await subject.store.drop(filter.name, filter.kind, made());
      await makeFilter(subject.store, { name: filter.name, errorRate: 1e-7 });
      expect(await calls.open(filter)).toMatchObject({ state: 'open' });
    });

    it('its memory counts in quotas, and is freed at the end', async () => {
      const prefix = `quota${String(Date.now())}-`;
      const filter = await make({ name: `${prefix}a`, segmentation: SEGMENTED, kind: 'visited-set' });
      const own = bytesOf(filter);
      const kept = async () =>
        (await subject.harness.kept()).filter((name) => name.includes(filter.generation));
      const before = await kept();
      const usage = async () => (await subject.store.usage([prefix]))[0]?.bytes;
      const quota = { prefix, maxBytes: 2 * own - 1 };
      const current = await calls.current(filter);
      await expectRefusal(
        subject.store.syncs.open(current, syncPlan(current), made(), quota),
        'QUOTA_EXCEEDED',
      );
      expect(await usage()).toBe(own);
      const sync = await subject.store.syncs.open(current, syncPlan(current), made(), {
        ...quota,
        maxBytes: 2 * own,
      });
      expect(sync.bytes).toBe(own);
      expect(await usage()).toBe(2 * own);
      await calls.abandon(filter, sync);
      expect(await usage()).toBe(own);
      await until('no data of the sync is left', async () => (await kept()).join() === before.join());
      await calls.commit(filter, await calls.open(filter));
      expect(await usage()).toBe(own);
      await until(
        'the store has as much data as before',
        async () => (await kept()).length === before.length,
      );
    });

    it('its layers grow, and items beyond their room are refused', async () => {
      const filter = await make({ capacity: 100 });
      const sync = await calls.open(filter, { capacity: 10 });
      await calls.keep(filter, sync, items(20));
      await expectRefusal(calls.keep(filter, sync, ['one more', 'and more']), 'FILTER_FULL');
      expect(await calls.keep(filter, sync, items(20))).toEqual(all(items(20), Kept.Present));
      expect(await calls.get(filter, sync)).toMatchObject({ state: 'open', listed: 40 });
      // The add must not fail. The store abandons the sync instead.
      expect(await calls.add(filter, items(5, 'added'))).toEqual(all(items(5), 1));
      expect(await calls.get(filter, sync)).toMatchObject({ state: 'abandoned' });
      const growing = await make({ growsTo: Infinity, capacity: 20 });
      const grown = await calls.open(growing);
      await calls.keep(growing, grown, items(300));
      await calls.commit(growing, grown);
      expect((await subject.store.describe(await calls.current(growing))).layers.length).toBeGreaterThan(2);
      expect(await calls.check(growing, items(300))).toEqual(all(items(300), 1));
    });

    it.each<FilterOptions>([{}, { kind: 'visited-set', maxAgeSeconds: 86_400 }])(
      'is abandoned if more of the filter’s items are added again than its layers hold; %j',
      async (options) => {
        const filter = await make({ capacity: 100, ...options });
        const operation = keyed();
        const added = await add(subject.store, filter, items(60), operation);
        const sync = await calls.open(filter, { capacity: 10 });
        expect(await add(subject.store, await calls.current(filter), items(60), operation)).toEqual(added);
        expect(await calls.add(filter, items(10))).toEqual(all(items(10), 0));
        expect(await calls.get(filter, sync)).toMatchObject({ state: 'open', kept: 10 });
        expect(await calls.add(filter, items(60))).toEqual(all(items(60), 0));
        expect(await calls.get(filter, sync)).toMatchObject({ state: 'abandoned' });
        expect(await calls.check(filter, items(60))).toEqual(all(items(60), 1));
      },
    );

    it('is abandoned if no call arrives in time, or if more items are removed than it can note', async () => {
      const filter = await make();
      await calls.add(filter, items(30));
      await subject.reopen({ maxSyncForgets: 10, syncIdleMs: 1 });
      const noted = await calls.open(filter);
      // A store may keep more than its limit, per segment.
      const many = items(3_000, 'absent');
      expect(await calls.remove(filter, many)).toEqual(all(many, 0));
      await until(
        'the sync is abandoned',
        async () => (await calls.get(filter, noted)).state === 'abandoned',
      );
      const idle: Sync = await calls.open(filter);
      await until('the idle sync is abandoned', async () => {
        await subject.store.syncs.tend();
        return (await subject.store.describe(await calls.current(filter))).sync === undefined;
      });
      expect(await calls.get(filter, idle)).toMatchObject({
        state: 'abandoned',
        reason: expect.any(String) as unknown,
      });
      await subject.reopen();
      const tended = await calls.open(filter);
      await subject.store.syncs.tend();
      expect(await calls.get(filter, tended)).toMatchObject({ state: 'open' });
      expect(await calls.check(filter, items(30))).toEqual(all(items(30), 1));
    });

    it('a repeated creation compares its parameters with the first one’s', async () => {
      const filter = await make({ capacity: 100 });
      const { generation, createdAt, base, spread, ...spec } = filter;
      await calls.commit(filter, await calls.open(filter, { capacity: 5_000 }));
      const { created, filter: found } = await subject.store.create(spec, made());
      expect({ created, generation: found.generation }).toEqual({ created: false, generation });
      expect(found.capacity).toBe(5_000);
      await expectRefusal(subject.store.create({ ...spec, capacity: 5_000 }, made()), 'FILTER_EXISTS');
      expect([createdAt, base, spread]).toEqual([found.createdAt, 0, found.spread]);
    });

    it('a commit during other calls loses no item with the result "new" or "kept"', async () => {
      const filter = await make({ growsTo: Infinity, capacity: 300, segmentation: SEGMENTED });
      await calls.add(filter, items(400));
      for (let round = 0; round < 3; round++) {
        const sync = await calls.open(filter);
        await calls.keep(filter, sync, items(200));
        const added: string[] = [];
        const writing = (async () => {
          for (let n = 0; n < 12; n++) {
            const keys = items(5, `round ${round} ${n}`);
            await again(() => calls.add(filter, keys));
            added.push(...keys);
          }
        })();
        await calls.commit(filter, sync);
        await writing;
        expect(await calls.check(filter, [...items(200), ...added])).toEqual(
          all([...items(200), ...added], 1),
        );
      }
    });
  });
}

/** Opens a stale handle again, as the service does. */
async function again<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 3 || !(error instanceof Error) || error.name !== 'StaleFilterError') throw error;
    }
  }
}
