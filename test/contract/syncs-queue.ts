import { describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { items, makeFilter, SEGMENTED, type FilterOptions } from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import { SyncCalls } from './sync-calls.js';
import type { Subject } from './subject.js';

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

export function syncQueueContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const queue = new QueueCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-7, ...options });

  describe('a sync of a visited set', () => {
    it.each<FilterOptions>([{}, { segmentation: SEGMENTED }])(
      'keeps what is in the queue: waiting, leased, delayed or dead; %j',
      async (options) => {
        const filter = await make({ maxAttempts: 1, ...options });
        const [dead, leased, delayed, waiting, acked, forgotten] = [
          'dead',
          'leased',
          'delayed',
          'waiting',
          'acked',
          'forgotten',
        ].map((name) => items(20, name)) as [string[], string[], string[], string[], string[], string[]];
        await queue.discover(filter, dead);
        await queue.release(filter, await queue.lease(filter, 100));
        await queue.discover(filter, acked);
        await queue.ack(filter, await queue.lease(filter, 100));
        await queue.discover(filter, leased);
        const held = await queue.lease(filter, 100);
        expect(payloads(held).sort()).toEqual([...leased].sort());
        await queue.discover(filter, [...waiting, ...forgotten]);
        await queue.forget(filter, forgotten);
        const sync = await calls.open(filter);
        expect(await calls.get(filter, sync)).toMatchObject({ listed: 0, new: 0, items: 80, kept: 60 });
        await queue.discover(await calls.current(filter), delayed);
        await calls.commit(filter, sync);
        const present = [...dead, ...leased, ...waiting, ...delayed];
        expect(await calls.check(filter, present)).toEqual(all(present, 1));
        expect(await calls.check(filter, [...acked, ...forgotten])).toEqual(all(items(40), 0));
        // The queue goes on as if nothing had been.
        const now = await calls.current(filter);
        expect(await queue.ack(now, held)).toEqual(all(held, 1));
        const left = payloads(await queue.lease(now, 100));
        expect(left.sort()).toEqual([...waiting, ...delayed].sort());
        expect((await queue.letters(now)).map(({ item }) => item).sort()).toEqual([...dead].sort());
      },
    );

    it('what is forgotten after the opening leaves queue and set, though it waited then', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await queue.discover(filter, items(30));
      const sync = await calls.open(filter);
      expect(await calls.remove(filter, items(10))).toEqual(all(items(10), 1));
      await calls.keep(filter, sync, items(30));
      await calls.commit(filter, sync);
      expect(await calls.check(filter, items(30))).toEqual([...all(items(10), 0), ...all(items(20), 1)]);
      const now = await calls.current(filter);
      expect(payloads(await queue.lease(now, 100)).sort()).toEqual(items(30).slice(10).sort());
      // Found again, it is new.
      expect(await queue.discover(now, items(10))).toEqual(all(items(10), 1));
    });

    it('what only the list has is seen, and not queued', async () => {
      const filter = await make();
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, ['listed']);
      expect(await queue.discover(await calls.current(filter), ['listed', 'new'])).toEqual([0, 1]);
      expect(payloads(await queue.lease(await calls.current(filter), 10))).toEqual(['new']);
    });
  });
}
