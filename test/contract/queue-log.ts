import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { LEASE_ENDED, RELEASED, Settled, type Filter, type LeasedEntry, type Release } from '#store';
import { QueueModel } from '../support/queue-model.js';
import { Random } from '../support/random.js';
import { discover, items, keyed, made, makeFilter, remove, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';

const LONG_MS = 60_000;
/** Until a lease or a delay of a millisecond is over, by the clock of the store. */
const OVER_MS = 6;
const STEPS = 250;

export function queueLogContract(subject: Subject): void {
  const calls = new QueueCalls(subject);

  describe('the line', () => {
    it('is that of a model, through releases, delays, ends of leases, dead letters and forgetting', async () => {
      const random = new Random();
      console.log(`SEED=${random.seed}`);
      const filter = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 3 },
      });
      const walk = new Walk(calls, filter, random);
      for (let step = 0; step < STEPS; step++) await walk.step();
      const { model } = walk;
      const left: unknown[] = [];
      for (let turn = 0; turn <= STEPS * 10; turn++) {
        const [entry] = await calls.lease(filter, 1);
        if (!entry) break;
        left.push({ item: entry.payload, attempt: entry.attempt });
      }
      expect(left).toEqual(model.lease(STEPS * 10));
      expect(await calls.letters(filter)).toEqual(model.dead);
    });
  });

  describe('an item that is forgotten and discovered again, time and again', () => {
    it.each(['waits', 'is leased', 'is delayed', 'is a dead letter'] as const)(
      'while its entry %s has one entry, the last',
      async (where) => {
        const filter = await makeFilter(subject.store, {
          ...{ kind: 'visited-set', errorRate: 1e-9, maxAttempts: 1 },
        });
        // Another entry, so that there is always one in the queue.
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

    it('while its entry is delayed, without a limit of attempts, too', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
      for (let round = 0; round < 5; round++) {
        await discover(subject.store, filter, ['a']);
        await calls.release(filter, await calls.lease(filter, 5), { delayMs: 1 });
        await remove(subject.store, filter, ['a']);
      }
      await discover(subject.store, filter, ['a']);
      await sleep(OVER_MS);
      expect(await calls.lease(filter, 10)).toMatchObject([{ payload: 'a', attempt: 1 }]);
      expect(await calls.lease(filter, 10)).toEqual([]);
    });
  });

  describe('extend', () => {
    it('has leases end later, or sooner, those that are named and no others', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      await discover(subject.store, filter, items(40));
      const leased = [...(await calls.lease(filter, 20)), ...(await calls.lease(filter, 20))];
      expect(leased).toHaveLength(40);
      const some = leased.filter((_, i) => i % 3 === 1);
      expect(await calls.extend(filter, some, 1)).toEqual(some.map(() => Settled.Done));
      await sleep(OVER_MS);
      expect(await calls.extend(filter, some, LONG_MS)).toEqual(some.map(() => Settled.Expired));
      const again = await calls.lease(filter, 100);
      expect(payloads(again).sort()).toEqual(payloads(some).sort());
      const others = leased.filter((_, i) => i % 3 !== 1);
      const later = others.slice(0, 5);
      expect(await calls.extend(filter, later, 2 * LONG_MS)).toEqual(later.map(() => Settled.Done));
      expect(await calls.lease(filter, 100)).toEqual([]);
      expect(await calls.ack(filter, others)).toEqual(others.map(() => Settled.Done));
      expect(await calls.extend(filter, later, LONG_MS)).toEqual(later.map(() => Settled.Expired));
      const none = [{ id: 'nonsense' }, { id: 'A'.repeat(28) }];
      expect(await calls.extend(filter, none, LONG_MS)).toEqual([Settled.Unknown, Settled.Unknown]);
    });

    it('keeps a lease from ending that was about to', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, items(3));
      const leased = await calls.lease(filter, 3, 2_000);
      expect(await calls.extend(filter, leased, LONG_MS)).toEqual([1, 1, 1]);
      await sleep(2_100);
      expect(await calls.lease(filter, 3)).toEqual([]);
      expect(await calls.ack(filter, leased)).toEqual([1, 1, 1]);
    });
  });

  describe('a release with a delay', () => {
    it('hides entries until that is over; then they are at the end of the line', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, filter, items(5));
      const [first, second, third] = await calls.lease(filter, 3);
      await calls.release(filter, [first!], { delayMs: LONG_MS });
      await calls.release(filter, [second!, third!], { delayMs: 1 });
      await sleep(OVER_MS);
      await discover(subject.store, filter, ['later']);
      const expected = ['item 3', 'item 4', 'item 1', 'item 2', 'later'];
      const leased = await calls.lease(filter, 10);
      expect(payloads(leased)).toEqual(expected);
      expect(leased.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2, 1]);
      const { queue } = await subject.store.describe(filter);
      expect(queue).toMatchObject({ waiting: 0, leased: 5, delayed: 1, dead: 0 });
      expect(await calls.ack(filter, [first!])).toEqual([Settled.Expired]);
    });
  });

  describe('an entry that was leased as often as its set allows', () => {
    const limited = (maxAttempts: number) =>
      makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED, maxAttempts });

    it('becomes a dead letter when it comes back, at once, with the reason why', async () => {
      const filter = await limited(2);
      await discover(subject.store, filter, items(4));
      expect(await calls.release(filter, await calls.lease(filter, 4), { reason: 'first' })).toHaveLength(4);
      const leased = await calls.lease(filter, 4);
      const [a, b, c, d] = [0, 1, 2, 3].map((n) => leased.find(({ payload }) => payload === `item ${n}`)!);
      await calls.release(filter, [a!], { reason: 'HTTP 503, “später” \0', delayMs: LONG_MS });
      await calls.release(filter, [b!]);
      await calls.extend(filter, [c!], 1);
      await sleep(OVER_MS);
      expect(await calls.lease(filter, 4)).toEqual([]);
      const letters = await calls.letters(filter);
      expect(letters.sort((x, y) => (x.item < y.item ? -1 : 1))).toEqual([
        { item: 'item 0', attempt: 2, reason: 'HTTP 503, “später” \0' },
        { item: 'item 1', attempt: 2, reason: RELEASED },
        { item: 'item 2', attempt: 2, reason: LEASE_ENDED },
      ]);
      expect(await calls.ack(filter, [d!])).toEqual([Settled.Done]);
      const { queue } = await subject.store.describe(filter);
      expect(queue).toEqual({ waiting: 0, leased: 0, delayed: 0, dead: 3, forgotten: 0 });
      // It stays visited.
      expect(await discover(subject.store, filter, items(4))).toEqual([0, 0, 0, 0]);
    });

    it('is listed page by page, put back or purged by its id, also after a restart', async () => {
      const { name, kind } = await limited(1);
      let filter = await subject.store.open(name, kind);
      await discover(subject.store, filter, items(30));
      await calls.release(filter, await calls.lease(filter, 30));
      const listed = async (limit: number) => {
        const found: { id: string; payload: string }[] = [];
        let after: string | undefined;
        for (let page = 0; page < 40; page++) {
          const { entries, next } = await subject.store.queue.deadLetters(filter, limit, after);
          expect(entries.length).toBeLessThanOrEqual(limit);
          found.push(...entries);
          if (next === undefined) return found;
          after = next;
        }
        throw new Error('the pages have no end');
      };
      const all = await listed(7);
      expect(payloads(all).sort()).toEqual(items(30).sort());
      expect(await listed(1_000)).toEqual(all);
      subject.store = await subject.harness.reopen();
      filter = await subject.store.open(name, kind);
      expect(await listed(1_000)).toEqual(all);
      const [back, gone] = [all.slice(0, 10), all.slice(10, 15)];
      const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id);
      const { queue } = subject.store;
      const strange = ['', 'nonsense', 'A'.repeat(28)];
      const operation = keyed();
      for (let turn = 0; turn < 2; turn++) {
        const answers = await queue.putBack(filter, [...ids(back), ids(back)[0]!, ...strange], operation);
        expect([...answers]).toEqual([...back.map(() => Settled.Done), 0, 0, 0, 0]);
        const purged = await queue.purge(filter, ids(gone), operation);
        expect([...purged]).toEqual(gone.map(() => Settled.Done));
      }
      expect([...(await queue.purge(filter, ids(back), made()))]).toEqual(back.map(() => Settled.Unknown));
      expect(await listed(1_000)).toEqual(all.slice(15));
      const again = await calls.lease(filter, 100);
      expect(payloads(again).sort()).toEqual(payloads(back).sort());
      expect(again.every(({ attempt }) => attempt === 1)).toBe(true);
      // A dead letter is no lease, nor the other way round.
      expect(await calls.ack(filter, all.slice(15))).toEqual(all.slice(15).map(() => Settled.Unknown));
      const leases = [...(await queue.putBack(filter, ids(again), made()))];
      expect(leases).toEqual(again.map(() => Settled.Unknown));
    });

    it('that is forgotten is in no list, and can neither be put back nor purged', async () => {
      const filter = await limited(1);
      await discover(subject.store, filter, items(10));
      await calls.release(filter, await calls.lease(filter, 10));
      const { entries } = await subject.store.queue.deadLetters(filter, 100);
      await remove(subject.store, filter, items(10).slice(2));
      expect((await calls.letters(filter)).map(({ item }) => item).sort()).toEqual(['item 0', 'item 1']);
      const gone = entries.filter(({ payload }) => !['item 0', 'item 1'].includes(payload));
      const ids = gone.map(({ id }) => id);
      const { queue } = subject.store;
      expect([...(await queue.putBack(filter, ids.slice(0, 4), made()))]).toEqual([0, 0, 0, 0]);
      expect([...(await queue.purge(filter, ids.slice(4), made()))]).toEqual([0, 0, 0, 0]);
      expect(await calls.lease(filter, 10)).toEqual([]);
    });

    it('a set with another limit is another set', async () => {
      const spec = await limited(3);
      await expect(subject.store.create({ ...spec, maxAttempts: 4 }, made())).rejects.toMatchObject({
        code: 'FILTER_EXISTS',
      });
      const { maxAttempts: _, ...unlimited } = spec;
      await expect(subject.store.create(unlimited, made())).rejects.toMatchObject({ code: 'FILTER_EXISTS' });
      expect(await subject.store.create(spec, made())).toMatchObject({
        created: false,
        filter: { maxAttempts: 3 },
      });
    });
  });

  describe('a lease that is repeated', () => {
    it('answers what it still holds: not what was settled, has ended or was forgotten', async () => {
      const { name, kind } = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', segmentation: SEGMENTED, errorRate: 1e-9 },
      });
      let filter = await subject.store.open(name, kind);
      await discover(subject.store, filter, items(40));
      const operation = keyed();
      const repeat = () => subject.store.queue.lease(filter, 20, LONG_MS, operation);
      const first = await repeat();
      expect(first).toHaveLength(20);
      expect(await repeat()).toEqual(first);
      await calls.ack(filter, first.slice(0, 4));
      await calls.release(filter, first.slice(4, 8));
      await calls.extend(filter, first.slice(8, 12), 1);
      await sleep(OVER_MS);
      await remove(subject.store, filter, payloads(first.slice(12, 16)));
      expect(await repeat()).toEqual(first.slice(16));
      subject.store = await subject.harness.reopen();
      filter = await subject.store.open(name, kind);
      expect(await repeat()).toEqual(first.slice(16));
      await calls.ack(filter, first.slice(16));
      expect(await repeat()).toEqual([]);
      expect(await calls.lease(filter, 100)).toHaveLength(28);
    });

    it('that found nothing is no lease: it may find something', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      const operation = keyed();
      expect(await subject.store.queue.lease(filter, 5, LONG_MS, operation)).toEqual([]);
      await discover(subject.store, filter, items(5));
      const leased = await subject.store.queue.lease(filter, 5, LONG_MS, operation);
      expect(leased).toHaveLength(5);
      expect(await subject.store.queue.lease(filter, 5, LONG_MS, operation)).toEqual(leased);
    });
  });

  describe('a restart', () => {
    it('keeps every entry where it is, and what was forgotten', async () => {
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
      subject.store = await subject.harness.reopen();
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

  describe('marks of what was forgotten', () => {
    it('are bounded: beyond that the entries are looked through, wherever they are, and what was forgotten goes', async () => {
      const { name, kind } = await makeFilter(subject.store, {
        ...{ kind: 'visited-set', errorRate: 1e-9, capacity: 5_000, maxAttempts: 2 },
      });
      subject.store = await subject.harness.reopen({ maxMarks: 100 });
      const filter = await subject.store.open(name, kind);
      const all = items(1_000);
      for (let from = 0; from < 1_000; from += 50) {
        await discover(subject.store, filter, all.slice(from, from + 50));
      }
      await calls.release(filter, await calls.lease(filter, 200));
      // The first 200 are at the end now; 400 more, of which some are in each place.
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
        // Any change may take the sweep on.
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
      // What is discovered again lives.
      const again = forgotten.slice(0, 10);
      expect(await discover(subject.store, filter, again)).toEqual(again.map(() => 1));
      const rest = await calls.lease(filter, 1_000);
      expect(payloads(rest).filter((payload) => gone.has(payload))).toEqual(again);
      subject.store = await subject.harness.reopen();
    });

    it('go with the last entry', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
      await discover(subject.store, filter, items(100));
      await remove(subject.store, filter, items(100).slice(0, 60));
      expect((await subject.store.describe(filter)).queue).toMatchObject({ forgotten: 60 });
      for (let turn = 0; turn < 10; turn++) await calls.ack(filter, await calls.lease(filter, 100));
      expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: 0, forgotten: 0 });
      // Nothing is noted of what has no entry that it could concern.
      await remove(subject.store, filter, items(100).slice(60));
      expect((await subject.store.describe(filter)).queue).toMatchObject({ forgotten: 0 });
    });

    it('are passed, however many stand before what is alive', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', capacity: 20_000 });
      const many = items(12_000);
      for (let from = 0; from < 12_000; from += 4_000) {
        await discover(subject.store, filter, many.slice(from, from + 4_000));
      }
      await discover(subject.store, filter, ['alive']);
      for (let from = 0; from < 12_000; from += 4_000) {
        await remove(subject.store, filter, many.slice(from, from + 4_000));
      }
      // Of 12,000 some are taken for others, and were not queued; "alive" is queued in any case but that.
      expect(payloads(await calls.lease(filter, 10)).filter((payload) => payload !== 'alive')).toEqual([]);
      expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: 0 });
    });
  });

  describe('the counts of a queue', () => {
    it('tell how long the entry at the head has been known', async () => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set' });
      const oldest = async () => (await subject.store.describe(filter)).queue!.oldestSeconds;
      expect(await oldest()).toBeUndefined();
      await discover(subject.store, filter, ['a']);
      await sleep(2_100);
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
    it('calls whenever something has come into line, whoever brought it, until it is ended', async () => {
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
        [
          'the end of a delay',
          async () => {
            const fresh = (await calls.lease(filter, 10)).filter(({ attempt }) => attempt === 1);
            await calls.release(filter, fresh, { delayMs: 2_000 });
            await sleep(200);
            woken.forget();
          },
        ],
      ];
      for (const [name, step] of steps) {
        woken.forget();
        await step();
        expect([name, await woken.next()]).toEqual([name, true]);
      }
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
      await discover(subject.store, filter, ['e']);
      await sleep(200);
      expect(woken.calls).toBe(0);
    });
  });
}

