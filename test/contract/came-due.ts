import { describe, expect, it } from '@jest/globals';
import type { Filter, HostView } from '#store';
import { clock } from '../support/clock.js';
import { discover, made, makeFilter } from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

const SECOND_MS = 1_000;
/** How far apart times are in these tests. Longer than any test takes. */
const STEP_MS = 600_000;
/** How far the clock is set back. Longer than any lease or delay. */
const BACK_MS = 30 * 86_400_000;
const nameOf = (host: string): string => `${host}.example`;

/** Entries that have come due since the last call, after a lease, a delay or a schedule. */
export function cameDueContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (): Promise<Filter> => makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
  /** Ways to make an entry that comes due after `ms`. */
  const WAYS = [
    [
      'leased',
      async (filter: Filter, url: string, ms: number) => {
        await discover(subject.store, filter, [url]);
        await calls.lease(filter, 1, ms);
      },
    ],
    [
      'delayed',
      async (filter: Filter, url: string, ms: number) => {
        await discover(subject.store, filter, [url]);
        await calls.release(filter, await calls.lease(filter, 1), { delayMs: ms });
      },
    ],
    [
      'scheduled',
      (filter: Filter, url: string, ms: number) => calls.discover(filter, [url], { delayMs: ms }),
    ],
  ] as const;
  const ageOf = async (filter: Filter): Promise<number | undefined> =>
    (await calls.queueOf(filter)).oldestSeconds;
  const get = (filter: Filter, host: string): Promise<HostView | undefined> =>
    subject.store.hosts.get(filter, nameOf(host));

  describe.each([
    ['a queue', make],
    ['a per-host queue', () => calls.make({})],
  ] as const)('%s whose only entries have come due since the last call', (_, create) => {
    it.each(WAYS)('describes the age of an entry that was %s', async (state, wait) => {
      const filter = await create();
      await wait(filter, 'http://a.example/', STEP_MS);
      expect(await ageOf(filter)).toBeUndefined();
      clock.advance(2 * STEP_MS);
      // A scheduled entry counts as discovered at its time.
      const steps = state === 'scheduled' ? 1 : 2;
      const age = await ageOf(filter);
      expect(age).toBeGreaterThanOrEqual((steps * STEP_MS) / SECOND_MS - 1);
      expect(age).toBeLessThan(((steps + 1) * STEP_MS) / SECOND_MS);
      const [entry] = await calls.lease(filter, 1, HELD_MS);
      expect(await ageOf(filter)).toBeUndefined();
      await calls.release(filter, [entry!]);
      expect(await ageOf(filter)).toBeGreaterThanOrEqual(age!);
    });

    it.each(WAYS)('describes the age of the entry that came due first, which was %s', async (state, wait) => {
      const filter = await create();
      await wait(filter, 'http://a.example/first', STEP_MS);
      clock.advance(STEP_MS / 2);
      for (const [later, way] of WAYS) await way(filter, `http://a.example/${later}`, STEP_MS);
      clock.advance((3 * STEP_MS) / 2);
      const steps = state === 'scheduled' ? 1 : 2;
      const age = await ageOf(filter);
      expect(age).toBeGreaterThanOrEqual((steps * STEP_MS) / SECOND_MS - 1);
      expect(age).toBeLessThan(((steps + 0.4) * STEP_MS) / SECOND_MS);
    });

    it('counts entries from before the clock was set back as waiting, wherever it shows them', async () => {
      const filter = await create();
      const [leased, delayed, scheduled] = urls('a', 3) as [string, string, string];
      for (const [n, url] of [leased, delayed, scheduled].entries()) await WAYS[n]![1](filter, url, STEP_MS);
      try {
        clock.advance(-BACK_MS);
        const expected = { waiting: 2, leased: 0, delayed: 0, scheduled: 1 };
        expect(await calls.queueOf(filter)).toMatchObject({ ...expected, oldestSeconds: 0 });
        if (filter.perHost) expect(await get(filter, 'a')).toMatchObject(expected);
        const { entries } = await subject.store.queue.entries(filter, { state: 'waiting' }, 10);
        expect(payloads(entries).sort()).toEqual([leased, delayed]);
        expect(payloads(await calls.lease(filter, 10, HELD_MS)).sort()).toEqual([leased, delayed]);
        expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, leased: 2, scheduled: 1 });
      } finally {
        clock.advance(BACK_MS);
      }
    });

    it('leases all entries from before the clock was set back, even if one lease can’t bring them back', async () => {
      const filter = await create();
      const all = urls('a', 300);
      await discover(subject.store, filter, all);
      await calls.release(filter, await calls.lease(filter, 300), { delayMs: STEP_MS });
      try {
        clock.advance(-BACK_MS);
        const found = payloads(await calls.lease(filter, 1, HELD_MS));
        found.push(...payloads(await calls.lease(filter, 1_000, HELD_MS)));
        expect(found.sort()).toEqual(all.toSorted());
      } finally {
        clock.advance(BACK_MS);
      }
    });

    it('leases them all at once, however they were leased', async () => {
      const filter = await create();
      const all = urls('a', 60);
      await discover(subject.store, filter, all);
      for (const _ of all) await calls.lease(filter, 1, STEP_MS);
      clock.advance(2 * STEP_MS);
      expect(payloads(await calls.lease(filter, 1_000, HELD_MS))).toEqual(all);
      expect(await calls.lease(filter, 1, HELD_MS)).toEqual([]);
    });

    it('leases them in the order of their times', async () => {
      const filter = await create();
      const all = urls('a', 6);
      const steps = [3, 1, 5, 2, 6, 4];
      for (const [n, url] of all.entries()) await WAYS[n % 3]![1](filter, url, steps[n]! * STEP_MS);
      clock.advance(7 * STEP_MS);
      const expected = all.toSorted((a, b) => steps[all.indexOf(a)]! - steps[all.indexOf(b)]!);
      expect(payloads(await calls.lease(filter, all.length, HELD_MS))).toEqual(expected);
    });
  });

  describe('hosts whose entries have come due since the last call', () => {
    it('describe the age of entries of hosts that were not dropped', async () => {
      const filter = await calls.make({});
      for (const [state, wait] of WAYS) await wait(filter, urls(state, 1)[0]!, STEP_MS);
      clock.advance(2 * STEP_MS);
      expect(await ageOf(filter)).toBeGreaterThanOrEqual((2 * STEP_MS) / SECOND_MS - 1);
      for (const host of ['leased', 'delayed']) await subject.store.hosts.drop(filter, nameOf(host), made());
      const age = await ageOf(filter);
      expect(age).toBeGreaterThanOrEqual(STEP_MS / SECOND_MS - 1);
      expect(age).toBeLessThan((2 * STEP_MS) / SECOND_MS);
      await subject.store.hosts.drop(filter, nameOf('scheduled'), made());
      expect(await ageOf(filter)).toBeUndefined();
    });

    it('are leased from before hosts that came later, however many there are', async () => {
      const filter = await calls.make({});
      const hosts = calls.sharing(180);
      const [due, waiting] = [hosts.slice(0, 120), hosts.slice(120)];
      const firsts = (some: readonly string[]): string[] => some.flatMap((host) => urls(host, 1));
      await calls.discover(filter, firsts(due), { delayMs: STEP_MS });
      clock.advance(2 * STEP_MS);
      await discover(subject.store, filter, firsts(waiting));
      const found = [await calls.take(filter, 50, 1), await calls.take(filter, 50, 1)];
      const expected = firsts([...due, ...waiting]);
      expect(found).toEqual([expected.slice(0, 50), expected.slice(50, 100)]);
    });

    it('take turns after the ends of their leases, if these end later', async () => {
      const filter = await calls.make({ maxLeased: 2 });
      const [busy, other] = calls.sharing(2) as [string, string];
      await discover(subject.store, filter, urls(busy, 2));
      await calls.lease(filter, 2, 3 * STEP_MS);
      await calls.discover(filter, urls(busy, 1, 2), { delayMs: STEP_MS });
      await calls.discover(filter, urls(other, 1), { delayMs: 2 * STEP_MS });
      clock.advance(4 * STEP_MS);
      expect(await calls.take(filter, 2)).toEqual([...urls(other, 1), ...urls(busy, 1, 2)]);
    });

    it('take turns after the end of a block', async () => {
      const filter = await calls.make({});
      const [blocked, other] = calls.sharing(2) as [string, string];
      const blockedUntil = clock.now() + 2 * STEP_MS;
      await subject.store.hosts.set(filter, nameOf(blocked), { blockedUntil }, made());
      await calls.discover(filter, urls(blocked, 1), { delayMs: STEP_MS });
      await calls.discover(filter, urls(other, 1), { delayMs: 1.5 * STEP_MS });
      clock.advance(3 * STEP_MS);
      expect((await get(filter, blocked))!.nextAt).toBe(blockedUntil);
      expect(await calls.take(filter, 2)).toEqual([...urls(other, 1), ...urls(blocked, 1)]);
    });

    it('wait by the settings under which their leases ended', async () => {
      const filter = await calls.make({ delayMs: 2 * SECOND_MS, maxLeased: 1 });
      const began = clock.now();
      for (const host of ['b', 'c', 'd', 'a']) {
        await discover(subject.store, filter, urls(host, 2));
        await calls.lease(filter, 1, STEP_MS);
      }
      clock.advance(3 * STEP_MS);
      await subject.store.hosts.set(filter, nameOf('a'), { own: { delayMs: HELD_MS } }, made());
      const { nextAt } = (await get(filter, 'a'))!;
      expect(nextAt! - began - STEP_MS).toBeGreaterThanOrEqual(2 * SECOND_MS);
      expect(nextAt! - began - STEP_MS).toBeLessThan(STEP_MS);
      expect(await calls.take(filter, 10)).toContain(urls('a', 2)[1]);
    });

    it('take turns in the order of these times, and of the times for which hosts wait', async () => {
      const filter = await calls.make({ maxLeased: 1 });
      const [leased, delayed, scheduled, slow, limited, last] = calls.sharing(6) as [string, ...string[]] &
        Record<1 | 2 | 3 | 4 | 5, string>;
      const url = (host: string): string => urls(host, 1)[0]!;
      const began = clock.now();
      await WAYS[2][1](filter, url(scheduled), 5 * STEP_MS);
      await WAYS[1][1](filter, url(delayed), 2 * STEP_MS);
      await WAYS[0][1](filter, url(leased), 3 * STEP_MS);
      await discover(subject.store, filter, [url(slow)]);
      const [entry] = await calls.lease(filter, 1);
      await calls.release(filter, [entry!], { hostDelayMs: 4 * STEP_MS });
      await discover(subject.store, filter, urls(limited, 2));
      expect(await calls.lease(filter, 2, STEP_MS)).toHaveLength(1);
      clock.advance(6 * STEP_MS);
      await discover(subject.store, filter, [url(last)]);
      const expected = [limited, delayed, leased, slow, scheduled, last];
      const times: number[] = [];
      for (const [n, host] of expected.entries()) {
        const { nextAt } = (await get(filter, host))!;
        times.push(nextAt!);
        expect(nextAt! - began - (n + 1) * STEP_MS).toBeGreaterThanOrEqual(0);
        expect(nextAt! - began - (n + 1) * STEP_MS).toBeLessThan(STEP_MS);
      }
      clock.advance(SECOND_MS);
      for (const [n, host] of expected.entries()) expect((await get(filter, host))!.nextAt).toBe(times[n]);
      const found = await calls.take(filter, expected.length);
      expect(found.map((url) => new URL(url).hostname)).toEqual(expected.map(nameOf));
    });
  });
}
