import { describe, expect, it } from '@jest/globals';
import { Added, Kept, type Filter, type PerHost } from '#store';
import { clock } from '../support/clock.js';
import { Random } from '../support/random.js';
import { discover, keyed, tally, type FilterOptions } from './calls.js';
import { HELD_MS, HostCalls, urls } from './host-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const { New, Present, Limited } = Added;

/** Syncs of sets with `maxUrls`. */
export function syncsHostsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const syncs = new SyncCalls(subject);
  const make = (perHost: PerHost, more?: FilterOptions): Promise<Filter> => calls.make(perHost, more);
  const find = async (filter: Filter, keys: readonly string[]): Promise<number[]> =>
    discover(subject.store, await syncs.current(filter), keys);
  const ackAll = async (filter: Filter): Promise<void> => {
    const current = await syncs.current(filter);
    await calls.ack(current, await calls.lease(current, 1_000, HELD_MS));
  };

  describe('a sync of a set with maxUrls', () => {
    it('stops counting URLs that it drops, and continues counting URLs that it keeps', async () => {
      const filter = await make({ maxUrls: 3 });
      await find(filter, [...urls('a', 3), ...urls('b', 3)]);
      await ackAll(filter);
      const sync = await syncs.open(filter);
      await syncs.keep(filter, sync, urls('a', 1));
      // Until the commit, the set is as it was.
      expect(await find(filter, urls('a', 1, 3))).toEqual([Limited]);
      await syncs.commit(filter, sync);
      expect(await find(filter, urls('a', 3, 3))).toEqual([New, New, Limited]);
      expect(await find(filter, urls('b', 4, 3))).toEqual([New, New, New, Limited]);
    });

    it('counts queued URLs and URLs discovered during the sync', async () => {
      const filter = await make({ maxUrls: 3 });
      await find(filter, [...urls('a', 3), ...urls('b', 1)]);
      const sync = await syncs.open(filter);
      expect(await find(filter, urls('b', 1, 1))).toEqual([New]);
      await ackAll(filter);
      await subject.reopen();
      await syncs.commit(filter, sync);
      await subject.reopen();
      expect(await find(filter, urls('a', 1, 3))).toEqual([Limited]);
      expect(await find(filter, urls('b', 2, 2))).toEqual([New, Limited]);
    });

    it('counts URLs that are visited while it is open', async () => {
      const filter = await make({ maxUrls: 3 });
      await find(filter, urls('a', 1));
      const sync = await syncs.open(filter);
      await syncs.add(filter, urls('a', 2));
      await syncs.add(filter, urls('a', 2));
      await syncs.commit(filter, sync);
      expect(await find(filter, urls('a', 2, 2))).toEqual([New, Limited]);
    });

    it('counts listed URLs that were never discovered, even beyond the limit, each once', async () => {
      const filter = await make({ maxUrls: 3 });
      const sync = await syncs.open(filter);
      const operation = keyed();
      const listed = urls('a', 5);
      expect(tally(await syncs.keep(filter, sync, listed, operation), Kept.New)).toBe(5);
      await syncs.keep(filter, sync, listed, { ...operation, repeat: true });
      await syncs.keep(filter, sync, [...listed, ...listed]);
      expect(await find(filter, urls('a', 1, 5))).toEqual([New]);
      await syncs.commit(filter, sync);
      expect(await find(filter, [...urls('a', 1), ...urls('a', 1, 6)])).toEqual([Present, Limited]);
      await syncs.remove(filter, urls('a', 3));
      expect(await find(filter, urls('a', 1, 6))).toEqual([Limited]);
      await syncs.remove(filter, urls('a', 1, 3));
      expect(await find(filter, urls('a', 2, 6))).toEqual([New, Limited]);
    });

    it('stops counting URLs forgotten during the sync', async () => {
      const filter = await make({ maxUrls: 3 });
      await find(filter, urls('a', 3));
      const sync = await syncs.open(filter);
      await syncs.keep(filter, sync, urls('a', 3));
      await syncs.remove(filter, urls('a', 2));
      await syncs.keep(filter, sync, urls('a', 3));
      await syncs.commit(filter, sync);
      expect(await find(filter, urls('a', 3, 3))).toEqual([New, New, Limited]);
    });

    it('changes nothing if it is abandoned', async () => {
      const filter = await make({ maxUrls: 3 });
      await find(filter, urls('a', 2));
      await ackAll(filter);
      const first = await syncs.open(filter);
      await syncs.keep(filter, first, urls('a', 9));
      await syncs.abandon(filter, first);
      expect(await find(filter, urls('a', 2, 2))).toEqual([New, Limited]);
      const second = await syncs.open(filter);
      await syncs.keep(filter, second, urls('a', 1));
      await syncs.commit(filter, second);
      // Two URLs are listed or queued.
      expect(await find(filter, urls('a', 2, 4))).toEqual([New, Limited]);
    });

    it.each([
      { acked: false, committed: true },
      { acked: true, committed: true },
      { acked: true, committed: false },
    ])(
      'keeps counting during the next sync and after it (acknowledged: $acked, committed: $committed)',
      async ({ acked, committed }) => {
        const filter = await make({ maxUrls: 3 });
        await find(filter, urls('a', 3));
        if (acked) await ackAll(filter);
        const first = await syncs.open(filter);
        await syncs.keep(filter, first, urls('a', 3));
        await syncs.commit(filter, first);
        const second = await syncs.open(filter);
        await syncs.keep(filter, second, urls('a', committed ? 3 : 1));
        expect(await find(filter, urls('a', 1, 3))).toEqual([Limited]);
        if (committed) await syncs.commit(filter, second);
        else await syncs.abandon(filter, second);
        expect(await find(filter, urls('a', 1, 3))).toEqual([Limited]);
      },
    );

    it('doesn’t count URLs from earlier ages in a set that ages', async () => {
      const maxAgeSeconds = 10_000;
      const filter = await make({ maxUrls: 3 }, { maxAgeSeconds });
      // Go to the start of a period, so that the next step doesn't end it.
      clock.advance(maxAgeSeconds * 1_000 - (clock.now() % (maxAgeSeconds * 1_000)));
      await find(filter, urls('a', 3));
      await ackAll(filter);
      clock.advance(maxAgeSeconds * 1_000);
      expect(await find(filter, [...urls('a', 3), ...urls('a', 1, 3)])).toContain(New);
      await ackAll(filter);
      const sync = await syncs.open(filter);
      await syncs.keep(filter, sync, urls('a', 4));
      await syncs.commit(filter, sync);
      expect(await find(filter, urls('a', 3, 5))).toEqual([New, New, Limited]);
    });

    it('counts the URLs that it keeps after random calls', async () => {
      const random = new Random();
      const maxUrls = 10;
      const filter = await make({ maxUrls });
      const hosts = ['a', 'b', 'c'];
      const counted = new Map(hosts.map((host) => [host, new Set<string>()]));
      const queued = new Set<string>();
      for (let round = 0; round < 4; round++) {
        const sync = await syncs.open(filter);
        // Queued URLs stay.
        const kept = new Set(queued);
        for (let step = 0; step < 12; step++) {
          const host = random.pick(hosts);
          const some = urls(host, 4, random.below(12));
          if (random.below(3) === 0) {
            const known = some.filter((url) => counted.get(host)!.has(url));
            await syncs.remove(filter, known);
            for (const url of known) {
              for (const set of [counted.get(host)!, kept, queued]) set.delete(url);
            }
          } else if (random.below(2) === 0) {
            const answers = await find(filter, some);
            for (const [n, answer] of answers.entries()) {
              if (answer === New) for (const set of [counted.get(host)!, queued]) set.add(some[n]!);
              if (answer !== Limited) kept.add(some[n]!);
            }
          } else {
            const known = some.filter((url) => counted.get(host)!.has(url));
            await syncs.keep(filter, sync, known);
            for (const url of known) kept.add(url);
          }
        }
        if (round > 0) {
          await ackAll(filter);
          queued.clear();
        }
        if (round === 1) {
          await syncs.abandon(filter, sync);
          continue;
        }
        await syncs.commit(filter, sync);
        for (const host of hosts) {
          const set = new Set([...kept].filter((url) => new URL(url).hostname === `${host}.example`));
          counted.set(host, set);
        }
      }
      for (const host of hosts) {
        const room = maxUrls - counted.get(host)!.size;
        const answers = await find(filter, urls(host, maxUrls + 1, 100));
        expect([host, tally(answers, New)]).toEqual([host, Math.max(0, room)]);
      }
    });
  });
}