function payloads(entries: readonly { payload: string }[]): string[] {
  return entries.map(({ payload }) => payload);
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

  /** Whether it was called, after 10 s at the latest. */
  async next(): Promise<boolean> {
    for (let turn = 0; turn < 1_000 && this.calls === 0; turn++) await sleep(10);
    return this.calls > 0;
  }
}

/** The calls of the queue, with an operation of its own each. */
class QueueCalls {
  constructor(private readonly subject: Subject) {}

  lease(filter: Filter, max: number, ms = LONG_MS): Promise<LeasedEntry[]> {
    return this.subject.store.queue.lease(filter, max, ms, made());
  }

  async ack(filter: Filter, entries: readonly { id: string }[]): Promise<number[]> {
    return [
      ...(await this.subject.store.queue.ack(
        filter,
        entries.map(({ id }) => id),
        made(),
      )),
    ];
  }

  async release(
    filter: Filter,
    entries: readonly { id: string }[],
    release?: Partial<Release>,
  ): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.subject.store.queue.release(filter, ids, made(), release))];
  }

  async extend(filter: Filter, entries: readonly { id: string }[], ms: number): Promise<number[]> {
    const ids = entries.map(({ id }) => id);
    return [...(await this.subject.store.queue.extend(filter, ids, ms, made()))];
  }

  discover(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return discover(this.subject.store, filter, keys);
  }

  forget(filter: Filter, keys: readonly string[]): Promise<number[]> {
    return remove(this.subject.store, filter, keys);
  }

  async putBack(filter: Filter, chosen: ReadonlySet<string>): Promise<string[]> {
    const { entries } = await this.subject.store.queue.deadLetters(filter, 1_000);
    const some = entries.filter(({ payload }) => chosen.has(payload));
    await this.subject.store.queue.putBack(
      filter,
      some.map(({ id }) => id),
      made(),
    );
    return payloads(some);
  }

  /** All dead letters. */
  async letters(filter: Filter): Promise<{ item: string; attempt: number; reason: string }[]> {
    const { entries } = await this.subject.store.queue.deadLetters(filter, 10_000);
    return entries.map(({ payload, attempt, reason }) => ({ item: payload, attempt, reason }));
  }
}

