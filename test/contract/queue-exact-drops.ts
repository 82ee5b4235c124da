import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { Added, Removed, Settled, type Filter, type QueueEntry } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { check, discover, expectRefusal, items, keyed, made, makeFilter, remove } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { HELD_MS, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const [ONE] = urls('a', 1) as [string];

/** Moves ONE's entry after it was listed. */
interface Move {
  /** Brings the entry to where it is listed. */
  readonly before?: (filter: Filter) => Promise<unknown>;
  readonly after: (filter: Filter) => Promise<unknown>;
}

/** Drops and removals for entries that other calls take in the meantime. */
export function queueExactDropsContract(subject: Subject): void {
  const calls = new EntryCalls(subject);
  const syncs = new SyncCalls(subject);
  const lease = (filter: Filter) => calls.lease(filter, 1, HELD_MS);
  /** All entries, by id, because the order of hosts changes after a slot has moved. */
  const listed = async (filter: Filter) => (await calls.list(filter)).sort((a, b) => (a.id < b.id ? -1 : 1));
  const leased = new WeakMap<Filter, { id: string }[]>();
  const hold = async (filter: Filter) => leased.set(filter, await lease(filter));
  const held = (filter: Filter) => leased.get(filter)!;
  const released = async (filter: Filter, delayMs = 0) =>
    calls.release(filter, await lease(filter), { delayMs });
  /**
   * Makes entries come due, and lets the queue notice. A change notices due entries only in its own segments, which its
   * hosts choose.
   */
  const overdue = async (filter: Filter) => {
    clock.advance(2 * HELD_MS);
    await discover(subject.store, filter, urls('a', 1, 1_000));
  };
  const letters = async (filter: Filter) =>
    (await subject.store.queue.deadLetters(filter, 10)).entries.map(({ id }) => id);
  const die = async (filter: Filter) => {
    for (let n = 0; n < 2; n++) await released(filter);
  };

  const moves: Readonly<Record<string, Move>> = {
    'leased meanwhile': { after: lease },
    'leased and released meanwhile': { after: released },
    'leased and acknowledged meanwhile': { after: async (filter) => calls.ack(filter, await lease(filter)) },
    'forgotten meanwhile': { after: (filter) => remove(subject.store, filter, [ONE]) },
    'forgotten and discovered again meanwhile': {
      after: async (filter) => {
        await remove(subject.store, filter, [ONE]);
        await discover(subject.store, filter, [ONE]);
      },
    },
    'dropped meanwhile': { after: async (filter) => calls.drop(filter, await calls.list(filter)) },
    'acknowledged since they were leased': {
      before: hold,
      after: (filter) => calls.ack(filter, held(filter)),
    },
    'released since they were leased': {
      before: hold,
      after: (filter) => calls.release(filter, held(filter)),
    },
    'put off since they were leased': {
      before: hold,
      after: (filter) => calls.release(filter, held(filter), { delayMs: HELD_MS }),
    },
    'kept for later since they were leased': {
      before: hold,
      after: (filter) => calls.ack(filter, held(filter), HELD_MS),
    },
    'given up since they were leased': {
      before: async (filter) => {
        await released(filter);
        await hold(filter);
      },
      after: (filter) => calls.release(filter, held(filter)),
    },
    'back because their lease ended': { before: hold, after: overdue },
    'back because their delay ended': {
      before: (filter) => released(filter, HELD_MS),
      after: overdue,
    },
    'back because their time has come': {
      before: async (filter) => calls.ack(filter, await lease(filter), HELD_MS),
      after: overdue,
    },
    'put back from the dead letters': {
      before: die,
      after: async (filter) => subject.store.queue.putBack(filter, await letters(filter), made()),
    },
    'purged from the dead letters': {
      before: die,
      after: async (filter) => subject.store.queue.purge(filter, await letters(filter), made()),
    },
  };

  describe.each(calls.kinds)('entries of a queue %s', (_, make) => {
    describe.each(Object.entries(moves))('that are %s', (__, { before, after }) => {
      /** A queue whose first entry was listed and has moved. */
      const moved = async (): Promise<{ filter: Filter; one: QueueEntry; others: QueueEntry[] }> => {
        const filter = await make({ maxAttempts: 2 });
        await discover(subject.store, filter, [ONE]);
        await before?.(filter);
        const [one] = await calls.list(filter);
        expect(one?.payload).toBe(ONE);
        await after(filter);
        await discover(subject.store, filter, urls('c', 2));
        const others = (await calls.list(filter)).filter(({ payload }) => payload.includes('//c.'));
        expect(others).toHaveLength(2);
        return { filter, one: one!, others };
      };
      const state = async (filter: Filter) => ({
        listed: (await listed(filter)).filter(({ payload }) => !payload.includes('//c.')),
        visited: await check(subject.store, filter, [ONE]),
      });

      it('aren’t dropped', async () => {
        const { filter, one, others } = await moved();
        const then = await state(filter);
        expect(await calls.drop(filter, [others[0]!, one, others[1]!])).toEqual([
          Settled.Done,
          Settled.Unknown,
          Settled.Done,
        ]);
        expect(await state(filter)).toEqual(then);
        expect(then.listed.map(({ id }) => id)).not.toContain(one.id);
      });

      it('aren’t forgotten', async () => {
        const { filter, one, others } = await moved();
        const then = await state(filter);
        expect(await calls.removeListed(filter, [others[0]!, one, others[1]!])).toEqual([
          Removed.Removed,
          Removed.Moved,
          Removed.Removed,
        ]);
        expect(await state(filter)).toEqual(then);
        expect(await check(subject.store, filter, payloads(others))).toEqual([0, 0]);
      });
    });

    const takes = {
      dropped: (filter: Filter, some: readonly QueueEntry[]) => calls.drop(filter, some),
      forgotten: (filter: Filter, some: readonly QueueEntry[]) => calls.removeListed(filter, some),
    };
    describe.each(['dropped', 'forgotten'] as const)('that stay are %s', (how) => {
      const take = takes[how];

      it('in every state and of every priority, once', async () => {
        const filter = await make({ maxAttempts: 1 }, 'segmented');
        await calls.fill(filter, 15);
        const all = await calls.list(filter);
        expect(all).toHaveLength(75);
        expect(await take(filter, all)).toEqual(all.map(() => 1));
        expect(await calls.list(filter)).toEqual([]);
        expect(await calls.drop(filter, all)).toEqual(all.map(() => Settled.Unknown));
        expect(await calls.removeListed(filter, all)).toEqual(all.map(() => Removed.Moved));
        clock.advance(2 * HELD_MS);
        expect(await calls.take(filter)).toEqual([]);
        const anew = how === 'dropped' ? Added.Present : Added.New;
        expect(await discover(subject.store, filter, payloads(all))).toEqual(all.map(() => anew));
      });

      it('after a restart', async () => {
        const filter = await make({ maxAttempts: 1 });
        await calls.fill(filter, 15);
        const all = await calls.list(filter);
        const now = await calls.reopened(filter);
        expect(await take(now, all)).toEqual(all.map(() => 1));
      });

      it('if their lease was extended, or their lease or delay has ended and nothing has moved them', async () => {
        const filter = await make({ maxAttempts: 1 });
        const { held: some } = await calls.fill(filter, 15);
        const all = await calls.list(filter);
        await calls.extend(filter, some.slice(5), HELD_MS + 2_000);
        clock.advance(HELD_MS + 1_500);
        expect(await take(filter, all)).toEqual(all.map(() => 1));
      });

      it('if neighbours were leased, forgotten, and swept out', async () => {
        const filter = await make({ maxAttempts: 1 });
        await calls.fill(filter, 30);
        const all = await calls.list(filter);
        const gone = all.filter((__, n) => n % 3 === 1);
        await remove(subject.store, filter, payloads(gone));
        clock.advance(SWEEP_AFTER_MS);
        await until('it is swept', async () => (await calls.queueOf(filter)).forgotten === 0);
        const taken = await calls.take(filter, 10);
        const lost = new Set([...payloads(gone), ...taken]);
        const expected = all.map(({ payload }) => !lost.has(payload));
        const answers = await take(filter, all);
        expect(answers.map((answer) => answer === 1)).toEqual(expected);
        expect(payloads(await calls.list(filter)).sort()).toEqual(taken.sort());
      });

      it('during a sync', async () => {
        const filter = await make({ maxAttempts: 1 });
        await calls.fill(filter, 15);
        const all = await calls.list(filter);
        const sync = await syncs.open(filter);
        const now = await syncs.current(filter);
        const [stays, ...others] = all.filter(({ state }) => state === 'waiting');
        expect(await take(now, [...others, ...all.filter(({ state }) => state !== 'waiting')])).toEqual(
          all.slice(1).map(() => 1),
        );
        await syncs.commit(filter, sync);
        expect(payloads(await calls.list(await syncs.current(filter)))).toEqual([stays!.payload]);
      });

      it('and the second of two equal ids changes nothing', async () => {
        const filter = await make();
        await discover(subject.store, filter, urls('a', 3));
        const [first, second] = await calls.list(filter);
        const again = how === 'dropped' ? Settled.Unknown : Removed.Moved;
        expect(await take(filter, [first!, second!, first!])).toEqual([1, 1, again]);
        expect(await calls.list(filter)).toHaveLength(1);
      });
    });

    it.each(['drop', 'removeListed'] as const)('keep the first answers for a repeated %s', async (how) => {
      const filter = await make({}, 'segmented');
      await discover(subject.store, filter, [...urls('a', 6), ...urls('b', 6)]);
      const all = await calls.list(filter);
      const taken = await calls.take(filter, 3, filter.perHost && 2);
      const operation = keyed();
      const answers = await calls[how](filter, all, operation);
      const moved = how === 'drop' ? Settled.Unknown : Removed.Moved;
      expect(answers).toEqual(all.map(({ payload }) => (taken.includes(payload) ? moved : 1)));
      clock.advance(2 * HELD_MS);
      await discover(subject.store, filter, [...urls('a', 12), ...urls('b', 12)]);
      const then = await listed(filter);
      expect(await calls[how](filter, all, operation)).toEqual(answers);
      expect(await listed(filter)).toEqual(then);
      await expectRefusal(
        calls[how](filter, then, { ...operation, fingerprint: 'another' }),
        'IDEMPOTENCY_KEY_REUSED',
      );
      expect(await listed(filter)).toEqual(then);
    });

    it('aren’t noted as removed by a sync if they moved', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 2));
      const all = await calls.list(filter);
      const acked = await calls.lease(filter, 1);
      await calls.ack(filter, acked);
      const [taken] = payloads(acked);
      const sync = await syncs.open(filter);
      const answers = await calls.removeListed(await syncs.current(filter), all);
      expect(answers).toEqual(
        all.map(({ payload }) => (payload === taken ? Removed.Moved : Removed.Removed)),
      );
      await syncs.keep(filter, sync, urls('a', 2));
      await syncs.commit(filter, sync);
      const visited = urls('a', 2).map((url) => (url === taken ? 1 : 0));
      expect(await syncs.check(filter, urls('a', 2))).toEqual(visited);
    });

    it('stay in a sync’s layers if they moved', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 2));
      const all = await calls.list(filter);
      const acked = await calls.lease(filter, 1);
      await calls.ack(filter, acked);
      const [taken] = payloads(acked);
      const sync = await syncs.open(filter);
      await syncs.keep(filter, sync, urls('a', 2));
      await calls.removeListed(await syncs.current(filter), all);
      await syncs.commit(filter, sync);
      const visited = urls('a', 2).map((url) => (url === taken ? 1 : 0));
      expect(await syncs.check(filter, urls('a', 2))).toEqual(visited);
    });

    it('have moved once settled, even if others in their lease haven’t', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { held: some } = await calls.fill(filter, 6);
      const all = await calls.list(filter, { state: 'leased' });
      const gone = some.filter((__, n) => n % 2 === 0);
      await calls.ack(filter, gone);
      const answers = all.map(({ payload }) => (payloads(gone).includes(payload) ? 0 : 1));
      expect(await calls.drop(filter, all)).toEqual(answers);
      expect(await calls.list(filter, { state: 'leased' })).toEqual([]);
      expect(await check(subject.store, filter, payloads(gone))).toEqual(gone.map(() => 1));
    });

    it('don’t count as refused removals if they moved', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 3));
      const all = await calls.list(filter);
      await calls.take(filter, 1);
      expect((await calls.removeListed(filter, all)).sort()).toEqual([1, 1, Removed.Moved]);
      const { removed, refused } = await subject.store.describe(filter);
      expect({ removed, refused }).toEqual({ removed: 2, refused: 0 });
    });

    it('are dropped one by one if their item expired and was discovered again', async () => {
      const filter = await make({ maxAgeSeconds: 60, growsTo: Infinity });
      const anew = async () => {
        await discover(subject.store, filter, [ONE]);
        clock.advance(120_000);
      };
      await anew();
      await anew();
      const [first, second] = await calls.list(filter);
      expect(await calls.drop(filter, [first!])).toEqual([Settled.Done]);
      expect(await calls.list(filter)).toEqual([second]);
      await anew();
      const both = await calls.list(filter);
      expect(both).toHaveLength(2);
      expect((await calls.drop(filter, both.reverse()))[0]).toBe(Settled.Done);
      expect(await calls.list(filter)).toEqual([]);
      await anew();
      await discover(subject.store, filter, [ONE]);
      const then = await calls.list(filter);
      expect(await calls.removeListed(filter, then)).toEqual([Removed.Removed, Removed.Moved]);
      expect(await calls.list(filter)).toEqual([]);
    });

    it('are dropped with a later entry for their item if it expired, even if they are leased', async () => {
      const filter = await make({ maxAgeSeconds: 60, growsTo: Infinity });
      await discover(subject.store, filter, [ONE]);
      const first = await lease(filter);
      clock.advance(120_000);
      await discover(subject.store, filter, [ONE]);
      expect(await calls.list(filter)).toHaveLength(2);
      const later = await calls.list(filter, { state: 'waiting' });
      expect(await calls.drop(filter, later)).toEqual([Settled.Done]);
      expect(await calls.list(filter)).toEqual([]);
      expect(await calls.ack(filter, first)).toEqual([Settled.Unknown]);
    });

    it('have no place in a later generation', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 2));
      const all = await calls.list(filter);
      const now = await subject.store.clear(filter.name, filter.kind, made());
      await discover(subject.store, now, urls('a', 2));
      expect(await calls.drop(now, all)).toEqual([Settled.Unknown, Settled.Unknown]);
      expect(await calls.removeListed(now, all)).toEqual([Removed.Moved, Removed.Moved]);
      expect(await calls.list(now)).toHaveLength(2);
    });

    it('are unknown under malformed ids and under ids for other places', async () => {
      const filter = await make({ maxAttempts: 1 });
      await calls.fill(filter, 3);
      const all = await calls.list(filter);
      const then = await listed(filter);
      const strange = all.flatMap((entry, n) => {
        const other = all[(n + 1) % all.length]!;
        return [
          ...otherPlaces(entry, other),
          entry.id.slice(0, 40),
          `${entry.id}AAAA`,
          '',
          'x',
          'A'.repeat(60),
        ].map((id) => ({ ...entry, id }));
      });
      const known = new Set(all.map(({ id }) => id));
      const wrong = strange.filter(({ id }) => !known.has(id));
      expect(wrong.length).toBeGreaterThan(all.length);
      expect(new Set(await calls.drop(filter, wrong))).toEqual(new Set([Settled.Unknown]));
      expect(new Set(await calls.removeListed(filter, wrong))).toEqual(new Set([Removed.Moved]));
      expect(await listed(filter)).toEqual(then);
    });

    it('don’t remove another item', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 3));
      const all = await calls.list(filter);
      const [first, second, third] = all as [QueueEntry, QueueEntry, QueueEntry];
      const swapped = [{ ...first, id: second.id }, { ...second, id: first.id }, third];
      expect(await calls.removeListed(filter, swapped)).toEqual([
        Removed.Moved,
        Removed.Moved,
        Removed.Removed,
      ]);
      expect(await calls.list(filter)).toEqual([first, second]);
    });

    it('stay if their item can’t be removed', async () => {
      const filter = await make({ semantics: 'multiset', errorRate: 1e-3 });
      for (let n = 0; n < 20; n++) await discover(subject.store, filter, [ONE]);
      const all = await calls.list(filter);
      const answers = await calls.removeListed(filter, all.slice(0, 1));
      expect(answers).toEqual([Removed.Saturated]);
      expect(await calls.list(filter)).toEqual(all);
      expect(await calls.drop(filter, all.slice(-1))).toEqual([Settled.Done]);
    });

    it('stay if their item has expired', async () => {
      const filter = await make({ maxAgeSeconds: 60, growsTo: Infinity });
      await discover(subject.store, filter, [ONE]);
      clock.advance(120_000);
      const all = await calls.list(filter);
      expect(await calls.removeListed(filter, all)).toEqual([Removed.Absent]);
      expect(await calls.list(filter)).toEqual(all);
      expect(await calls.drop(filter, all)).toEqual([Settled.Done]);
      expect(await calls.list(filter)).toEqual([]);
    });
  });

  it('refuses ids of entries if an item has none, or if the filter has no queue', async () => {
    const { counters } = subject.store;
    const set = await calls.plain();
    await discover(subject.store, set, urls('a', 2));
    const ids = (await calls.list(set)).map(({ id }) => id);
    const positions = positionsOf(urls('a', 2), set.seed, set.geometry);
    await expect(counters.remove(set, positions, made(), ids.slice(1))).rejects.toThrow(TypeError);
    const filter = await makeFilter(subject.store);
    const some = positionsOf(items(2), filter.seed, filter.geometry);
    await expect(counters.remove(filter, some, made(), ids)).rejects.toThrow(TypeError);
  });

  describe('the recorded answer for an operation that makes several calls', () => {
    const record = (filter: Filter, operation = keyed(), answer = 'an answer: é') =>
      subject.store.queue.record(filter, operation, answer);

    it('is the first one', async () => {
      const filter = await calls.plain();
      const operation = keyed();
      const { queue } = subject.store;
      expect(await queue.recall(filter, operation)).toBeUndefined();
      expect(await record(filter, operation)).toBe('an answer: é');
      expect(await record(filter, operation, 'another')).toBe('an answer: é');
      expect(await queue.recall(filter, operation)).toBe('an answer: é');
      expect(await queue.recall(filter, keyed())).toBeUndefined();
      const now = await calls.reopened(filter);
      expect(await subject.store.queue.recall(now, operation)).toBe('an answer: é');
    });

    it('may be empty, and is refused for another request', async () => {
      const filter = await calls.plain();
      const operation = keyed();
      await record(filter, operation, '');
      expect(await subject.store.queue.recall(filter, operation)).toBe('');
      const other = { ...operation, fingerprint: 'another' };
      await expectRefusal(record(filter, other), 'IDEMPOTENCY_KEY_REUSED');
      await expectRefusal(subject.store.queue.recall(filter, other), 'IDEMPOTENCY_KEY_REUSED');
    });

    it('belongs to one generation', async () => {
      const filter = await calls.plain();
      const operation = keyed();
      await record(filter, operation);
      const now = await subject.store.clear(filter.name, filter.kind, made());
      expect(await subject.store.queue.recall(now, operation)).toBeUndefined();
    });
  });
}

/** One entry's ids with a different place. It is another entry's place, or its first byte, or has one byte changed. */
function otherPlaces({ id }: QueueEntry, other: QueueEntry): string[] {
  const [bytes, others] = [id, other.id].map((text) => Buffer.from(text, 'base64url')) as [Buffer, Buffer];
  const [named, letter] = [bytes.subarray(0, 30), others.subarray(30, 31)];
  const ids = [
    Buffer.concat([named, others.subarray(30)]),
    Buffer.concat([named, letter, bytes.subarray(31)]),
  ];
  for (let at = 30; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] as number) ^ 0xff;
    ids.push(changed);
  }
  return ids.map((changed) => changed.toString('base64url'));
}
