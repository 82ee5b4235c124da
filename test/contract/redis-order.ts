import { describe, expect, it, jest } from '@jest/globals';
import type { Filter, QueuedItem } from '#store';
import { queueKeys, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import { NO_LANE, readLane } from '../../libs/store/src/redis/scripts/lane-records.js';
import {
  ORDERED,
  QUEUE_FIELD,
  queueBytes,
  SCHEDULED,
} from '../../libs/store/src/redis/scripts/queue-state.js';
import { Unclaimed } from '../../libs/store/src/redis/syncs/unclaimed.js';
import { clock } from '../support/clock.js';
import { specOf } from '../support/export-files.js';
import type { FoundKey, RedisHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import { add, check, items, keyed, made, makeFilter, type FilterOptions } from './calls.js';
import { HostCalls, hostOptions, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const DAY_MS = 86_400_000;
const BASE = queueBytes(false);

/** How Redis stores priorities and scheduled entries, and how a sync's commit removes the latter. */
export function redisOrder(subject: Subject<RedisHarness>): void {
  const calls = new HostCalls(subject, 1);
  const make = (options: FilterOptions = {}) =>
    makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9, ...options });
  const metaOf = async ({ generation }: Filter) =>
    (await subject.harness.find(`unseen:{${generation}.0.*}:meta`))[0] as FoundKey;
  const numbersOf = async (filter: Filter): Promise<Buffer> => {
    const { key, client } = await metaOf(filter);
    return (await client.hgetBuffer(key, QUEUE_FIELD)) as Buffer;
  };
  /** The position of one of an ordered queue's numbers, which come last. */
  const placeIn = (numbers: Buffer, name: string): number =>
    numbers.length - 6 * (ORDERED.length - ORDERED.indexOf(name));
  const ordered = async (filter: Filter, name: string) => {
    const numbers = await numbersOf(filter);
    return numbers.readUIntBE(placeIn(numbers, name), 6);
  };
  /** Sets a number as if another instance had done so. */
  const setOrdered = async (filter: Filter, name: string, value: number) => {
    const { key, client } = await metaOf(filter);
    const numbers = await numbersOf(filter);
    numbers.writeUIntBE(value, placeIn(numbers, name), 6);
    await client.hset(key, QUEUE_FIELD, numbers);
  };
  /**
   * Queues entries, and then takes the items in `gone` out of the cells, as a sync's commit does, without dropping
   * their entries.
   */
  const schedule = async (filter: Filter, left: readonly string[], gone: readonly string[], till: number) => {
    await calls.discover(filter, left, { delayMs: DAY_MS });
    const { key, client } = await metaOf(filter);
    const cells = key.replace(/:meta$/, ':cells');
    const kept = (await client.getBuffer(cells)) as Buffer;
    await calls.discover(filter, gone, { delayMs: DAY_MS });
    await client.set(cells, kept);
    await setOrdered(filter, 'checking', (await numbersOf(filter)).readUIntBE(0, 6));
    await setOrdered(filter, 'checkingTill', till);
  };
  const checked = (filter: Filter) =>
    until('all entries are checked', async () => (await ordered(filter, 'checking')) === 0);
  const keysOf = async (filter: Filter) => {
    const { key, client } = await metaOf(filter);
    const [chunks = '', , , delayed = ''] = queueKeys(segmentKeys(/\{(.*)\}/.exec(key)?.[1] as string));
    return { client, chunks, delayed };
  };
  const fields = async (filter: Filter) => {
    const { client, chunks } = await keysOf(filter);
    return (await client.hkeysBuffer(chunks)).filter(({ length }) => length > 0).map((field) => [...field]);
  };
  const exported = async (filter: Filter) => {
    const entries: QueuedItem[] = [];
    for await (const part of subject.store.transfer.export(filter))
      if (part.type === 'queue') entries.push(...part.entries);
    return entries;
  };

  describe('a queue in Redis', () => {
    it('stores nothing more while all entries have the normal priority and no time', async () => {
      const filter = await make();
      await calls.discover(filter, items(3));
      await calls.release(filter, await calls.lease(filter, 1), { delayMs: 1 });
      clock.advance(2);
      await calls.ack(filter, await calls.lease(filter, 2));
      expect(await numbersOf(filter)).toHaveLength(BASE);
      expect((await fields(filter)).every(({ length }) => length === 6)).toBe(true);
      await calls.discover(filter, ['high'], { priority: 'high' });
      await calls.discover(filter, ['low'], { priority: 'low' });
      expect((await numbersOf(filter)).length).toBeGreaterThan(BASE);
      const others = (await fields(filter)).filter(({ length }) => length === 7);
      expect(others.map(([log]) => log).sort()).toEqual([1, 2]);
    });

    it('stores nothing more for a host that has normal entries only', async () => {
      const filter = await calls.make({});
      await calls.discover(filter, urls('a', 2));
      await calls.discover(filter, urls('b', 1), { priority: 'high' });
      await calls.discover(filter, urls('c', 1), { delayMs: DAY_MS });
      const [lanes] = await subject.harness.find(`unseen:{${filter.generation}.0.*}:queue:lanes`);
      const records = (await lanes!.client.hvalsBuffer(lanes!.key)).filter(
        (record) => record.toString() !== NO_LANE,
      );
      const bytes = Object.fromEntries(
        records.map((record) => [readLane(record).name, record.length - readLane(record).name.length]),
      );
      expect(bytes['b.example']).toBe((bytes['a.example'] as number) + 18);
      expect(bytes['c.example']).toBe((bytes['a.example'] as number) + 6);
    });

    it('has scheduled entries among the delayed ones, in their own range, and counts them', async () => {
      const filter = await make();
      await calls.discover(filter, items(2));
      const [first, second] = await calls.lease(filter, 2);
      await calls.release(filter, [first!], { delayMs: 5_000 });
      await calls.ack(filter, [second!], 5_000);
      const { client, delayed } = await keysOf(filter);
      expect(await client.zcount(delayed, 0, `(${SCHEDULED}`)).toBe(1);
      expect(await client.zcount(delayed, SCHEDULED, '+inf')).toBe(1);
      expect(await ordered(filter, 'scheduled')).toBe(1);
      clock.advance(6_000);
      expect(payloads(await calls.lease(filter, 2)).sort()).toEqual(items(2));
      expect(await ordered(filter, 'scheduled')).toBe(0);
      expect(await client.zcard(delayed)).toBe(1);
    });

    it.each<FilterOptions>([{}, hostOptions({})])(
      'is exported and imported with priorities and times; %j',
      async (options) => {
        const filter = await make(options);
        const keys = { high: urls('a', 300), normal: urls('b', 2), low: urls('c', 300) };
        for (const priority of ['low', 'normal', 'high'] as const)
          await calls.discover(filter, keys[priority], { priority });
        await calls.discover(filter, urls('d', 40), { priority: 'low', delayMs: DAY_MS });
        const entries = await exported(filter);
        const found = (wanted: QueuedItem['priority'], later: boolean) =>
          entries
            .filter(
              ({ priority, scheduledAt }) => priority === wanted && (scheduledAt !== undefined) === later,
            )
            .map(({ payload }) => Buffer.from(payload).toString());
        expect(found('high', false)).toEqual(keys.high);
        expect(found(undefined, false)).toEqual(keys.normal);
        expect(found('low', false)).toEqual(keys.low);
        expect(found('low', true).sort()).toEqual(urls('d', 40).sort());
        const spec = specOf(filter, `${filter.name}.copy`);
        const copy = await subject.store.transfer.import(spec, subject.store.transfer.export(filter), made());
        expect(await calls.queueOf(copy)).toMatchObject({ waiting: 602, scheduled: 40 });
        const times = ({ scheduledAt = 0, discoveredAt }: QueuedItem) => [scheduledAt, discoveredAt];
        expect((await exported(copy)).map(times).sort()).toEqual(entries.map(times).sort());
      },
    );
  });

  describe('scheduled entries at a sync’s commit', () => {
    it('don’t come due before they are checked, and give way to new entries for their items', async () => {
      const filter = await make();
      await schedule(filter, [], ['old'], clock.now() + DAY_MS + 30_000);
      clock.advance(DAY_MS);
      expect(await calls.lease(filter, 10)).toEqual([]);
      expect(await calls.discover(filter, ['old'])).toEqual([1]);
      expect(await calls.take(filter)).toEqual(['old']);
      clock.advance(60_000);
      expect(await calls.take(filter)).toEqual([]);
      await checked(filter);
      expect(await calls.take(filter)).toEqual([]);
      expect(await calls.queueOf(filter)).toMatchObject({ waiting: 0, leased: 1, scheduled: 0 });
    });

    it.each<FilterOptions>([{}, hostOptions({}), hostOptions({ maxUrls: 9 })])(
      'do not come due if their items are visited before they are checked; %j',
      async (options) => {
        const filter = await make(options);
        const [old, other] = urls('a', 2) as [string, string];
        await schedule(filter, [other], [old], clock.now() + 30_000);
        const operation = keyed();
        expect(await add(subject.store, filter, [old, old], operation)).toEqual([1, 0]);
        expect(await add(subject.store, filter, [old, old], operation)).toEqual([1, 0]);
        expect(await add(subject.store, filter, [old])).toEqual([0]);
        clock.advance(DAY_MS);
        expect(await calls.take(filter)).toEqual([]);
        await checked(filter);
        expect(await calls.take(filter)).toEqual([other]);
        expect(await check(subject.store, filter, [old])).toEqual([1]);
      },
    );

    it('are dropped by the instance of a lease once no other instance has made a step for a minute', async () => {
      const filter = await make();
      await schedule(filter, ['left'], ['gone'], clock.now() + 60_000);
      await calls.discover(filter, ['new', 'newer']);
      const [began, till] = [await ordered(filter, 'checking'), await ordered(filter, 'checkingTill')];
      const first = await calls.lease(filter, 1, 5 * 60_000);
      expect(payloads(first)).toEqual(['new']);
      expect([await ordered(filter, 'checking'), await ordered(filter, 'checkingTill')]).toEqual([
        began,
        till,
      ]);
      clock.advance(60_000);
      const removal = jest.spyOn(Unclaimed.prototype, 'remove');
      const second = await calls.lease(filter, 1);
      // The lease itself doesn't wait for that.
      await Promise.all(removal.mock.results.map(({ value }) => value));
      removal.mockRestore();
      expect(payloads(second)).toEqual(['newer']);
      expect(await calls.ack(filter, [...first, ...second])).toEqual([1, 1]);
      expect(await ordered(filter, 'checking')).toBe(0);
      clock.advance(DAY_MS);
      expect(payloads(await calls.lease(filter, 10))).toEqual(['left']);
    });

    it.each<FilterOptions>([{}, hostOptions({})])(
      'are dropped by the instance of a description once no other has made a step for a minute; %j',
      async (options) => {
        const filter = await make(options);
        const [left, gone] = urls('a', 2) as [string, string];
        await schedule(filter, [left], [gone], clock.now() + 60_000);
        const till = await ordered(filter, 'checkingTill');
        clock.advance(59_000);
        // If one of these descriptions started a step, the step would be sent before the next description.
        for (let n = 0; n < 3; n++)
          expect(await calls.queueOf(filter)).toMatchObject({ scheduled: 2, forgotten: 0 });
        expect(await ordered(filter, 'checkingTill')).toBe(till);
        clock.advance(1_000);
        await calls.queueOf(filter);
        await checked(filter);
        expect(await calls.queueOf(filter)).toMatchObject({ scheduled: 2, forgotten: 1 });
        // New items no longer need marks.
        await calls.discover(filter, urls('b', 1));
        expect(await calls.queueOf(filter)).toMatchObject({ forgotten: 1 });
      },
    );

    it('are in no export, even if a failover has lost the drop’s last steps', async () => {
      const filter = await make();
      await schedule(filter, ['left'], ['gone'], clock.now() + 60_000);
      expect((await exported(filter)).map(({ payload }) => Buffer.from(payload).toString())).toEqual([
        'left',
      ]);
      expect(await ordered(filter, 'checking')).toBe(0);
    });

    it('are dropped while the next sync is open', async () => {
      const filter = await make();
      await schedule(filter, ['left'], ['gone'], clock.now() + 60_000);
      const syncs = new SyncCalls(subject);
      const sync = await syncs.open(filter);
      const now = await syncs.current(filter);
      expect((await exported(now)).map(({ payload }) => Buffer.from(payload).toString())).toEqual(['left']);
      expect(await ordered(now, 'checking')).toBe(0);
      await syncs.keep(now, sync, ['left']);
      expect(await syncs.commit(now, sync)).toMatchObject({ state: 'committed' });
    });
  });
}