/** A walk of random calls on a queue and on its model. */
class Walk {
  readonly model = new QueueModel(3);
  private readonly ids = new Map<string, string>();
  private made = 0;

  constructor(
    private readonly calls: QueueCalls,
    private readonly filter: Filter,
    private readonly random: Random,
  ) {}

  async step(): Promise<void> {
    const steps = [
      () => this.discover(),
      () => this.lease(LONG_MS),
      () => this.lease(LONG_MS),
      () => this.endLease(),
      () => this.settle('ack'),
      () => this.settle('release'),
      () => this.settle('delay'),
      () => this.forget(),
      () => this.putBack(),
    ];
    await this.random.pick(steps)();
  }

  private async discover(): Promise<void> {
    // Some of them have been there before, and may have been forgotten.
    const keys = Array.from({ length: 1 + this.random.below(8) }, () =>
      this.random.below(2) === 0 ? `item ${this.made++}` : `item ${this.random.below(this.made + 1)}`,
    );
    const distinct = [...new Set(keys)];
    const answers = await this.calls.discover(this.filter, distinct);
    this.model.discover(distinct.filter((_, i) => answers[i] === 1));
  }

  private async lease(ms: number): Promise<string[]> {
    const max = 1 + this.random.below(6);
    const leased = await this.calls.lease(this.filter, max, ms);
    const expected = this.model.lease(max);
    expect(leased.map(({ payload, attempt }) => ({ item: payload, attempt }))).toEqual(expected);
    for (const { payload, id } of leased) this.ids.set(payload, id);
    return payloads(leased);
  }

