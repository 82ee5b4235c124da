import { describe, expect, it } from '@jest/globals';
import { StaleFilterError, type Filter, type Sync } from '#store';
import { clock } from '../support/clock.js';
import {
  expectRefusal,
  items,
  keyed,
  made,
  makeFilter,
  SEGMENTED,
  tally,
  type FilterOptions,
} from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import { brokenCopy, type PlanOptions, SyncCalls } from './sync-calls.js';
import type { Subject } from './subject.js';

const all = (keys: readonly unknown[], answer: number): number[] => keys.map(() => answer);

const DAY_MS = 86_400_000;

/** Entries in each place of a queue: enough that copying them takes a while. */
const QUEUED = 900;

export function syncQueueContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const queue = new QueueCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-7, ...options });

  const broken = (filter: Filter, plan?: PlanOptions): Promise<Pick<Sync, 'id'>> =>
    brokenCopy(subject, filter, plan);

  describe('a sync of a visited set', () => {
    it.each<FilterOptions>([{}, { segmentation: SEGMENTED }])(
      'keeps queued items: waiting, leased, delayed or dead; %j',
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
        // The queue continues as if there had been no sync.
        const now = await calls.current(filter);
        expect(await queue.ack(now, held)).toEqual(all(held, 1));
        const left = payloads(await queue.lease(now, 100));
        expect(left.sort()).toEqual([...waiting, ...delayed].sort());
        expect((await queue.letters(now)).map(({ item }) => item).sort()).toEqual([...dead].sort());
      },
    );

    it('an item forgotten after the opening leaves queue and set, even if it was queued at the opening', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await queue.discover(filter, items(30));
      const sync = await calls.open(filter);
      expect(await calls.remove(filter, items(10))).toEqual(all(items(10), 1));
      await calls.keep(filter, sync, items(30));
      await calls.commit(filter, sync);
      expect(await calls.check(filter, items(30))).toEqual([...all(items(10), 0), ...all(items(20), 1)]);
      const now = await calls.current(filter);
      expect(payloads(await queue.lease(now, 100)).sort()).toEqual(items(30).slice(10).sort());
      // If they are discovered again, they are new.
      expect(await queue.discover(now, items(10))).toEqual(all(items(10), 1));
    });

    it.each<FilterOptions>([
      {},
      { segmentation: SEGMENTED },
      { segmentation: SEGMENTED, growsTo: Infinity, capacity: 200, maxAgeSeconds: 86_400 },
    ])('keeps entries that leave the queue before the copy reaches them: %j', async (options) => {
      const filter = await make({ maxAttempts: 1, capacity: 4_000, ...options });
      const [dead, held, rest] = ['dead', 'held', 'rest'].map((name) => items(QUEUED, name)) as [
        string[],
        string[],
        string[],
      ];
      await queue.discover(filter, dead);
      await queue.release(filter, await queue.lease(filter, QUEUED));
      await queue.discover(filter, held);
      const leased = await queue.lease(filter, QUEUED);
      await queue.discover(filter, rest);
      await queue.forget(filter, held.slice(0, 5));
      const sync = await broken(filter);
      const now = await calls.current(filter);
      expect(tally(await queue.ack(now, leased), 1)).toBe(QUEUED - 5);
      await queue.forget(now, held.slice(5, 10));
      const { entries } = await subject.store.queue.deadLetters(now, QUEUED);
      const purged = await subject.store.queue.purge(
        now,
        entries.map(({ id }) => id),
        made(),
      );
      expect(tally([...purged], 1)).toBe(QUEUED);
      await calls.commit(filter, sync);
      const kept = [...dead, ...held.slice(10), ...rest];
      expect(tally(await calls.check(filter, kept), 0)).toBe(0);
      expect(tally(await calls.check(filter, held.slice(0, 10)), 1)).toBe(0);
      // The rest of the queue is unchanged.
      expect(payloads(await queue.lease(await calls.current(filter), 3 * QUEUED)).sort()).toEqual(
        rest.sort(),
      );
    });

    it('finishes a commit while workers lease and release, and keeps their entries', async () => {
      const filter = await make({ segmentation: SEGMENTED, capacity: 4_000 });
      await queue.discover(filter, items(3_000));
      const ended = { commit: false };
      const opening = calls.open(filter);
      const worker = async () => {
        for (let turns = 0; !ended.commit && turns < 100_000; turns++) {
          const now = await calls.current(filter);
          await orStale(async () => queue.release(now, await queue.lease(now, 200)));
        }
      };
      const workers = Promise.all(Array.from({ length: 4 }, worker));
      const sync = await opening;
      const committed = await calls.commit(filter, sync).finally(() => (ended.commit = true));
      await workers;
      expect(committed).toMatchObject({ state: 'committed', items: 3_000, kept: 3_000 });
      expect(tally(await calls.check(filter, items(3_000)), 0)).toBe(0);
    });

    it('an acknowledgement repeated after the opening has the same result', async () => {
      const filter = await make();
      await queue.discover(filter, items(100));
      const leased = await queue.lease(filter, 50);
      const sync = await broken(filter);
      const operation = keyed();
      const ids = leased.map(({ id }) => id);
      const ack = async () =>
        tally([...(await subject.store.queue.ack(await calls.current(filter), ids, operation))], 1);
      expect([await ack(), await ack()]).toEqual([50, 50]);
      expect(await calls.commit(filter, sync)).toMatchObject({ state: 'committed', items: 100, kept: 100 });
      expect(await ack()).toBe(50);
      expect(tally(await calls.check(filter, items(100)), 0)).toBe(0);
    });

    it('is abandoned if its layers have no room for the queue, and no acknowledgement fails', async () => {
      const filter = await make({ capacity: 2_000, segmentation: SEGMENTED });
      await queue.discover(filter, items(900));
      const leased = await queue.lease(filter, 900);
      const sync = await calls.open(filter, { capacity: 100 });
      expect(tally(await queue.ack(await calls.current(filter), leased), 1)).toBe(900);
      await expectRefusal(calls.commit(filter, sync), 'SYNC_ENDED');
      expect(await calls.get(filter, sync)).toMatchObject({
        ...{ state: 'abandoned', reason: 'it had no room for all listed, added and queued items' },
      });
      expect(tally(await calls.check(filter, items(900)), 0)).toBe(0);
    });

    it.each<FilterOptions>([
      {},
      { segmentation: SEGMENTED },
      {
        growsTo: Infinity,
        perHost: {},
        segmentation: { ...SEGMENTED, minSegments: 1, spread: subject.spread },
      },
    ])('removes scheduled entries that it doesn’t list: %j', async (options) => {
      const filter = await make(options);
      const names = ['listed', 'dropped', 'again', 'over'] as const;
      const [listed, dropped, again, over] = names.map((name) => items(300, `http://${name}.example/`));
      await queue.discover(filter, [...again!, ...over!]);
      await queue.ack(filter, await queue.lease(filter, 1_000), DAY_MS);
      await queue.discover(filter, [...listed!, ...dropped!], { delayMs: 3 * DAY_MS });
      const sync = await calls.open(filter);
      expect(await calls.get(filter, sync)).toMatchObject({ items: 1_200, kept: 0 });
      await calls.keep(filter, sync, [...listed!, ...again!]);
      expect(await calls.commit(filter, sync)).toMatchObject({ items: 1_200, kept: 600 });
      const now = await calls.current(filter);
      expect(await calls.check(filter, [...dropped!, ...over!])).toEqual(all(items(600), 0));
      // Items that are discovered again have one entry.
      expect(await queue.discover(now, [...dropped!.slice(0, 5), ...over!.slice(0, 5)])).toEqual(
        all(items(10), 1),
      );
      const found = payloads(await queue.lease(now, 1_000)).sort();
      expect(found).toEqual([...dropped!.slice(0, 5), ...over!.slice(0, 5)].sort());
      clock.advance(3 * DAY_MS);
      const due = payloads(await queue.lease(now, 1_000));
      for (let more = due; more.length > 0; due.push(...more)) more = payloads(await queue.lease(now, 1_000));
      const back = due.filter((payload) => !found.includes(payload));
      expect(back.sort()).toEqual([...listed!, ...again!].sort());
      const { scheduled, waiting } = (await subject.store.describe(now)).queue!;
      expect({ scheduled, waiting }).toEqual({ scheduled: 0, waiting: 0 });
    });

    it('keeps entries that are scheduled while it is open, and those that were leased at the opening', async () => {
      const filter = await make({ segmentation: SEGMENTED });
      await queue.discover(filter, items(20, 'leased'));
      const leased = await queue.lease(filter, 100);
      const sync = await calls.open(filter);
      const opened = await calls.current(filter);
      await queue.ack(opened, leased, DAY_MS);
      await queue.discover(opened, items(20, 'found'), { delayMs: DAY_MS });
      await calls.commit(filter, sync);
      const now = await calls.current(filter);
      expect((await subject.store.describe(now)).queue).toMatchObject({ waiting: 0, scheduled: 40 });
      clock.advance(DAY_MS);
      expect(payloads(await queue.lease(now, 100)).sort()).toEqual(
        [...items(20, 'leased'), ...items(20, 'found')].sort(),
      );
    });

    it('leaves all scheduled entries if it is abandoned', async () => {
      const filter = await make();
      await queue.discover(filter, items(20), { delayMs: DAY_MS });
      await calls.abandon(filter, await calls.open(filter));
      clock.advance(DAY_MS);
      expect(payloads(await queue.lease(filter, 100)).sort()).toEqual(items(20).sort());
    });

    it('an item that only the sync lists is seen, and not queued', async () => {
      const filter = await make();
      const sync = await calls.open(filter);
      await calls.keep(filter, sync, ['listed']);
      expect(await queue.discover(await calls.current(filter), ['listed', 'new'])).toEqual([0, 1]);
      expect(payloads(await queue.lease(await calls.current(filter), 10))).toEqual(['new']);
    });
  });
}

/** When a sync commits, the handles that calls in progress use become stale. */
async function orStale(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof StaleFilterError)) throw error;
  }
}
