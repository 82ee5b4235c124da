import { describe, expect, it } from '@jest/globals';
import { Added, Settled, type Filter, type PerHost } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { check, discover, keyed, made, type FilterOptions } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, ofHost, urls } from './host-calls.js';
import { LONG_MS, OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** Per-host queues: delays and limits. */
export function queueHostPaceContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (perHost: PerHost, more?: FilterOptions): Promise<Filter> => calls.make(perHost, more);
  const lease = (filter: Filter, max?: number, maxPerHost?: number) => calls.take(filter, max, maxPerHost);

  /** Resolves when a waiting lease is woken. */
  const wokenOnce = (filter: Filter): Promise<void> =>
    new Promise((resolve) => {
      const end = subject.store.queue.watch(filter, () => {
        end();
        resolve();
      });
    });

  describe('the description of a per-host queue', () => {
    it('counts the hosts that are due, those that are blocked, and neither for a host at its limit', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      const hosts = async () => (await subject.store.describe(filter, { hosts: true })).hosts;
      expect(await hosts()).toEqual({ known: 0, due: 0, blocked: 0 });
      expect(await subject.store.describe(filter)).not.toHaveProperty('hosts');
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 2), ...urls('c', 2)]);
      expect(await hosts()).toEqual({ known: 3, due: 3, blocked: 0 });
      expect(await lease(filter, 2)).toHaveLength(2);
      expect(await hosts()).toEqual({ known: 3, due: 1, blocked: 2 });
      clock.advance(DELAY_MS);
      expect(await hosts()).toEqual({ known: 3, due: 3, blocked: 0 });

      const limited = await make({ maxLeased: 1 });
      await discover(subject.store, limited, [...urls('a', 2), ...urls('b', 2)]);
      expect(await lease(limited, 1)).toHaveLength(1);
      expect((await subject.store.describe(limited, { hosts: true })).hosts).toEqual({
        known: 2,
        due: 1,
        blocked: 0,
      });
    });
  });

  describe('the delay of a host', () => {
    it('separates two leases, even after a restart', async () => {
      let filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, [...urls('a', 3), ...urls('b', 3)]);
      calls.expectInTurn(await lease(filter), [...urls('a', 1), ...urls('b', 1)]);
      await discover(subject.store, filter, [...urls('a', 1, 9), ...urls('c', 1)]);
      expect(await lease(filter)).toEqual(urls('c', 1));
      filter = await calls.reopened(filter);
      clock.advance(DELAY_MS / 2);
      expect(await lease(filter)).toEqual([]);
      clock.advance(DELAY_MS / 2);
      calls.expectInTurn(await lease(filter, 100, 2), [...urls('a', 2, 1), ...urls('b', 2, 1)]);
      clock.advance(DELAY_MS);
      expect(await lease(filter)).toEqual(urls('a', 1, 9));
    });

    it('separates two of its URLs even if its queue was empty in between', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 1));
      await calls.ack(filter, await calls.lease(filter, 1));
      await discover(subject.store, filter, urls('a', 1, 1));
      expect(await lease(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await lease(filter)).toEqual(urls('a', 1, 1));
    });

    it('keeps the counts right if entries return in between, even after a restart', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 1)]);
      const [a, b] = await calls.lease(filter, 2, HELD_MS);
      await calls.extend(filter, [a!], 1);
      await calls.release(filter, [b!], { delayMs: 1 });
      clock.advance(OVER_MS);
      expect(await lease(filter)).toEqual([]);
      const counts = { waiting: 3, leased: 0, delayed: 0 };
      expect(await calls.queueOf(filter)).toMatchObject(counts);
      expect(await calls.queueOf(await calls.reopened(filter))).toMatchObject(counts);
    });

    it('is kept with ten workers', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 8));
      const at: number[] = [];
      for (let turn = 0; turn < 40; turn++) {
        const workers = Array.from({ length: 10 }, () => calls.lease(filter, 3));
        const found = (await Promise.all(workers)).flat();
        expect(found.length).toBeLessThanOrEqual(1);
        if (found.length > 0) at.push(clock.now());
        await calls.ack(filter, found);
        clock.advance(DELAY_MS / 4);
      }
      expect(at).toHaveLength(8);
      // Some time passes between the lease and the note.
      for (const [n, one] of at.slice(1).entries()) expect(one - at[n]!).toBeGreaterThan(DELAY_MS * 0.9);
    });

    it('doesn’t start for forgotten URLs', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 3));
      await calls.forget(filter, urls('a', 3));
      expect(await lease(filter)).toEqual([]);
      await discover(subject.store, filter, urls('a', 1, 7));
      expect(await lease(filter)).toEqual(urls('a', 1, 7));
    });

    it('doesn’t grow if the clock is set back', async () => {
      let filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 3));
      expect(await lease(filter)).toHaveLength(1);
      // If a slot moves, a call may be repeated. A repeat from before the records began is refused.
      await subject.harness.still(async () => {
        try {
          clock.advance(-100 * DELAY_MS);
          await lease(filter);
          clock.advance(DELAY_MS);
          expect(await lease(filter)).toEqual(urls('a', 1, 1));
          filter = await calls.reopened(filter);
          expect(await lease(filter)).toEqual([]);
          clock.advance(DELAY_MS);
          expect(await lease(filter)).toEqual(urls('a', 1, 2));
        } finally {
          clock.advance(100 * DELAY_MS);
        }
      });
    });

    it('wakes a waiting lease when it ends', async () => {
      const filter = await make({ delayMs: 500 });
      await discover(subject.store, filter, urls('a', 2));
      await lease(filter);
      expect(await calls.onceWoken(filter)).toEqual(urls('a', 1, 1));
    });

    it('grows if a release says so, for all the host’s URLs', async () => {
      const filter = await make({});
      await discover(subject.store, filter, [...urls('a', 4), ...urls('b', 3)]);
      const taken = await calls.lease(filter, 10, HELD_MS, { maxPerHost: 2 });
      const [first, second] = ofHost(taken, 'a');
      expect(await calls.release(filter, [first!], { hostDelayMs: DELAY_MS })).toEqual([Settled.Done]);
      // A host's time only moves forward.
      await calls.release(filter, [second!], { hostDelayMs: 1 });
      expect(await lease(filter)).toEqual(urls('b', 1, 2));
      clock.advance(DELAY_MS / 2);
      await discover(subject.store, filter, [...urls('a', 1, 4), ...urls('b', 1, 3)]);
      expect(await lease(filter)).toEqual(urls('b', 1, 3));
      clock.advance(DELAY_MS / 2);
      expect(await lease(filter)).toEqual([...urls('a', 2, 2), ...urls('a', 2), ...urls('a', 1, 4)]);
    });
  });

  describe('the delay of a host after a release', () => {
    it.each(calls.voids)('grows although the URL was %s in the meantime', async (_, makeVoid) => {
      const filter = await make({});
      await discover(subject.store, filter, urls('a', 1));
      const taken = await calls.lease(filter, 1, HELD_MS);
      await makeVoid(filter, taken[0]!.payload);
      expect(await calls.release(filter, taken, { hostDelayMs: DELAY_MS })).toEqual([Settled.Unknown]);
      await discover(subject.store, filter, [...urls('a', 1, 1), ...urls('b', 1)]);
      expect(await lease(filter)).toEqual(urls('b', 1));
      clock.advance(DELAY_MS);
      expect(await lease(filter)).toEqual(urls('a', 1, 1));
    });

    describe.each(calls.voids)('of a URL that was %s in the meantime', (_, makeVoid) => {
      it.each(['release', 'ack'] as const)('doesn’t grow again after a first %s', async (first) => {
        const filter = await make({});
        // The lease continues with the other host's entry, which is in the same segment.
        const [host, other] = calls.sharing(2) as [string, string];
        await discover(subject.store, filter, [...urls(host, 1), ...urls(other, 1)]);
        const [one] = await calls.lease(filter, 2, HELD_MS);
        await makeVoid(filter, one!.payload);
        const settled = { release: () => calls.release(filter, [one!], { hostDelayMs: DELAY_MS }) };
        await { ...settled, ack: () => calls.ack(filter, [one!]) }[first]();
        await discover(subject.store, filter, urls(host, 1, 1));
        clock.advance(DELAY_MS);
        const [again] = await calls.release(filter, [one!], { hostDelayMs: DELAY_MS });
        expect([Settled.Unknown, Settled.Expired]).toContain(again);
        expect(await lease(filter)).toEqual(urls(host, 1, 1));
      });
    });
  });

  describe('the delay of a host whose entries are all delayed', () => {
    it('only moves later', async () => {
      const filter = await make({});
      await discover(subject.store, filter, urls('a', 2));
      const [first, second] = await calls.lease(filter, 10, HELD_MS);
      await calls.release(filter, [first!], { delayMs: LONG_MS, hostDelayMs: DELAY_MS });
      await calls.release(filter, [second!], { delayMs: LONG_MS, hostDelayMs: 1 });
      clock.advance(LONG_MS + OVER_MS);
      expect(await lease(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await lease(filter)).toEqual(urls('a', 2));
    });
  });

  describe('maxLeased', () => {
    it('limits the entries of a host that are leased, until one is settled or its lease ends', async () => {
      let filter = await make({ maxLeased: 2 });
      await discover(subject.store, filter, [...urls('a', 9), ...urls('b', 1)]);
      const taken = await calls.lease(filter, 10, HELD_MS);
      calls.expectInTurn(payloads(taken), [...urls('a', 2), ...urls('b', 1)]);
      const [first, second] = ofHost(taken, 'a');
      expect(await lease(filter)).toEqual([]);
      filter = await calls.reopened(filter);
      expect(await lease(filter)).toEqual([]);
      expect(await calls.ack(filter, [first!])).toEqual([Settled.Done]);
      const [third] = await calls.lease(filter, 10, HELD_MS);
      expect(third?.payload).toBe(urls('a', 3)[2]);
      await calls.release(filter, [second!], { delayMs: DELAY_MS });
      const fourth = await calls.lease(filter, 10, 1);
      expect(payloads(fourth)).toEqual(urls('a', 1, 3));
      clock.advance(OVER_MS);
      // The entry whose lease has ended comes after the other entries.
      expect(await lease(filter)).toEqual(urls('a', 1, 4));
      await calls.forget(filter, [third!.payload]);
      expect(await calls.ack(filter, [third!])).toEqual([Settled.Unknown]);
      expect(await lease(filter)).toEqual(urls('a', 1, 5));
      expect(await lease(filter)).toEqual([]);
    });

    it('wakes a waiting lease when an entry is settled', async () => {
      const filter = await make({ maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 2));
      const taken = await calls.lease(filter, 1, HELD_MS);
      const woken = wokenOnce(filter);
      await calls.ack(filter, taken);
      await woken;
      expect(await lease(filter)).toEqual(urls('a', 1, 1));
    });

    it('of a single host wakes a waiting lease when an entry is settled', async () => {
      const filter = await make({});
      await subject.store.hosts.set(filter, 'a.example', { own: { maxLeased: 1 } }, made());
      await discover(subject.store, filter, urls('a', 2));
      const taken = await calls.lease(filter, 2, HELD_MS);
      const woken = wokenOnce(filter);
      await calls.ack(filter, taken);
      await woken;
      expect(await lease(filter)).toEqual(urls('a', 1, 1));
    });

    it('wakes a waiting lease when a sweep removes a forgotten entry from its lease', async () => {
      const filter = await make({ maxLeased: 1 });
      await discover(subject.store, filter, urls('a', 2));
      await calls.forget(filter, payloads(await calls.lease(filter, 1, HELD_MS)));
      expect(await lease(filter)).toEqual([]);
      // The wake-up may belong to an earlier change, so this leases again after each.
      const woken = calls.onceWoken(filter);
      clock.advance(SWEEP_AFTER_MS);
      expect(await woken).toEqual(urls('a', 1, 1));
    });

    it('of 1 wakes a waiting lease when the delay after the only lease ends', async () => {
      const filter = await make({ maxLeased: 1, delayMs: 300 });
      await discover(subject.store, filter, urls('a', 1));
      await calls.lease(filter, 1, 200);
      expect(await calls.onceWoken(filter)).toEqual(urls('a', 1));
    });

    it('of 1 makes the delay count from the end of the lease', async () => {
      const filter = await make({ maxLeased: 1, delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 3));
      const first = await calls.lease(filter, 10, 3 * DELAY_MS);
      clock.advance(2 * DELAY_MS);
      await calls.ack(filter, first);
      expect(await lease(filter)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(payloads(await calls.lease(filter, 10, 1))).toEqual(urls('a', 1, 1));
      clock.advance(DELAY_MS + OVER_MS);
      expect(await lease(filter)).toEqual(urls('a', 1, 2));
    });

    it('of 1 makes the delay count from the end of a forgotten entry’s lease', async () => {
      const filter = await make({ maxLeased: 1, delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 2));
      const taken = await calls.lease(filter, 1, 1);
      await calls.forget(filter, payloads(taken));
      clock.advance(DELAY_MS + OVER_MS);
      // The queue removes the entry only now.
      await calls.ack(filter, taken);
      expect(await lease(filter)).toEqual(urls('a', 1, 1));
    });
  });

  describe('maxUrls', () => {
    const { New, Present, Limited } = Added;

    it('limits a host’s discovered URLs, minus forgotten ones', async () => {
      let filter = await make({ maxUrls: 3 });
      const [a, b] = [urls('a', 6), urls('b', 2)];
      const operation = keyed();
      const batch = [a[0]!, a[0]!, a[1]!, b[0]!, a[2]!, a[3]!, b[1]!, a[3]!, a[1]!];
      const answers = [New, Present, New, New, New, Limited, New, Limited, Present];
      expect(await discover(subject.store, filter, batch, operation)).toEqual(answers);
      expect(await discover(subject.store, filter, batch, { ...operation, repeat: true })).toEqual(answers);
      expect(await check(subject.store, filter, [a[2]!, a[3]!])).toEqual([1, 0]);
      expect((await subject.store.describe(filter)).items).toBe(5);
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 5 });
      filter = await calls.reopened(filter);
      expect(await discover(subject.store, filter, [a[2]!, a[4]!])).toEqual([Present, Limited]);
      await calls.ack(filter, await calls.lease(filter, 10));
      expect(await discover(subject.store, filter, [a[4]!])).toEqual([Limited]);
      await calls.forget(filter, [a[0]!, 'http://a.example/unknown']);
      expect(await discover(subject.store, filter, [a[4]!, a[5]!])).toEqual([New, Limited]);
      await calls.forget(filter, a);
      expect(await discover(subject.store, filter, a)).toEqual([
        New,
        New,
        New,
        ...a.slice(3).map(() => Limited),
      ]);
    });

    it('restarts with each age', async () => {
      const maxAgeSeconds = 10_000;
      const filter = await make({ maxUrls: 2 }, { maxAgeSeconds });
      expect(await discover(subject.store, filter, urls('a', 3))).toEqual([New, New, Limited]);
      clock.advance(2 * maxAgeSeconds * 1_000);
      expect(await discover(subject.store, filter, urls('a', 3))).toEqual([New, New, Limited]);
    });
  });
}
