import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { freshName, type TestApp } from '../support/app.js';
import { Store } from '../support/in-process.js';
import { QueuedSet, urls, urlsOf, type Dropped } from './queued-set.js';
import { STORES } from './stores.js';

describe.each(STORES)('dropping URLs from the queue beside other calls, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it.each([{}, { perHost: {} }])(
    'forgets no URL that a worker takes between the two steps, in a set with %j',
    async (more) => {
      const set = await QueuedSet.create(app, more);
      const all = urls('a.example', 600);
      await set.discover(...all);
      const { queue } = app.app.get<Store>(Store);
      const read = queue.entries.bind(queue);
      const entries = jest.spyOn(queue, 'entries');
      const acked: string[] = [];
      const leased: string[] = [];
      entries.mockImplementation(async (...args) => {
        const page = await read(...args);
        const some = await set.lease(10);
        const mine = some.slice(0, 7);
        await set.settle(
          'ack',
          mine.map(({ id }) => id),
        );
        acked.push(...urlsOf(mine));
        leased.push(...urlsOf(some.slice(7)));
        return page;
      });
      const counts = await set.drop({ state: 'waiting', forget: true });
      entries.mockRestore();
      expect(acked.length).toBeGreaterThan(0);
      const taken = acked.length + leased.length;
      expect(counts).toEqual({ matched: 600, dropped: 600 - taken, forgotten: 600 - taken });
      expect(urlsOf(await set.list())).toEqual(leased.sort());
      const words = await set.check(...all);
      expect(all.filter((_, n) => words[n] === 'seen')).toEqual(
        all.filter((url) => acked.includes(url) || leased.includes(url)),
      );
    },
  );

  describe.each(['clear', 'commit'] as const)('while another call makes a %s', (change) => {
    /** Runs after the first page of entries that the service reads. */
    const afterFirstPage = (work: () => Promise<unknown>): (() => void) => {
      const { queue } = app.app.get<Store>(Store);
      const read = queue.entries.bind(queue);
      const entries = jest.spyOn(queue, 'entries').mockImplementationOnce(async (...args) => {
        const page = await read(...args);
        await work();
        return page;
      });
      return () => entries.mockRestore();
    };
    const changed = async (set: QueuedSet): Promise<void> => {
      if (change === 'clear') {
        await set.post('clear', {});
        await set.discover(...urls('b.example', 3));
      } else {
        const { body } = await set.post('syncs', {});
        await set.post(`syncs/${(body as { id: string }).id}/commit`, {});
      }
    };

    it.each([false, true])('counts the URLs that it drops, dryRun: %s', async (dryRun) => {
      const set = await QueuedSet.create(app);
      for (const host of ['a', 'c', 'd']) await set.discover(...urls(`${host}.example`, 500));
      const restore = afterFirstPage(() => changed(set));
      const matched = change === 'clear' ? 3 : 1_500;
      expect(await set.drop({ all: true, dryRun })).toEqual({ matched, dropped: dryRun ? 0 : matched });
      restore();
      expect(await set.list()).toHaveLength(dryRun ? matched : 0);
    });

    it('refuses or follows its cursor as any call does', async () => {
      const set = await QueuedSet.create(app);
      await set.discover(...urls('a.example', 20));
      const { body } = await set.get('queue/urls', { limit: '5', state: 'waiting' });
      const { next: cursor } = body as { next: string };
      const restore = afterFirstPage(() => changed(set));
      const answer = await set.post('queue/drop', { state: 'waiting', cursor });
      restore();
      expect(answer).toMatchObject(change === 'clear' ? { status: 400 } : { body: { dropped: 15 } });
      expect(await set.list()).toHaveLength(change === 'clear' ? 3 : 5);
    });
  });

  describe.each([false, true])('in two overlapping attempts at one call, forget: %s', (forget) => {
    /** Makes two attempts. The second one runs while the first one is about to drop a page or has just dropped it. */
    const attempts = async (set: QueuedSet, when: 'before' | 'after', more: object = {}) => {
      const { queue, counters } = app.app.get<Store>(Store);
      const asked = [{ all: true, forget, ...more }, freshName('key')] as const;
      const answers: Dropped[] = [];
      const second = async () => answers.push(await set.drop(...asked));
      const around = async <T>(take: () => Promise<T>): Promise<T> => {
        if (when === 'before') await second();
        const taken = await take();
        if (when === 'after') await second();
        return taken;
      };
      const [remove, drop] = [counters.remove.bind(counters), queue.drop.bind(queue)];
      const spy = forget
        ? jest.spyOn(counters, 'remove').mockImplementationOnce((...args) => around(() => remove(...args)))
        : jest.spyOn(queue, 'drop').mockImplementationOnce((...args) => around(() => drop(...args)));
      answers.push(await set.drop(...asked));
      spy.mockRestore();
      expect(answers).toHaveLength(2);
      expect(answers[1]).toEqual(answers[0]);
      return answers[0]!;
    };

    it('gives both the same counts if they find the same URLs', async () => {
      const set = await QueuedSet.create(app);
      await set.discover(...urls('a.example', 3));
      const counts = { matched: 3, dropped: 3, ...(forget && { forgotten: 3 }) };
      expect(await attempts(set, 'before')).toEqual(counts);
      expect(await set.list()).toEqual([]);
    });

    it('gives both the counts from the attempt that ends first, even if that one finds only the remaining URLs', async () => {
      const set = await QueuedSet.create(app);
      await set.discover(...urls('a.example', 5));
      const { matched, dropped, forgotten } = await attempts(set, 'after', { limit: 2 });
      expect({ matched, dropped, forgotten }).toEqual({
        ...{ matched: 2, dropped: 2, forgotten: forget ? 2 : undefined },
      });
      expect(await set.list()).toHaveLength(1);
    });
  });

  it('forgets no URL that a worker acknowledges while it runs, and counts all others', async () => {
    const set = await QueuedSet.create(app);
    const all = urls('a.example', 3_000);
    for (let at = 0; at < all.length; at += 1_000) await set.discover(...all.slice(at, at + 1_000));
    const acked: string[] = [];
    const work = async (): Promise<void> => {
      for (let some = await set.lease(20); some.length > 0; some = await set.lease(20)) {
        const ids = some.map(({ id }) => id);
        const words = await set.settle('ack', ids);
        acked.push(...urlsOf(some.filter((_, n) => words[n] === 'acked')));
      }
    };
    let [dropped, forgotten] = [0, 0];
    const prune = async (): Promise<void> => {
      for (let n = 0; n < 30; n++) {
        const counts = await set.drop({ all: true, forget: true, limit: 100 });
        dropped += counts.dropped;
        forgotten += counts.forgotten ?? 0;
      }
    };
    await Promise.all([work(), work(), prune()]);
    await work();
    expect(forgotten).toBe(dropped);
    expect(acked.length + forgotten).toBe(all.length);
    const seen = new Set(acked);
    const words: string[] = [];
    for (let at = 0; at < all.length; at += 1_000)
      words.push(...(await set.check(...all.slice(at, at + 1_000))));
    expect(all.filter((_, n) => words[n] === 'seen')).toEqual(all.filter((url) => seen.has(url)));
  });
});
