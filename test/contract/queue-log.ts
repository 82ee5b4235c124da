import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Removed, Settled, type LeasedEntry } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { discover, items, made, makeFilter, remove, SEGMENTED } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { HELD_MS } from './host-calls.js';
import { LONG_MS, OVER_MS, payloads, QueueCalls } from './queue-calls.js';
import { Walk } from './queue-walk.js';
import { RENEWALS } from './renewals.js';
import type { Subject } from './subject.js';

const STEPS = 250;

export function queueLogContract(subject: Subject): void {
  const calls = new QueueCalls(subject);

  describe('the waiting entries', () => {
    it('matches a model through releases, delays, ends of leases, dead letters and forgetting', async () => {
      const random = new Random();
      console.log(`SEED=${random.seed}`);
      const filter = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 3 },
      });
      const walk = new Walk(new EntryCalls(subject), filter, random);
      for (let step = 0; step < STEPS; step++) await walk.step();
      const { model } = walk;
      const left: unknown[] = [];
      for (let turn = 0; turn <= STEPS * 10; turn++) {
        const [entry] = await calls.lease(filter, 1, HELD_MS);
        if (!entry) break;
        left.push({ item: entry.payload, attempt: entry.attempt });
      }
      expect(left).toEqual(model.lease(STEPS * 10));
      expect(await calls.letters(filter)).toEqual(model.dead);
    });
  });

  describe('an item that is forgotten and discovered again, repeatedly', () => {
    it.each(['waits', 'is leased', 'is delayed', 'is a dead letter'] as const)(
      'has only its latest entry if its previous entry %s',
      async (where) => {
        const filter = await makeFilter(subject.store, {
          ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 1 },
        });
        // Another entry, so that the queue is never empty.
        await discover(subject.store, filter, ['other']);
        const other = await calls.lease(filter, 1);
        const old: LeasedEntry[] = [];
        for (let round = 0; round < 5; round++) {
          expect(await discover(subject.store, filter, ['a'])).toEqual([1]);
          if (where !== 'waits') {
            const leased = await calls.lease(filter, 5);
            expect(leased).toMatchObject([{ payload: 'a', attempt: 1 }]);
            old.push(...leased);
          }
          if (where === 'is a dead letter') {
            expect(await calls.release(filter, old.slice(-1))).toEqual([Settled.Done]);
            expect(await calls.letters(filter)).toMatchObject([{ item: 'a' }]);
          }
          expect(await remove(subject.store, filter, ['a'])).toEqual([1]);
        }
        expect(await calls.letters(filter)).toEqual([]);
        expect(await calls.lease(filter, 10)).toEqual([]);
        expect(await discover(subject.store, filter, ['a'])).toEqual([1]);
        const last = await calls.lease(filter, 10);
        expect(last).toMatchObject([{ payload: 'a', attempt: 1 }]);
        expect(await calls.ack(filter, old)).not.toContain(Settled.Done);
        expect(await calls.ack(filter, [...last, ...other])).toEqual([Settled.Done, Settled.Done]);
        const { queue } = await subject.store.describe(filter);
        expect(queue).toMatchObject({ waiting: 0, leased: 0, delayed: 0 });
      },
    );

    it('has one entry if its previous entry is delayed, even without a limit of attempts', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
      for (let round = 0; round < 5; round++) {
        await discover(subject.store, filter, ['a']);
        await calls.release(filter, await calls.lease(filter, 5), { delayMs: 1 });
        await remove(subject.store, filter, ['a']);
      }
      await discover(subject.store, filter, ['a']);
      clock.advance(OVER_MS);
      expect(await calls.lease(filter, 10)).toMatchObject([{ payload: 'a', attempt: 1 }]);
      expect(await calls.lease(filter, 10)).toEqual([]);
    });
  });

  describe('a restart', () => {
    it('keeps every entry in its place, and the marks of forgotten items', async () => {
      const { name, kind } = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 2 },
      });
      let filter = await subject.store.open(name, kind);
      await discover(subject.store, filter, items(50));
      await calls.release(filter, await calls.lease(filter, 10));
      const held = await calls.lease(filter, 20);
      await discover(subject.store, filter, items(10, 'more'));
      await calls.release(filter, held.slice(0, 5), { delayMs: LONG_MS });
      const twice = await calls.lease(filter, 100);
      await calls.release(filter, twice, { reason: 'again' });
      await remove(subject.store, filter, [...items(4, 'more'), ...payloads(held.slice(3, 7))]);
      const { oldestSeconds: _, ...before } = (await subject.store.describe(filter)).queue!;
      const letters = await calls.letters(filter);
      expect(letters.length).toBeGreaterThan(0);
      await subject.reopen();
      filter = await subject.store.open(name, kind);
      const { oldestSeconds: __, ...after } = (await subject.store.describe(filter)).queue!;
      expect(after).toEqual(before);
      expect(await calls.letters(filter)).toEqual(letters);
      expect(await calls.ack(filter, held.slice(5))).toEqual(
        held.slice(5).map((_, i) => (i < 2 ? Settled.Unknown : Settled.Done)),
      );
      const gone = new Set([...items(4, 'more'), ...payloads(held), ...letters.map(({ item }) => item)]);
      const expected = [...items(50), ...items(10, 'more')].filter((item) => !gone.has(item));
      expect(payloads(await calls.lease(filter, 100)).sort()).toEqual(expected.sort());
    });
  });

  describe('marks of forgotten items', () => {
    it('are bounded: beyond the limit a sweep removes forgotten entries, wherever they are', async () => {
      const { name, kind } = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, maxAttempts: 2 },
      });
      await subject.reopen({ maxMarks: 100 });
      const filter = await subject.store.open(name, kind);
      const all = items(1_000);
      for (let from = 0; from < 1_000; from += 50) {
        await discover(subject.store, filter, all.slice(from, from + 50));
      }
      await calls.release(filter, await calls.lease(filter, 200));
      // The first 200 are at the end now. Add 400 more, some in each place.
      const leased = await calls.lease(filter, 300);
      const delayed = await calls.lease(filter, 100);
      await calls.release(filter, delayed, { delayMs: LONG_MS });
      await calls.lease(filter, 400);
      const dying = await calls.lease(filter, 100);
      await calls.release(filter, dying);
      const forgotten = all.filter((_, i) => i % 5 < 2);
      for (let from = 0; from < 400; from += 20) {
        await remove(subject.store, filter, forgotten.slice(from, from + 20));
      }
      let { queue } = await subject.store.describe(filter);
      for (let turn = 0; turn < 2_000 && queue!.forgotten > 125; turn++) {
        // Any change may advance the sweep.
        const probe = `probe ${turn}`;
        await discover(subject.store, filter, [probe]);
        await remove(subject.store, filter, [probe]);
        ({ queue } = await subject.store.describe(filter));
      }
      expect(queue!.forgotten).toBeLessThanOrEqual(125);
      expect(queue!.waiting + queue!.leased + queue!.delayed + queue!.dead).toBeLessThanOrEqual(600 + 125);
      const gone = new Set(forgotten);
      const alive = (of: readonly { payload: string }[]) => of.filter(({ payload }) => !gone.has(payload));
      expect((await calls.letters(filter)).map(({ item }) => item)).toEqual(payloads(alive(dying)));
      const answers = await calls.ack(filter, leased);
      for (const [i, { payload }] of leased.entries()) {
        if (gone.has(payload)) expect(answers[i]).not.toBe(Settled.Done);
        else expect([payload, answers[i]]).toEqual([payload, Settled.Done]);
      }
      // Items that are discovered again stay.
      const again = forgotten.slice(0, 10);
      expect(await discover(subject.store, filter, again)).toEqual(again.map(() => 1));
      const rest = await calls.lease(filter, 1_000);
      expect(payloads(rest).filter((payload) => gone.has(payload))).toEqual(again);
      await subject.reopen();
    });

    it.each([undefined, SEGMENTED])(
      'are swept out with their entries within a minute, wherever these are: %j',
      async (segmentation) => {
        const filter = await makeFilter(subject.store, {
          ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 1, ...(segmentation && { segmentation }) },
        });
        const long = 100 * SWEEP_AFTER_MS;
        await discover(subject.store, filter, items(60));
        const dead = await calls.lease(filter, 10, long);
        await calls.release(filter, dead);
        const leased = await calls.lease(filter, 10, long);
        const delayed = await calls.lease(filter, 10, long);
        await calls.release(filter, delayed, { delayMs: long, countAttempt: false });
        const taken = payloads([...dead, ...leased, ...delayed]);
        const waiting = items(60).filter((item) => !taken.includes(item));
        const counts = async () => {
          const { oldestSeconds: _, ...queue } = (await subject.store.describe(filter)).queue!;
          return queue;
        };
        expect(await counts()).toEqual({
          waiting: 30,
          leased: 10,
          delayed: 10,
          scheduled: 0,
          dead: 10,
          forgotten: 0,
        });
        const kept = [dead[0]!.payload, leased[0]!.payload, delayed[0]!.payload, waiting[0]!];
        const gone = items(60).filter((item) => !kept.includes(item));
        expect(await remove(subject.store, filter, gone)).toEqual(gone.map(() => Removed.Removed));
        expect(await counts()).toMatchObject({ waiting: 30, forgotten: gone.length });
        clock.advance(SWEEP_AFTER_MS);
        const left = { waiting: 1, leased: 1, delayed: 1, scheduled: 0, dead: 1, forgotten: 0 };
        await until('only live entries count', async () => isDeepStrictEqual(await counts(), left));
        expect(payloads(await calls.lease(filter, 100))).toEqual(waiting.slice(0, 1));
      },
    );

    it('disappear with the last entry', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      await discover(subject.store, filter, items(100));
      await remove(subject.store, filter, items(100).slice(0, 60));
      expect((await subject.store.describe(filter)).queue).toMatchObject({ forgotten: 60 });
      // While its slot moves, a segment keeps the marks of forgotten entries.
      await subject.harness.still(async () => {
        for (let turn = 0; turn < 10; turn++) await calls.ack(filter, await calls.lease(filter, 100));
        expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: 0, forgotten: 0 });
      });
      // Removing an item without an entry adds no mark.
      await remove(subject.store, filter, items(100).slice(60));
      expect((await subject.store.describe(filter)).queue).toMatchObject({ forgotten: 0 });
    });

    it('are skipped, even if many come before a live entry', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', capacity: 20_000 });
      const many = items(12_000);
      for (let from = 0; from < 12_000; from += 4_000) {
        await discover(subject.store, filter, many.slice(from, from + 4_000));
      }
      await discover(subject.store, filter, ['alive']);
      for (let from = 0; from < 12_000; from += 4_000) {
        await remove(subject.store, filter, many.slice(from, from + 4_000));
      }
      // Some of 12,000 items test positive and aren't queued. "alive" is queued unless it also tests positive.
      expect(payloads(await calls.lease(filter, 10)).filter((payload) => payload !== 'alive')).toEqual([]);
      expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: 0 });
    });
  });

  describe('a queue’s counts', () => {
    it('include the age of the entry at the head', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      const oldest = async () => (await subject.store.describe(filter)).queue!.oldestSeconds;
      expect(await oldest()).toBeUndefined();
      await discover(subject.store, filter, ['a']);
      clock.advance(2_100);
      await discover(subject.store, filter, ['b']);
      expect(await oldest()).toBeGreaterThanOrEqual(2);
      await calls.lease(filter, 1);
      expect(await oldest()).toBeLessThan(60);
      expect(await oldest()).toBeGreaterThanOrEqual(0);
      await calls.lease(filter, 1);
      expect(await oldest()).toBeUndefined();
    });
  });

  describe('watch', () => {
    it('calls back whenever an entry joins the waiting entries, from any source, until it is stopped', async () => {
      const filter = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', maxAttempts: 2, segmentation: SEGMENTED },
      });
      const other = await subject.harness.open();
      const theirs = await other.open(filter.name, filter.kind);
      const woken = new Woken();
      const end = subject.store.queue.watch(filter, woken.call);
      const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
        ['discover', () => discover(subject.store, filter, ['a'])],
        ['discover of another', () => discover(other, theirs, ['b'])],
        ['release', async () => calls.release(filter, await calls.lease(filter, 2))],
        ['the end of a lease', () => calls.lease(filter, 1, 30)],
        ['discover again', () => discover(subject.store, filter, ['c', 'd'])],
      ];
      for (const [name, step] of steps) {
        woken.forget();
        await step();
        expect([name, await woken.next()]).toEqual([name, true]);
      }
      const fresh = (await calls.lease(filter, 10)).filter(({ attempt }) => attempt === 1);
      await calls.release(filter, fresh, { delayMs: 2_000 });
      // Calls for earlier steps may arrive late. Once the delay has ended, a lease finds an entry.
      const back: LeasedEntry[] = [];
      while (back.length === 0) {
        expect(['the end of a delay', await woken.next()]).toEqual(['the end of a delay', true]);
        woken.forget();
        back.push(...(await calls.lease(filter, 1)));
      }
      await calls.release(filter, back);
      for (let turn = 0; turn < 3; turn++) await calls.release(filter, await calls.lease(filter, 10));
      const { entries } = await subject.store.queue.deadLetters(filter, 10);
      expect(entries.length).toBeGreaterThan(0);
      const ids = entries.map(({ id }) => id);
      woken.forget();
      await subject.store.queue.putBack(filter, ids, made());
      expect(['putBack', await woken.next()]).toEqual(['putBack', true]);
      end();
      end();
      woken.forget();
      const later = new Woken();
      const endLater = subject.store.queue.watch(filter, later.call);
      await discover(subject.store, filter, ['e']);
      expect(['a later watch', await later.next()]).toEqual(['a later watch', true]);
      expect(woken.calls).toBe(0);
      endLater();
    });

    it('calls back at the end of a lease that an extension has made shorter', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, ['a']);
      const leased = await calls.lease(filter, 1, 10 * LONG_MS);
      const woken = new Woken();
      const end = subject.store.queue.watch(filter, woken.call);
      await calls.extend(filter, leased, 30);
      expect(await woken.next()).toBe(true);
      end();
    });

    it.each(RENEWALS.slice(0, 1))('accepts a handle that %s made stale', async (_, renew) => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, ['a']);
      expect(await calls.lease(filter, 1, 30)).toHaveLength(1);
      await renew(subject, filter);
      const woken = new Woken();
      const end = subject.store.queue.watch(filter, woken.call);
      expect(['the end of a lease', await woken.next()]).toEqual(['the end of a lease', true]);
      end();
    });

    it('calls back before a drop of the set returns', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      const woken = new Woken();
      const end = subject.store.queue.watch(filter, woken.call);
      await subject.store.drop(filter.name, filter.kind, made());
      expect(woken.calls).toBeGreaterThan(0);
      end();
    });

    it.each(RENEWALS)('continues after %s', async (_, renew) => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      const woken = new Woken();
      const end = subject.store.queue.watch(filter, woken.call);
      await discover(subject.store, filter, ['before']);
      expect(await woken.next()).toBe(true);
      const renewed = await renew(subject, filter);
      const leased = await calls.lease(renewed, 10);
      await calls.ack(renewed, leased);
      woken.forget();
      await discover(subject.store, renewed, ['after']);
      expect(await woken.next()).toBe(true);
      woken.forget();
      expect(await calls.lease(renewed, 10, 30)).toHaveLength(1);
      expect(['the end of a lease', await woken.next()]).toEqual(['the end of a lease', true]);
      end();
    });
  });
}

/** Counts calls, and waits for them. */
class Woken {
  calls = 0;
  readonly call = (): void => {
    this.calls++;
  };

  forget(): void {
    this.calls = 0;
  }

  /** Whether it was called within 60 s. */
  async next(): Promise<boolean> {
    for (let turn = 0; turn < 6_000 && this.calls === 0; turn++) await sleep(10);
    return this.calls > 0;
  }
}
