import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import type { Filter, Quota } from '#store';
import { expectRefusal, items, made, makeFilter, SEGMENTED, type FilterOptions } from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import { SyncCalls, syncPlan } from './sync-calls.js';
import type { Subject } from './subject.js';

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

/** A sync whose layers have no room left, in a set whose own layers have. */
export function syncGrowthContract(subject: Subject): void {
  const calls = new SyncCalls(subject);

  /** Opens a sync for 100 items in a set of 2,000, with a quota that leaves no room for another layer. */
  const cramped = async (options: FilterOptions) => {
    const prefix = `t${randomUUID()}-`;
    const filter = await makeFilter(subject.store, {
      ...{ name: `${prefix}a`, kind: 'visited-set', capacity: 2_000, errorRate: 1e-7, growsTo: Infinity },
      ...options,
    });
    const sync = await calls.open(filter, { capacity: 100 });
    const maxBytes = (await subject.store.usage([prefix]))[0]!.bytes + 10;
    return { filter, sync, quota: { prefix, maxBytes } };
  };

  const added = async (filter: Filter, keys: readonly string[], quota: Quota, queued: boolean) => {
    const current = await calls.current(filter);
    const positions = positionsOf(keys, current.seed, current.geometry);
    const operation = { ...made(), quota };
    return [
      ...(await subject.store.counters.add(current, positions, operation, {
        payloads: queued ? keys : undefined,
      })),
    ];
  };

  describe('a sync without room to grow', () => {
    it.each<FilterOptions & { readonly queued: boolean }>([
      { queued: true },
      { queued: false },
      { queued: true, segmentation: SEGMENTED },
      { queued: true, maxAgeSeconds: 86_400 },
    ])('is abandoned by an add for which the set itself has room, %j', async ({ queued, ...options }) => {
      const { filter, sync, quota } = await cramped(options);
      for (let batch = 0; batch < 4; batch++) {
        const keys = items(60, `batch ${batch}`);
        expect(await added(filter, keys, quota, queued)).toEqual(all(keys, 1));
      }
      expect(await calls.get(filter, sync)).toMatchObject({
        ...{ state: 'abandoned', reason: 'it had no room for all listed, added and queued items' },
      });
      const keys = [0, 1, 2, 3].flatMap((batch) => items(60, `batch ${batch}`));
      expect(await calls.check(filter, keys)).toEqual(all(keys, 1));
      const leased = await new QueueCalls(subject).lease(await calls.current(filter), 1_000);
      expect(payloads(leased).sort()).toEqual(queued ? [...keys].sort() : []);
      expect(await calls.open(filter, { capacity: 100 })).toMatchObject({ state: 'open' });
    });

    it('refuses items that need another layer, and continues', async () => {
      const { filter, sync, quota } = await cramped({});
      const current = await calls.current(filter);
      const positions = positionsOf(items(300), current.seed, current.geometry);
      const operation = { ...made(), quota };
      await expectRefusal(subject.store.syncs.keep(current, sync.id, positions, operation), 'QUOTA_EXCEEDED');
      expect(await calls.get(filter, sync)).toMatchObject({ state: 'open' });
      expect(syncPlan(filter, { capacity: 100 }).layers!.length).toBeGreaterThan(1);
    });
  });
}
