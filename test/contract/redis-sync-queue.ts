import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { Added, Settled, type Filter } from '#store';
import { owedKey, queueKeys, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import { COPIED_FIELD } from '../../libs/store/src/redis/scripts/queue-state.js';
import { clock } from '../support/clock.js';
import type { FoundKey, RedisHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import { items, made, makeFilter, tally, type FilterOptions } from './calls.js';
import { hostOptions, urls } from './host-calls.js';
import { QueueCalls } from './queue-calls.js';
import { SyncCalls } from './sync-calls.js';
import type { Subject } from './subject.js';

const OLD = items(40, 'old');

/** Entries that move in a queue that a sync has yet to copy, and the notes about them for the copy. */
export function redisSyncQueue(subject: Subject<RedisHarness>): void {
  const calls = new SyncCalls(subject);
  const queue = new QueueCalls(subject);
  const letterIds = async (filter: Filter) =>
    (await subject.store.queue.deadLetters(filter, 1_000)).entries.map(({ id }) => id);

  /** Opens a sync. `notes` reads the notes on queue entries. */
  const openSync = async (filter: Filter) => {
    const sync = await calls.open(filter);
    const [meta] = (await subject.harness.find(`unseen:{${filter.generation}.0.*}:meta`)) as [FoundKey];
    const keys = segmentKeys(/\{(.*)\}/.exec(meta.key)?.[1] as string);
    const { client } = meta;
    const noted = owedKey(keys, (await calls.current(filter)).layers?.length ?? 1);
    const notes = async () => (await client.zrangeBuffer(noted, '1', '-1')).map(hexOf).sort();
    return { sync, now: await calls.current(filter), notes, client, keys, noted };
  };
  /** Opens a sync as if it had not yet begun to copy the queue. */
  const opened = async (filter: Filter) => {
    const { notes: owed, ...others } = await openSync(filter);
    await others.client.hdel(others.keys.meta, COPIED_FIELD);
    return { ...others, owed };
  };
  const hashesOf = (filter: Filter, names: readonly string[]) => {
    const { hash } = positionsOf(names, filter.seed, filter.geometry);
    return names
      .map((_, n) =>
        [...hash.subarray(4 * n, 4 * n + 4)].map((word) => word.toString(16).padStart(8, '0')).join(''),
      )
      .sort();
  };
  const make = (options: FilterOptions = {}) =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-7, ...options });

  describe('a queue that a sync has yet to copy', () => {
    it.each<FilterOptions>([{}, { maxAgeSeconds: 86_400 }])(
      'notes each entry from before the opening once, even if it moves again; %j',
      async (options) => {
        const filter = await make(options);
        await queue.discover(filter, OLD);
        const { sync, now, owed } = await opened(filter);
        await queue.discover(now, items(10, 'new'));
        for (let round = 0; round < 3; round++) {
          await queue.release(now, await queue.lease(now, 100));
          expect(await owed()).toEqual(hashesOf(filter, OLD));
        }
        expect(tally(await queue.ack(now, await queue.lease(now, 100)), 1)).toBe(50);
        expect(await owed()).toEqual(hashesOf(filter, OLD));
        expect(await calls.commit(filter, sync)).toMatchObject({ state: 'committed', kept: 50 });
        expect(tally(await calls.check(filter, [...OLD, ...items(10, 'new')]), 0)).toBe(0);
        expect(await owed()).toEqual([]);
      },
    );

    it('also notes the entries’ hosts in a per-host queue', async () => {
      const filter = await makeFilter(subject.store, hostOptions({ maxUrls: 4 }));
      const all = [...urls('a', 3), ...urls('b', 3)];
      await queue.discover(filter, all);
      const { sync, now, owed } = await opened(filter);
      await queue.ack(now, await queue.lease(now, 100));
      const { host } = positionsOf(all, filter.seed, filter.geometry);
      const words = (host as Uint32Array).filter((_, n) => n % 2 === 1);
      const noted = await owed();
      expect(noted.map((one) => one.slice(0, 32))).toEqual(hashesOf(filter, all));
      const known = new Set(Array.from(words, (word) => word.toString(16).padStart(8, '0')));
      expect(new Set(noted.map((one) => one.slice(32)))).toEqual(known);
      expect(await calls.commit(filter, sync)).toMatchObject({ state: 'committed', kept: 6 });
      expect(await queue.discover(await calls.current(filter), urls('a', 2, 3))).toEqual([
        Added.New,
        Added.Limited,
      ]);
    });

    it('notes leased entries that are acknowledged, delayed or released, and no forgotten ones', async () => {
      const filter = await make();
      await queue.discover(filter, OLD);
      const leased = await queue.lease(filter, 40);
      await queue.forget(filter, OLD.slice(0, 5));
      const { now, owed } = await opened(filter);
      expect(await owed()).toEqual([]);
      await queue.ack(now, leased.slice(0, 10));
      expect(await owed()).toEqual(hashesOf(filter, OLD.slice(5, 10)));
      await queue.release(now, leased.slice(10, 20), { delayMs: 60_000 });
      expect(await owed()).toEqual(hashesOf(filter, OLD.slice(5, 20)));
      await queue.release(now, leased.slice(20));
      expect(await owed()).toEqual(hashesOf(filter, OLD.slice(5)));
    });

    it.each<FilterOptions>([{}, { growsTo: Infinity }, { maxAgeSeconds: 86_400 }])(
      'notes entries that come back when due, as others are discovered or leased; %j',
      async (options) => {
        const filter = await make(options);
        await queue.discover(filter, OLD.slice(0, 20));
        expect(await queue.lease(filter, 20, 1)).toHaveLength(20);
        const { now, owed, client, noted } = await opened(filter);
        let more = 0;
        await until('the lease has ended', async () => {
          await queue.discover(now, [`new ${more++}`]);
          return (await owed()).length > 0;
        });
        expect(await owed()).toEqual(hashesOf(filter, OLD.slice(0, 20)));
        const delayed = await queue.lease(now, 100);
        await queue.release(now, delayed, { delayMs: 1 });
        await client.zremrangebyscore(noted, 1, '+inf');
        await until('the delay has ended', async () => {
          await queue.lease(now, 1);
          return (await owed()).length === 20;
        });
        expect(await owed()).toEqual(hashesOf(filter, OLD.slice(0, 20)));
      },
    );

    it('notes dead letters that are put back or purged, and entries that become dead letters', async () => {
      const filter = await make({ maxAttempts: 1 });
      await queue.discover(filter, OLD);
      await queue.release(filter, await queue.lease(filter, 30));
      const leased = await queue.lease(filter, 10);
      const { now, owed } = await opened(filter);
      const ids = await letterIds(now);
      await subject.store.queue.putBack(now, ids.slice(0, 10), made());
      expect(await owed()).toEqual(hashesOf(filter, OLD.slice(0, 10)));
      await subject.store.queue.purge(now, ids.slice(10), made());
      expect(await owed()).toEqual(hashesOf(filter, OLD.slice(0, 30)));
      await queue.release(now, leased);
      expect(await owed()).toEqual(hashesOf(filter, OLD));
    });

    it('keeps entries that returned to the waiting entries after the part that the copy has read', async () => {
      const filter = await make();
      await queue.discover(filter, OLD);
      const { sync, now, client, keys } = await opened(filter);
      await queue.release(now, await queue.lease(now, 100));
      // The copy finds none of them where they are now.
      const [chunks = ''] = queueKeys(keys);
      await client.del(chunks);
      await client.hset(chunks, '', '');
      await calls.commit(filter, sync);
      expect(tally(await calls.check(filter, OLD), 0)).toBe(0);
    });
  });

  describe('a queue that a sync has copied', () => {
    it.each<FilterOptions>([{}, hostOptions({})])(
      'notes each scheduled entry from before the opening once, even if it comes due again and again; %j',
      async (options) => {
        const filter = await make(options);
        const [old, fresh, delayed] = [urls('a', 5), urls('b', 5), urls('c', 5)];
        await queue.discover(filter, old, { delayMs: HOUR_MS });
        await queue.discover(filter, delayed);
        const { now, notes } = await openSync(filter);
        await queue.release(now, await queue.lease(now, 5), { delayMs: HOUR_MS });
        await queue.discover(now, fresh, { delayMs: HOUR_MS });
        expect(await notes()).toEqual([]);
        for (let round = 0; round < 3; round++) {
          clock.advance(HOUR_MS);
          const due = await queue.lease(now, 100);
          expect(due).toHaveLength(15);
          expect(await queue.ack(now, due, HOUR_MS)).toEqual(due.map(() => Settled.Done));
          // The copy has kept the other entries.
          const noted = new Set([...hashesOf(filter, old), ...(round > 0 ? hashesOf(filter, delayed) : [])]);
          expect(await notes()).toHaveLength(noted.size);
          expect(new Set((await notes()).map((note) => note.slice(12)))).toEqual(noted);
        }
      },
    );
  });
}

const HOUR_MS = 3_600_000;
const hexOf = (bytes: Buffer) => bytes.toString('hex');
