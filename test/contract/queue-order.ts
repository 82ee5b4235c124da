import { describe, expect, it } from '@jest/globals';
import { PRIORITIES, Settled, type Filter, type LeasedEntry, type Priority } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { items, makeFilter, type FilterOptions } from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import { OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

const NONE = { waiting: 0, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 };

/** Entries' priorities. */
export function queueOrderContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (options: FilterOptions = {}): Promise<Filter> =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9, ...options });
  const one = async (filter: Filter): Promise<string> => (await calls.take(filter, 1))[0]!;

  describe('the priority of an entry', () => {
    it('decides which goes first, and entries with one priority go in order, even after a restart', async () => {
      let filter = await make();
      const expected = { high: [], normal: [], low: [] } as Record<Priority, string[]>;
      for (const [n, priority] of [...PRIORITIES, ...PRIORITIES.toReversed()].entries()) {
        const some = items(5, `${n}`);
        expect(await calls.discover(filter, some, { priority })).toEqual(some.map(() => 1));
        expected[priority].push(...some);
      }
      expect(payloads(await calls.lease(filter, 3))).toEqual(expected.high.slice(0, 3));
      filter = await calls.reopened(filter);
      expect(await calls.queueOf(filter)).toMatchObject({ ...NONE, waiting: 27, leased: 3 });
      const left = [...expected.high.slice(3), ...expected.normal, ...expected.low];
      expect(payloads(await calls.lease(filter, 20))).toEqual(left.slice(0, 20));
      expect(payloads(await calls.lease(filter, 20))).toEqual(left.slice(20));
    });

    it('is normal by default', async () => {
      const filter = await make();
      await calls.discover(filter, ['low'], { priority: 'low' });
      await calls.discover(filter, ['default']);
      await calls.discover(filter, ['normal'], { priority: 'normal' });
      await calls.discover(filter, ['high'], { priority: 'high' });
      expect(payloads(await calls.lease(filter, 10))).toEqual(['high', 'default', 'normal', 'low']);
    });

    it.each(PRIORITIES)(
      'stays with an entry that comes back, behind others of %s priority',
      async (priority) => {
        let filter = await make({ maxAttempts: 10 });
        const ways: Record<string, (leased: LeasedEntry[]) => Promise<unknown>> = {
          'is released': (leased) => calls.release(filter, leased),
          'is released later': async (leased) => {
            await calls.release(filter, leased, { delayMs: 1 });
            clock.advance(OVER_MS);
          },
          'has a lease that ends': async (leased) => {
            await calls.extend(filter, leased, 1);
            clock.advance(OVER_MS);
          },
          'comes back at its time': async (leased) => {
            await calls.ack(filter, leased, 1);
            clock.advance(OVER_MS);
          },
        };
        await calls.discover(filter, ['a', 'b'], { priority });
        for (const other of PRIORITIES)
          if (other !== priority) await calls.discover(filter, [other], { priority: other });
        const higher = PRIORITIES.slice(0, PRIORITIES.indexOf(priority));
        const first = higher.length > 0 ? await calls.lease(filter, higher.length, HELD_MS) : [];
        expect(payloads(first)).toEqual(higher);
        let [next, later] = ['a', 'b'];
        for (const [name, comeBack] of Object.entries(ways)) {
          const leased = await calls.lease(filter, 1);
          expect([name, ...payloads(leased)]).toEqual([name, next]);
          await comeBack(leased);
          filter = await calls.reopened(filter);
          [next, later] = [later, next];
        }
        const rest = PRIORITIES.slice(PRIORITIES.indexOf(priority) + 1);
        expect(payloads(await calls.lease(filter, 10))).toEqual([next, later, ...rest]);
      },
    );

    it('stays with a dead letter that is put back', async () => {
      const filter = await make({ maxAttempts: 1 });
      await calls.discover(filter, ['low'], { priority: 'low' });
      await calls.discover(filter, ['high'], { priority: 'high' });
      await calls.release(filter, await calls.lease(filter, 2));
      await calls.discover(filter, ['normal']);
      await calls.putBack(filter, new Set(['low', 'high']));
      expect(payloads(await calls.lease(filter, 10))).toEqual(['high', 'normal', 'low']);
    });

    it('doesn’t matter when an item is forgotten: its entry is void, and is swept', async () => {
      const filter = await make();
      for (const priority of PRIORITIES) await calls.discover(filter, items(50, priority), { priority });
      const kept = PRIORITIES.map((priority) => `${priority} 7`);
      const gone = PRIORITIES.flatMap((priority) => items(50, priority)).filter((key) => !kept.includes(key));
      await calls.forget(filter, gone);
      const first = await calls.lease(filter, 1);
      expect(payloads(first)).toEqual(['high 7']);
      await calls.ack(filter, first);
      clock.advance(SWEEP_AFTER_MS);
      await until('only live entries count', async () => {
        const { waiting, forgotten } = await calls.queueOf(filter);
        return waiting === 2 && forgotten === 0;
      });
      expect(payloads(await calls.lease(filter, 10))).toEqual(kept.slice(1));
      expect(await calls.discover(filter, gone.slice(0, 1), { priority: 'low' })).toEqual([1]);
      expect(await one(filter)).toBe(gone[0]);
    });

    it('makes the head of the highest priority count as the oldest entry', async () => {
      const filter = await make();
      await calls.discover(filter, ['low'], { priority: 'low' });
      clock.advance(50_000);
      await calls.discover(filter, ['high'], { priority: 'high' });
      const oldest = async () => (await calls.queueOf(filter)).oldestSeconds;
      expect(await oldest()).toBeLessThan(50);
      await calls.lease(filter, 1);
      expect(await oldest()).toBeGreaterThanOrEqual(50);
    });

    it('matches a model through discoveries, leases, releases and forgetting', async () => {
      const random = new Random();
      console.log(`SEED=${random.seed}`);
      const filter = await make({ capacity: 5_000 });
      const waiting: Record<Priority, string[]> = { high: [], normal: [], low: [] };
      const levels = new Map<string, Priority>();
      for (let step = 0; step < 120; step++) {
        const some = items(random.below(6), `step ${step}`);
        const priority = PRIORITIES[random.below(3)]!;
        for (const item of some) levels.set(item, priority);
        await calls.discover(filter, some, { priority });
        waiting[priority].push(...some);
        const max = 1 + random.below(6);
        const leased = await calls.lease(filter, max);
        const all = PRIORITIES.flatMap((level) => waiting[level]);
        expect(payloads(leased)).toEqual(all.slice(0, max));
        const back = leased.filter(() => random.below(3) === 0);
        const gone = leased.filter((entry) => !back.includes(entry));
        for (const level of PRIORITIES)
          waiting[level] = waiting[level].filter((item) => !payloads(leased).includes(item));
        await calls.release(filter, back);
        for (const item of payloads(back)) waiting[levels.get(item)!].push(item);
        expect(await calls.ack(filter, gone)).toEqual(gone.map(() => Settled.Done));
        const forgotten = PRIORITIES.flatMap((level) => waiting[level]).filter(() => random.below(12) === 0);
        await calls.forget(filter, forgotten);
        for (const level of PRIORITIES)
          waiting[level] = waiting[level].filter((item) => !forgotten.includes(item));
      }
    });
  });

  describe('the priority of an entry, in a per-host queue', () => {
    it('counts within its host, and hosts’ turns don’t depend on it', async () => {
      let filter = await calls.make({});
      const [a, b] = calls.sharing(2) as [string, string];
      await calls.discover(filter, urls(a, 2), { priority: 'low' });
      await calls.discover(filter, urls(a, 2, 2));
      await calls.discover(filter, urls(a, 1, 4), { priority: 'high' });
      clock.advance(1);
      await calls.discover(filter, urls(b, 1), { priority: 'high' });
      const taken: string[] = [];
      for (let turn = 0; turn < 6; turn++) {
        taken.push(...(await calls.take(filter, 1)));
        filter = await calls.reopened(filter);
        clock.advance(1);
      }
      const [a4, a2, a3, a0, a1] = [...urls(a, 1, 4), ...urls(a, 2, 2), ...urls(a, 2)];
      expect(taken).toEqual([a4, ...urls(b, 1), a2, a3, a0, a1]);
    });

    it('is swept and counted in each host', async () => {
      const filter = await calls.make({});
      for (const priority of PRIORITIES)
        for (const host of ['a', 'b']) await calls.discover(filter, urls(host + priority, 20), { priority });
      for (const priority of PRIORITIES)
        await calls.forget(filter, [...urls(`a${priority}`, 19), ...urls(`b${priority}`, 20)]);
      clock.advance(SWEEP_AFTER_MS);
      await until('only live entries count', async () => {
        const { waiting, forgotten } = await calls.queueOf(filter);
        return waiting === 3 && forgotten === 0;
      });
      expect((await calls.take(filter)).sort()).toEqual(
        PRIORITIES.flatMap((priority) => urls(`a${priority}`, 1, 19)).sort(),
      );
    });
  });
}
