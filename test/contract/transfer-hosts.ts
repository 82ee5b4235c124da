import { describe, expect, it } from '@jest/globals';
import { Added, type Filter, type LeasedEntry, type Part, type PerHost, type QueuedHost } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile, readFile, specOf } from '../support/export-files.js';
import { Random } from '../support/random.js';
import { discover, made, type FilterOptions } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, urls } from './host-calls.js';
import { LONG_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

const DAY_MS = 86_400_000;

/** Exports and imports of sets with `perHost`. */
export function transferHostsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const make = (perHost: PerHost, more?: FilterOptions): Promise<Filter> => calls.make(perHost, more);
  let copies = 0;
  const nameOf = ({ name }: Filter): string => `${name}.${copies++}`;
  // An export that meets a moving slot may have entries twice.
  const exported = (filter: Filter) => subject.harness.still(() => exportFile(subject.store, filter));
  const copy = async (filter: Filter): Promise<Filter> =>
    importFile(subject.store, await exported(filter), made(), nameOf(filter));
  /** A copy whose lanes change during the transfer. */
  const copyWith = async (filter: Filter, change: (host: QueuedHost) => readonly QueuedHost[]) => {
    const { header, parts } = await readFile(await exported(filter));
    const changed = parts.map((part): Part => {
      if (part.type !== 'queue' || !part.hosts) return part;
      return { ...part, hosts: part.hosts.flatMap(change) };
    });
    return subject.store.transfer.import(specOf(header, nameOf(filter)), given(changed), made());
  };

  describe('export and import of a per-host queue', () => {
    it('carry its limits and its hosts’ pace', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      const [a, b, c] = calls.sharing(3) as [string, string, string];
      await discover(subject.store, filter, urls(a, 3));
      clock.advance(10);
      await discover(subject.store, filter, [...urls(b, 2), ...urls(c, 1)]);
      expect(await calls.take(filter, 1)).toEqual(urls(a, 1));
      let copied = await copy(filter);
      expect(copied.perHost).toEqual({ delayMs: DELAY_MS });
      expect(copied.geometry).toEqual(filter.geometry);
      expect(await calls.queueOf(copied)).toMatchObject({ waiting: 6, leased: 0 });
      copied = await calls.reopened(copied);
      expect(await calls.take(copied)).toEqual([...urls(b, 1), ...urls(c, 1)]);
      expect(await calls.take(copied)).toEqual([]);
      clock.advance(DELAY_MS);
      // The leased entry comes after its host's other entries.
      expect(await calls.take(copied)).toEqual([...urls(a, 1, 1), ...urls(b, 1, 1)]);
      clock.advance(DELAY_MS);
      expect(await calls.take(copied)).toEqual(urls(a, 1, 2));
      clock.advance(DELAY_MS);
      expect(await calls.take(copied)).toEqual(urls(a, 1));
    });

    it('carry its hosts’ turns, even for hosts with equal times', async () => {
      const random = new Random();
      const filter = await make({});
      for (let round = 0; round < 20; round++) {
        const some = Array.from({ length: 5 }, () => urls(`h${random.below(40)}`, 2, 2 * round));
        await discover(subject.store, filter, [...new Set(some.flat())]);
        clock.advance(random.below(3));
        await calls.ack(filter, await calls.lease(filter, 1 + random.below(4), HELD_MS, { maxPerHost: 1 }));
      }
      const copied = await copy(await copy(filter));
      const { waiting } = await calls.queueOf(filter);
      const expected = await calls.take(filter, waiting, 1);
      calls.expectInTurn(await calls.take(copied, waiting, 1), expected);
    });

    it('carry each host’s entries in order, and the turns of more hosts than one page has', async () => {
      const filter = await make({}, { capacity: 20_000 });
      const hosts = calls.sharing(450);
      await discover(
        subject.store,
        filter,
        hosts.flatMap((host) => urls(host, 2)),
      );
      await discover(subject.store, filter, urls(hosts[7]!, 600, 2));
      const copied = await copy(filter);
      const takeAll = async (of: Filter): Promise<string[]> => {
        const taken: string[] = [];
        for (let some = await calls.take(of); some.length > 0; some = await calls.take(of))
          taken.push(...some);
        return taken;
      };
      const all = await takeAll(filter);
      expect(all).toHaveLength(450 * 2 + 600);
      expect(await takeAll(copied)).toEqual(all);
    });

    it('carry a delay that a release set', async () => {
      const filter = await make({});
      await discover(subject.store, filter, urls('a', 2));
      const [first] = await calls.lease(filter, 1);
      await calls.release(filter, [first!], { hostDelayMs: DELAY_MS });
      await discover(subject.store, filter, urls('b', 1));
      const copied = await copy(filter);
      expect(await calls.take(copied)).toEqual(urls('b', 1));
      clock.advance(DELAY_MS);
      expect(await calls.take(copied)).toEqual([...urls('a', 1, 1), ...urls('a', 1)]);
    });

    it('carry the delay of a host without entries', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 1));
      await calls.ack(filter, await calls.lease(filter, 1));
      const copied = await copy(filter);
      await discover(subject.store, copied, urls('a', 1, 1));
      expect(await calls.take(copied)).toEqual([]);
      clock.advance(DELAY_MS);
      expect(await calls.take(copied)).toEqual(urls('a', 1, 1));
    });

    it('carry leased, delayed and dead entries in their hosts’ lanes', async () => {
      const filter = await make({ maxLeased: 1 }, { maxAttempts: 1 });
      const hosts = ['a', 'b', 'c', 'd'];
      await discover(
        subject.store,
        filter,
        hosts.flatMap((host) => urls(host, 3)),
      );
      const [a, b, c] = await calls.lease(filter, 3, HELD_MS);
      await calls.release(filter, [a!], { delayMs: DELAY_MS, countAttempt: false });
      await calls.release(filter, [b!]);
      const copied = await copy(filter);
      expect(await calls.queueOf(copied)).toMatchObject({ waiting: 11, leased: 0, delayed: 0, dead: 1 });
      const found: string[] = [];
      for (
        let some = await calls.lease(copied, 100);
        some.length > 0;
        some = await calls.lease(copied, 100)
      ) {
        expect(new Set(some.map(({ payload }) => new URL(payload).hostname)).size).toBe(some.length);
        await calls.ack(copied, some);
        found.push(...payloads(some));
      }
      expect(found.sort()).toEqual(
        [...hosts.flatMap((host) => urls(host, 3))].filter((url) => url !== b!.payload),
      );
      await calls.putBack(copied, new Set([b!.payload]));
      expect(await calls.take(copied)).toEqual([b!.payload]);
      expect(await calls.ack(filter, [c!])).toEqual([1]);
    });

    it('carry the counts for maxUrls', async () => {
      const { New, Limited } = Added;
      const filter = await make({ maxUrls: 3 });
      await discover(subject.store, filter, urls('a', 3));
      await calls.ack(filter, await calls.lease(filter, 3));
      await calls.forget(filter, urls('a', 1));
      const copied = await calls.reopened(await copy(filter));
      expect(await discover(subject.store, copied, urls('a', 2, 3))).toEqual([New, Limited]);
      await calls.forget(copied, urls('a', 4));
      expect(await discover(subject.store, copied, urls('a', 4))).toEqual([New, New, New, Limited]);
    });

    it('restart the counts for maxUrls if the age ends before the import', async () => {
      const { New, Limited } = Added;
      const maxAgeSeconds = 10_000;
      const filter = await make({ maxUrls: 2 }, { maxAgeSeconds });
      await discover(subject.store, filter, urls('a', 2));
      const file = await exported(filter);
      clock.advance(2 * maxAgeSeconds * 1_000);
      const copied = await importFile(subject.store, file, made(), nameOf(filter));
      expect(await discover(subject.store, copied, urls('a', 3, 7))).toEqual([New, New, Limited]);
    });

    it('make no host wait longer than a delay can be', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, urls('a', 1));
      const copied = await copyWith(filter, (host) => [{ ...host, readyAt: 2 ** 48 - 1 }]);
      expect(await calls.take(copied)).toEqual([]);
      clock.advance(DAY_MS);
      expect(await calls.take(copied)).toEqual(urls('a', 1));
    });

    it('take a host’s last lane if the file has several', async () => {
      const { New, Limited } = Added;
      const filter = await make({ maxUrls: 2 });
      await discover(subject.store, filter, [...urls('a', 2), ...urls('b', 1)]);
      const copied = await copyWith(filter, (host) => [{ ...host, readyAt: 2 ** 48 - 1, found: 0 }, host]);
      expect(await discover(subject.store, copied, urls('a', 1, 2))).toEqual([Limited]);
      expect(await discover(subject.store, copied, urls('b', 2, 1))).toEqual([New, Limited]);
      expect(await calls.take(copied)).toHaveLength(4);
    });

    it('lose no entry under constant writes', async () => {
      const random = new Random();
      const filter = await make({ maxLeased: 5 }, { capacity: 20_000 });
      const all = Array.from({ length: 30 }, (_, n) => urls(`h${n}`, 60)).flat();
      await discover(subject.store, filter, all);
      const acked = new Set<string>();
      const parts: Part[] = [];
      let round = 0;
      for await (const part of subject.store.transfer.export(filter)) {
        parts.push(part);
        await discover(subject.store, filter, urls(`h${random.below(60)}`, 5, 1_000 + 5 * round++));
        const some = await calls.lease(filter, 40, LONG_MS);
        const done = some.slice(0, 30);
        await calls.ack(filter, done);
        await calls.release(filter, some.slice(30));
        for (const { payload } of done) acked.add(payload);
      }
      const spec = { ...specOf({ ...filter, id: '', exportedAt: 0 }), name: nameOf(filter) };
      const copied = await subject.store.transfer.import(spec, given(parts), made());
      const found = new Set<string>();
      for (
        let some = await calls.lease(copied, 1_000);
        some.length > 0;
        some = await calls.lease(copied, 1_000)
      ) {
        await calls.ack(copied, some);
        for (const { payload } of some) found.add(payload);
      }
      expect(all.filter((url) => !found.has(url) && !acked.has(url))).toEqual([]);
    });

    it('miss no host whose turn changes in the meantime', async () => {
      const filter = await make({ maxLeased: 1 });
      const hosts = calls.sharing(450);
      await discover(
        subject.store,
        filter,
        hosts.flatMap((host) => urls(host, 2)),
      );
      const found = new Set<string>();
      const leased: LeasedEntry[] = [];
      let pages = 0;
      for await (const part of subject.store.transfer.export(filter)) {
        if (part.type !== 'queue' || !part.hosts) continue;
        for (const { name } of part.hosts) found.add(name);
        // A host has no turn while one of its entries is leased.
        if (++pages === 1) {
          for (let n = 0; n < 10; n++) leased.push(...(await calls.lease(filter, 50, HELD_MS)));
        } else await calls.ack(filter, leased.splice(0));
      }
      expect(found.size).toBe(450);
    });

    it('need each entry’s host', async () => {
      const filter = await make({});
      await discover(subject.store, filter, urls('a', 1));
      const { header, parts } = await readFile(await exported(filter));
      const without = parts.map((part): Part => {
        if (part.type !== 'queue') return part;
        return { ...part, entries: part.entries.map(({ host: _, ...entry }) => entry) };
      });
      const imported = subject.store.transfer.import(specOf(header, nameOf(filter)), given(without), made());
      await expect(imported).rejects.toThrow(TypeError);
    });
  });
}

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}
