import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { Added, Settled, type Filter, type LeasedEntry, type PerHost } from '#store';
import { clock } from '../support/clock.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';
import { check, discover, filterSpec, keyed, made, makeFilter, type FilterOptions } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, urls } from './host-calls.js';
import { LONG_MS, OVER_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const hostOf = ({ payload }: { payload: string }): string => new URL(payload).hostname;

/** Per-host queues: their order, and their sets' life cycle. */
export function queueHostsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (perHost: PerHost, more?: FilterOptions): Promise<Filter> => calls.make(perHost, more);
  const lease = (filter: Filter, max?: number, maxPerHost?: number) => calls.take(filter, max, maxPerHost);

  describe('a per-host queue', () => {
    it('serves hosts in turn, and each one’s URLs in order', async () => {
      const filter = await make({});
      const [one, other, third] = calls.sharing(3) as [string, string, string];
      const [a, b, c] = [urls(one, 4), urls(other, 2), urls(third, 3)];
      await discover(subject.store, filter, [...a.slice(0, 3), ...b, a[3]!]);
      await discover(subject.store, filter, c);
      expect(await lease(filter, 2, 1)).toEqual([a[0], b[0]]);
      expect(await lease(filter, 3, 1)).toEqual([c[0], a[1], b[1]]);
      // A host that returns to the queue has the last turn.
      await discover(subject.store, filter, urls(other, 1, 7));
      expect(await lease(filter, 10, 2)).toEqual([c[1], c[2], a[2], a[3], ...urls(other, 1, 7)]);
      expect(await lease(filter)).toEqual([]);
    });

    it('serves a host again after those that came later', async () => {
      const filter = await make({});
      const [a, b] = calls.sharing(2) as [string, string];
      for (const some of [urls(a, 2), urls(b, 1)]) {
        await discover(subject.store, filter, some);
        clock.advance(LONG_MS);
      }
      for (const url of [...urls(a, 1), ...urls(b, 1), ...urls(a, 1, 1)])
        expect(await lease(filter, 1)).toEqual([url]);
    });

    it('leases all entries of a host at a time by default, if hosts have no delay', async () => {
      const filter = await make({});
      const [a, b] = calls.sharing(2) as [string, string];
      await discover(subject.store, filter, [...urls(a, 30), ...urls(b, 1)]);
      expect(await lease(filter, 10)).toEqual(urls(a, 10));
      expect(await lease(filter, 30)).toEqual([...urls(b, 1), ...urls(a, 20, 10)]);
    });

    it('keeps to maxPerHost in a lease from many hosts', async () => {
      const filter = await make({});
      const hosts = Array.from({ length: 90 }, (_, n) => `h${n}`);
      await discover(
        subject.store,
        filter,
        hosts.flatMap((host) => urls(host, 3)),
      );
      const firsts = hosts.flatMap((host) => urls(host, 1));
      calls.expectInTurn(await lease(filter, 100, 1), firsts);
    });

    it('keeps to maxPerHost in a lease that meets many forgotten entries', async () => {
      const filter = await make({});
      const forgotten = urls('a', 1_000, 1_000);
      await discover(subject.store, filter, [...forgotten, ...urls('a', 150, 2_000)]);
      await calls.forget(filter, forgotten);
      const found = await lease(filter, 200, 60);
      expect(found).toEqual(urls('a', found.length, 2_000));
      expect(found.length).toBeGreaterThan(0);
      expect(found.length).toBeLessThanOrEqual(60);
    });

    it('hands out one URL of each of 1,000 hosts, each once', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      const all = Array.from({ length: 1_000 }, (_, n) => `http://h${n}.example/`);
      expect(await discover(subject.store, filter, all)).toEqual(all.map(() => Added.New));
      const found: string[] = [];
      for (let some = await lease(filter, 1_000); some.length > 0; some = await lease(filter, 1_000))
        found.push(...some);
      calls.expectInTurn(found, all);
      expect(await calls.queueOf(filter)).toEqual({
        waiting: 0,
        leased: 1_000,
        delayed: 0,
        scheduled: 0,
        dead: 0,
        forgotten: 0,
      });
    });

    it('returns each entry to its host’s lane', async () => {
      const filter = await make({}, { maxAttempts: 2 });
      const [a, b] = [urls('a', 3), urls('b', 3)];
      await discover(subject.store, filter, [...a, ...b]);
      const taken = await calls.lease(filter, 10, LONG_MS, { maxPerHost: 1 });
      await calls.release(filter, taken, { delayMs: DELAY_MS });
      const others = await calls.lease(filter, 10, LONG_MS, { maxPerHost: 1 });
      await calls.extend(filter, others, 1);
      clock.advance(DELAY_MS + OVER_MS);
      calls.expectInTurn(await lease(filter, 6, 1), [...a.slice(2), ...b.slice(2)]);
      const again = await calls.lease(filter, 6, LONG_MS, { maxPerHost: 1 });
      expect(again.map(hostOf).sort()).toEqual(['a.example', 'b.example']);
      expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
      await calls.release(filter, again);
      expect((await calls.letters(filter)).length).toBe(2);
      await calls.putBack(filter, new Set(payloads(again)));
      const rest = await calls.lease(filter, 6, LONG_MS, { maxPerHost: 2 });
      expect(payloads(rest).sort()).toEqual([...a.slice(0, 2), ...b.slice(0, 2)].sort());
    });

    it('repeats a lease', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, [...urls('a', 3), ...urls('b', 3)]);
      const operation = keyed();
      const first = await subject.store.queue.lease(filter, 10, LONG_MS, operation);
      calls.expectInTurn(payloads(first), [...urls('a', 1), ...urls('b', 1)]);
      const again = { ...operation, repeat: true };
      expect(await subject.store.queue.lease(filter, 10, LONG_MS, again)).toEqual(first);
      const after = await calls.reopened(filter);
      expect(await subject.store.queue.lease(after, 10, LONG_MS, again)).toEqual(first);
    });

    it('hands out everything in the end, with the right counts, after random calls', async () => {
      const random = new Random();
      const filter = await make({ maxLeased: 3 }, { maxAttempts: 4 });
      const forgotten = new Set<string>();
      const all: string[] = [];
      const acked: string[] = [];
      const held: LeasedEntry[] = [];
      const draw = (): LeasedEntry[] => held.splice(0, random.below(held.length + 1));
      for (let step = 0; step < 150; step++) {
        const steps = [
          async () => {
            const some = urls(`h${random.below(8)}`, 1 + random.below(5), all.length);
            all.push(...some);
            await discover(subject.store, filter, some);
          },
          async () =>
            void held.push(...(await calls.lease(filter, 1 + random.below(10), LONG_MS, { maxPerHost: 2 }))),
          async () => {
            const some = draw();
            const answers = await calls.ack(filter, some);
            acked.push(...payloads(some.filter((_, i) => answers[i] === Settled.Done)));
          },
          async () => calls.release(filter, draw(), { countAttempt: false }),
          async () => calls.release(filter, draw(), { delayMs: 1_000, hostDelayMs: random.below(500) }),
          async () => {
            await calls.extend(filter, draw(), 1);
            clock.advance(1_000);
          },
          async () => {
            const some = all.filter(() => random.below(20) === 0);
            for (const one of some) forgotten.add(one);
            await calls.forget(filter, some);
          },
          async () => calls.putBack(filter, new Set(all)),
        ];
        await steps[random.below(steps.length)]!();
      }
      const expected = all.filter((url) => !forgotten.has(url) && !acked.includes(url));
      const after = await calls.reopened(filter);
      const found = new Set<string>();
      for (let turn = 0; turn < 1_000 && found.size < expected.length; turn++) {
        clock.advance(LONG_MS + 2_000);
        await calls.putBack(after, new Set(all));
        const some = await calls.lease(after, 100);
        for (const [i, answer] of (await calls.ack(after, some)).entries())
          if (answer === Settled.Done) found.add(some[i]!.payload);
      }
      expect([...found].sort()).toEqual(expected.sort());
      await calls.lease(after, 100);
      expect(await calls.queueOf(after)).toEqual({
        waiting: 0,
        leased: 0,
        delayed: 0,
        scheduled: 0,
        dead: 0,
        forgotten: 0,
      });
    });
  });

  describe('a set with perHost', () => {
    it('is the same set only with the same limits', async () => {
      const spec = filterSpec(calls.options({ delayMs: 5, maxUrls: 3 }));
      await subject.store.create(spec, made());
      expect(await subject.store.create(spec, made())).toMatchObject({ created: false });
      await expect(subject.store.create({ ...spec, perHost: { delayMs: 5 } }, made())).rejects.toMatchObject({
        code: 'FILTER_EXISTS',
      });
    });

    it.each([
      [{ delayMs: 0 }, /delayMs .* not 0/],
      [{ delayMs: 86_400_001 }, /delayMs .* not 86400001/],
      [{ maxLeased: 1.5 }, /maxLeased .* not 1\.5/],
      [{ maxUrls: -1 }, /maxUrls .* not -1/],
    ])('can’t have %j', async (perHost, message) => {
      await expect(make(perHost)).rejects.toThrow(RangeError);
      await expect(make(perHost)).rejects.toThrow(message);
    });

    it('needs a queue, layers, and segments by host', async () => {
      const { growsTo: _, ...fixed } = calls.options({});
      const { segmentation: __, ...otherScheme } = calls.options({});
      for (const unfit of [fixed, otherScheme, calls.options({}, { kind: 'filter' })])
        await expect(makeFilter(subject.store, unfit)).rejects.toThrow(TypeError);
    });

    it('requires each queued URL’s host, and other sets refuse hosts', async () => {
      const filter = await make({});
      const positions = positionsOf(urls('a', 1), filter.seed, filter.geometry);
      const without = subject.store.counters.add(filter, positions, made(), { payloads: urls('a', 1) });
      await expect(without).rejects.toThrow(TypeError);
      const plain = await makeFilter(subject.store, { kind: 'visited-set' });
      const items = positionsOf(urls('a', 1), plain.seed, plain.geometry);
      const needless = subject.store.counters.add(plain, items, made(), {
        payloads: urls('a', 1),
        hosts: ['a.example'],
      });
      await expect(needless).rejects.toThrow(TypeError);
      await expect(lease(plain, 1, 1)).rejects.toThrow(TypeError);
      await expect(lease(filter, 1, 0)).rejects.toThrow(RangeError);
    });

    it.each([undefined, 1])('sweeps forgotten entries out, %s of a host at a time', async (maxLeased) => {
      let filter = await make({ ...(maxLeased !== undefined && { maxLeased }) }, { maxAttempts: 1 });
      await subject.reopen({ maxMarks: 0 });
      filter = await subject.store.open(filter.name, filter.kind);
      const hosts = Array.from({ length: 40 }, (_, n) => `h${n}`);
      const all = hosts.flatMap((host) => urls(host, 6));
      await discover(subject.store, filter, all);
      const taken = await calls.lease(filter, 120, HELD_MS, { maxPerHost: 1 });
      await calls.release(filter, taken.slice(0, 10));
      await calls.release(filter, taken.slice(10, 20), { delayMs: DELAY_MS, countAttempt: false });
      const live = all.filter((_, n) => n % 6 === 5);
      await calls.forget(
        filter,
        all.filter((_, n) => n % 6 !== 5),
      );
      let turn = 0;
      await until('it is swept', async () => {
        if ((await calls.queueOf(filter)).forgotten === 0) return true;
        // A sweep begins only once more than an eighth of the entries is forgotten. In Redis, forgetting items also
        // runs the sweep's steps.
        const probes = urls('probe', 10, 100 * turn++);
        await discover(subject.store, filter, probes);
        await calls.forget(filter, probes);
        return false;
      });
      expect(await calls.queueOf(filter)).toEqual({
        ...{ waiting: live.length, leased: 0, delayed: 0, scheduled: 0, dead: 0, forgotten: 0 },
        oldestSeconds: expect.any(Number),
      });
      expect((await lease(filter, 1_000)).sort()).toEqual(live.sort());
      await subject.reopen();
    });

    it('keeps its queued URLs in a sync', async () => {
      const syncs = new SyncCalls(subject);
      const filter = await make({ delayMs: DELAY_MS });
      const all = [...urls('a', 30), ...urls('b', 30)];
      await discover(subject.store, filter, all);
      const taken = await calls.lease(filter, 10);
      const sync = await syncs.open(filter, { capacity: 5_000 });
      await syncs.keep(filter, sync, urls('c', 1));
      await syncs.commit(filter, sync);
      const current = await syncs.current(filter);
      expect(current.perHost).toEqual({ delayMs: DELAY_MS });
      expect(await check(subject.store, current, all)).toEqual(all.map(() => 1));
      expect(await calls.ack(current, taken)).toEqual(taken.map(() => Settled.Done));
      expect(await lease(current)).toEqual([]);
      clock.advance(DELAY_MS);
      calls.expectInTurn(await lease(current), [...urls('a', 1, 1), ...urls('b', 1, 1)]);
    });

    it('is cleared and dropped with its lanes', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 3));
      await lease(filter);
      const blockedUntil = Math.floor(clock.now()) + DELAY_MS;
      await subject.store.hosts.set(filter, 'b.example', { own: { maxLeased: 1 }, blockedUntil }, made());
      const cleared = await subject.store.clear(filter.name, filter.kind, made());
      expect(cleared.perHost).toEqual({ delayMs: DELAY_MS });
      expect(await subject.store.hosts.list(cleared, 10)).toEqual({ hosts: [] });
      await discover(subject.store, cleared, urls('a', 1));
      expect(await lease(cleared)).toEqual(urls('a', 1));
      await subject.store.drop(filter.name, filter.kind, made());
    });
  });
}