  /** A lease that ends before the next call. */
  private async endLease(): Promise<void> {
    const leased = await this.lease(1);
    await sleep(OVER_MS);
    // In truth it is the next change that queues or leases that brings them into line, before what it brings itself.
    this.model.bringBack(this.model.settle(leased), LEASE_ENDED);
  }

  private async settle(how: 'ack' | 'release' | 'delay'): Promise<void> {
    const { model, random } = this;
    const some = model.held.filter(() => random.below(3) === 0).map(({ item }) => item);
    const ids = some.map((item) => ({ id: this.ids.get(item)! }));
    const reason = random.pick(['', 'a reason', 'another']);
    const release = { reason, delayMs: how === 'delay' ? 1 : 0 };
    const answers =
      how === 'ack'
        ? await this.calls.ack(this.filter, ids)
        : await this.calls.release(this.filter, ids, release);
    expect(answers).toEqual(some.map(() => Settled.Done));
    if (how === 'delay') await sleep(OVER_MS);
    const settled = model.settle(some);
    if (how !== 'ack') model.bringBack(settled, reason || RELEASED);
  }

  private async forget(): Promise<void> {
    const keys = Array.from(
      { length: 1 + this.random.below(6) },
      () => `item ${this.random.below(this.made + 1)}`,
    );
    const distinct = [...new Set(keys)];
    await this.calls.forget(this.filter, distinct);
    this.model.forget(new Set(distinct));
  }

  private async putBack(): Promise<void> {
    const chosen = this.model.dead.filter(() => this.random.below(2) === 0).map(({ item }) => item);
    this.model.putBack(await this.calls.putBack(this.filter, new Set(chosen)));
  }
}
