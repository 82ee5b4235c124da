import { describe, expect, it } from '@jest/globals';
import { Added, type Filter, type PerHost, Settled } from '#store';
import {
  HEAD_BYTES,
  HOST_BYTES,
  HOST_QUEUE_NUMBERS,
  LEASE_ENTRIES,
  QUEUE_FIELD,
} from '../../libs/store/src/redis/scripts/queue-state.js';
import { LANES_PER_SCRIPT } from '../../libs/store/src/redis/scripts/host-lanes.js';
import { NO_LANE, readLane } from '../../libs/store/src/redis/scripts/lane-records.js';
import { exportFile, importFile } from '../support/export-files.js';
import type { FoundKey, RedisHarness } from '../support/stores.js';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { check, discover, expectRefusal, keyed, made, makeFilter } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, urls } from './host-calls.js';
import { LONG_MS, payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** One URL from each of some hosts. */
const hosts = (count: number, prefix = 'h'): string[] =>
  Array.from({ length: count }, (_, n) => `http://${prefix}${n}.example/`);

/** Hosts' lanes as Redis stores them, and their limits. */
export function redisLanes(subject: Subject<RedisHarness>): void {
  const calls = new HostCalls(subject, 1);
  const make = (perHost: PerHost) => calls.make(perHost);
  const keyOf = async ({ generation }: Filter, name: string): Promise<FoundKey> =>
    (await subject.harness.find(`unseen:{${generation}.0.*}:${name}`))[0] as FoundKey;

  /** Each lane's numbers, by host name. */
  const lanesOf = async (filter: Filter) => {
    const { key, client } = await keyOf(filter, 'queue:lanes');
    return Object.fromEntries(
      (await client.hvalsBuffer(key))
        .filter((record) => record.toString() !== NO_LANE)
        .map((record) => [readLane(record).name, readLane(record)]),
    );
  };
  /** The hosts whose lanes have a turn, by name and in order. */
  const turnsOf = async (filter: Filter) => {
    const [due, lanes] = [await keyOf(filter, 'queue:due'), await keyOf(filter, 'queue:lanes')];
    const members = await due.client.zrangeBuffer(due.key, '1', '-1');
    if (members.length === 0) return [];
    const records = await lanes.client.hmgetBuffer(lanes.key, ...members.map((member) => member.subarray(6)));
    return records.map((record) => record && readLane(record).name);
  };
  /** The most records that one script has read. */
  const mostRead = async (filter: Filter, act: () => Promise<unknown>): Promise<number> => {
    const { client } = await keyOf(filter, 'queue:lanes');
    const monitor = await client.monitor();
    const reads = [0];
    monitor.on('monitor', (_, args: string[], source: string) => {
      if (source !== 'lua') reads.push(0);
      else if (/^hmget$/i.test(args[0] ?? '') && args[1]?.endsWith(':queue:lanes'))
        reads.push((reads.pop() ?? 0) + args.length - 2);
    });
    try {
      await act();
      await client.ping();
    } finally {
      monitor.disconnect();
    }
    return Math.max(...reads);
  };

  describe('the lanes of a per-host queue', () => {
    it('count entries by state, are deleted when they count nothing, and have a turn while they wait', async () => {
      const filter = await make({ maxLeased: 2 });
      await discover(subject.store, filter, [...urls('a', 4), ...urls('b', 1)]);
      expect(await turnsOf(filter)).toEqual(['a.example', 'b.example']);
      const taken = await calls.lease(filter, 10, HELD_MS);
      expect(await lanesOf(filter)).toMatchObject({
        'a.example': { waiting: 2, leased: 2, delayed: 0, dueAt: 0 },
        'b.example': { waiting: 0, leased: 1, delayed: 0, dueAt: 0 },
      });
      expect(await turnsOf(filter)).toEqual([]);
      await calls.release(filter, taken.slice(0, 1), { delayMs: DELAY_MS });
      await calls.ack(filter, taken.slice(1));
      expect(await lanesOf(filter)).toEqual({
        'a.example': expect.objectContaining({ waiting: 2, leased: 0, delayed: 1 }) as unknown,
      });
      expect(await turnsOf(filter)).toEqual(['a.example']);
      const meta = await keyOf(filter, 'meta');
      const numbers = (await meta.client.hgetBuffer(meta.key, QUEUE_FIELD)) as Buffer;
      expect(numbers.readUIntBE(6 * HOST_QUEUE_NUMBERS.indexOf('waiting'), 6)).toBe(2);
    });

    it('are served in the order in which they joined if their times are equal', async () => {
      const filter = await make({});
      const all = hosts(60);
      await discover(subject.store, filter, all);
      const { client, key } = await keyOf(filter, 'queue:due');
      const times = new Set(
        (await client.zrange(key, '1', '-1', 'WITHSCORES')).filter((_, n) => n % 2 === 1),
      );
      expect(times.size).toBeLessThan(60);
      expect((await turnsOf(filter)).map((host) => `http://${host}/`)).toEqual(all);
      expect(await calls.take(filter, 60, 1)).toEqual(all);
    });

    it('allow leasing one entry from each of many hosts, and a repeat returns the same entries', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      const count = 2 * LANES_PER_SCRIPT + 7;
      await discover(subject.store, filter, hosts(count));
      const operation = keyed();
      const leased = await subject.store.queue.lease(filter, count - 2, HELD_MS, operation);
      expect(payloads(leased)).toEqual(hosts(count - 2));
      const repeat = { ...operation, repeat: true };
      expect(await subject.store.queue.lease(filter, count - 2, HELD_MS, repeat)).toEqual(leased);
      expect(await calls.take(filter)).toEqual(hosts(count).slice(-2));
    });

    it('allow leasing from all that are due, although others come due at earlier times during the lease', async () => {
      const filter = await make({});
      const [early, waiting] = [hosts(120, 'early'), hosts(2 * LANES_PER_SCRIPT, 'waiting')];
      await calls.discover(filter, early, { delayMs: LONG_MS });
      clock.advance(2 * LONG_MS);
      await subject.harness.still(() => discover(subject.store, filter, waiting));
      const leased = await calls.lease(filter, 1_000, HELD_MS, { maxPerHost: 1 });
      expect(payloads(leased)).toEqual(expect.arrayContaining(waiting));
      while (leased.length < early.length + waiting.length)
        leased.push(...(await calls.lease(filter, 1_000, HELD_MS)));
    });

    it('fill a lease although the entries that came due first are of one host', async () => {
      const filter = await make({});
      const [busy, others] = [urls('busy', 60), hosts(60)];
      await calls.discover(filter, [...busy, ...others], { delayMs: LONG_MS });
      clock.advance(2 * LONG_MS);
      expect(await calls.take(filter, 20, 1)).toEqual([busy[0], ...others.slice(0, 19)]);
    });

    it('give a repeated lease no later entries', async () => {
      const filter = await make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, hosts(LANES_PER_SCRIPT));
      const operation = keyed();
      const leased = await subject.store.queue.lease(filter, 1_000, HELD_MS, operation);
      expect(payloads(leased)).toEqual(hosts(LANES_PER_SCRIPT));
      await discover(subject.store, filter, hosts(3, 'later'));
      const repeat = { ...operation, repeat: true };
      expect(await subject.store.queue.lease(filter, 1_000, HELD_MS, repeat)).toEqual(leased);
      expect(await calls.take(filter)).toEqual(hosts(3, 'later'));
    });

    it('are at most LANES_PER_SCRIPT in each script', async () => {
      const filter = await make({ maxLeased: 1, maxUrls: 9 });
      const count = 4 * LANES_PER_SCRIPT;
      const reads = [await mostRead(filter, () => discover(subject.store, filter, hosts(count)))];
      const taken = await calls.lease(filter, count, HELD_MS);
      expect(taken).toHaveLength(count);
      reads.push(await mostRead(filter, () => calls.ack(filter, taken)));
      expect(Math.min(...reads)).toBeGreaterThan(1);
      expect(Math.max(...reads)).toBeLessThanOrEqual(LANES_PER_SCRIPT);
    });

    it('are at most LANES_PER_SCRIPT in each script that settles entries after a host was dropped', async () => {
      const filter = await make({});
      const count = 10 * LEASE_ENTRIES;
      await discover(subject.store, filter, hosts(count));
      const taken = await calls.lease(filter, count, HELD_MS);
      await subject.store.hosts.drop(filter, 'h1.example', keyed());
      // One or two entries from each lease.
      const some = taken.filter((_, n) => n % (LEASE_ENTRIES - 1) === 0);
      const most = await mostRead(filter, async () => {
        expect(await calls.extend(filter, some, HELD_MS)).toEqual(some.map(() => Settled.Done));
        expect(await calls.ack(filter, some)).toEqual(some.map(() => Settled.Done));
      });
      expect(most).toBeGreaterThan(1);
      expect(most).toBeLessThanOrEqual(LANES_PER_SCRIPT);
      expect(await calls.ack(filter, taken.slice(1, 3))).toEqual([Settled.Unknown, Settled.Done]);
    });

    it('are about LANES_PER_SCRIPT in each step of a sweep', async () => {
      subject.store = await subject.harness.open({ maxMarks: 0 });
      try {
        const filter = await make({});
        // Redis scans a small hash's short values all at once.
        const all = hosts(8 * LANES_PER_SCRIPT, 'a-name-that-is-not-short-');
        await discover(subject.store, filter, all);
        const most = await mostRead(filter, async () => {
          await calls.forget(
            filter,
            all.filter((_, n) => n % 7 === 0),
          );
        });
        expect(most).toBeGreaterThan(LANES_PER_SCRIPT / 2);
        expect(most).toBeLessThan(2 * LANES_PER_SCRIPT);
      } finally {
        await subject.reopen();
      }
    });

    it('are in a hash table, even if they are few and their names are short', async () => {
      const filter = await make({});
      await discover(subject.store, filter, hosts(3));
      const { client, key } = await keyOf(filter, 'queue:lanes');
      expect(await client.object('ENCODING', key)).toBe('hashtable');
    });

    it('wake waiting callers if they may be leased from, and not if they have to wait', async () => {
      const filter = await make({ delayMs: DELAY_MS, maxLeased: 2 });
      await discover(subject.store, filter, hosts(1));
      const taken = await calls.lease(filter, 1, HELD_MS);
      const meta = await keyOf(filter, 'meta');
      const awaitedAt = 6 * HOST_QUEUE_NUMBERS.indexOf('awaited');
      const listener = meta.client.duplicate();
      let heard = 0;
      listener.on('message', () => heard++);
      await listener.subscribe(`unseen:queue:${filter.generation}`);
      const end = subject.store.queue.watch(filter, () => undefined);
      try {
        await until('Redis has a record of the waiting caller', async () => {
          const numbers = await meta.client.hgetBuffer(meta.key, QUEUE_FIELD);
          return numbers !== null && numbers.readUIntBE(awaitedAt, 6) > 0;
        });
        await discover(subject.store, filter, urls('h0', 1, 1));
        await calls.release(filter, taken);
        await discover(subject.store, filter, hosts(2).slice(1));
        await until('a message has arrived', () => Promise.resolve(heard > 0));
        expect(heard).toBe(1);
      } finally {
        end();
        listener.disconnect();
      }
    });

    it('are limited in number, and then the store refuses new hosts', async () => {
      subject.store = await subject.harness.open({ maxHosts: 3 });
      try {
        const filter = await make({});
        const { New, Limited, Present } = Added;
        const batch = [...hosts(5), ...urls('h0', 1), hosts(1)[0]!];
        const answers = [New, New, New, Limited, Limited, New, Present];
        expect(await discover(subject.store, filter, batch)).toEqual(answers);
        expect(await check(subject.store, filter, batch)).toEqual(
          answers.map((one) => Number(one !== Limited)),
        );
        expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: 4 });
        await calls.ack(filter, await calls.lease(filter, 10));
        expect(await discover(subject.store, filter, hosts(5).slice(3))).toEqual([New, New]);
      } finally {
        await subject.reopen();
      }
    });

    it('are limited in number in each of several segments', async () => {
      subject.store = await subject.harness.open({ maxHosts: 6 });
      try {
        const { New, Limited } = Added;
        const segmented = new HostCalls(subject, 3);
        const filter = await segmented.make({});
        const [one, other, third] = segmented.sharing(3) as [string, string, string];
        const elsewhere = segmented.apart()[1]!;
        const batch = [one, other, third, elsewhere].flatMap((host) => urls(host, 1));
        expect(await discover(subject.store, filter, batch)).toEqual([New, New, Limited, New]);
        const refused = subject.store.hosts.set(
          filter,
          `${third}.example`,
          { own: { maxLeased: 1 } },
          keyed(),
        );
        await expect(refused).rejects.toMatchObject({
          ...{
            code: 'STORE_FULL',
            message: expect.stringMatching(/has 2 hosts in this host's segment/),
          },
        });
        const file = await exportFile(subject.store, filter);
        subject.store = await subject.harness.open({ maxHosts: 3 });
        await expect(importFile(subject.store, file, made(), `${filter.name}.to`)).rejects.toMatchObject({
          ...{ code: 'STORE_FULL', message: expect.stringMatching(/2 hosts in a segment, .* at most 1;/) },
        });
      } finally {
        await subject.reopen();
      }
    });

    it.each(['queue:lanes', 'queue:due'])(
      'are lost data if %s is missing or of a different type',
      async (name) => {
        const filter = await make({ delayMs: DELAY_MS });
        await discover(subject.store, filter, hosts(3));
        const { key, client } = await keyOf(filter, name);
        const kept = await client.dumpBuffer(key);
        const uses = [
          () => discover(subject.store, filter, hosts(1, 'new')),
          () => subject.store.queue.lease(filter, 1, HELD_MS, keyed()),
          () => subject.store.describe(filter),
          () => calls.forget(filter, hosts(1)),
        ];
        await client.del(key);
        for (const use of uses) await expectRefusal(use(), 'STORE_DATA_LOST');
        await client.set(key, 'x');
        for (const use of uses) await expectRefusal(use(), 'STORE_DATA_LOST');
        await client.restore(key, 0, kept, 'REPLACE');
        expect(await calls.take(filter)).toEqual(hosts(3));
      },
    );

    it('are lost data if all their turns are missing', async () => {
      const filter = await make({});
      await discover(subject.store, filter, hosts(3));
      const { key, client } = await keyOf(filter, 'queue:due');
      await client.zremrangebyrank(key, 1, -1);
      await expectRefusal(subject.store.queue.lease(filter, 5, HELD_MS, keyed()), 'STORE_DATA_LOST');
    });

    it('are lost data if one lane’s record is missing', async () => {
      const filter = await make({});
      await discover(subject.store, filter, hosts(3));
      const { key, client } = await keyOf(filter, 'queue:lanes');
      const [lane] = (await client.hkeysBuffer(key)).filter((field) => field.length > 0);
      await client.hdel(key, lane as Buffer);
      await expectRefusal(subject.store.queue.lease(filter, 5, HELD_MS, keyed()), 'STORE_DATA_LOST');
    });

    it('don’t exist without perHost, and entries have no host', async () => {
      const plain = await makeFilter(subject.store, { kind: 'visited-set' });
      await discover(subject.store, plain, ['a']);
      const names = (await subject.harness.find(`unseen:{${plain.generation}.0.*}:queue:*`)).map(
        ({ key }) => key,
      );
      expect(names.filter((key) => /:(lanes|due)$/.test(key))).toEqual([]);
      const bytesOf = async (filter: Filter) => {
        const { key, client } = await keyOf(filter, 'queue:chunks');
        return Math.max(...(await client.hvalsBuffer(key)).map((chunk) => chunk.length));
      };
      const filter = await make({});
      const [url] = hosts(1) as [string];
      await discover(subject.store, plain, [url]);
      await discover(subject.store, filter, [url]);
      expect((await bytesOf(plain)) - (await bytesOf(filter))).toBe(HEAD_BYTES + 1 - HOST_BYTES);
    });
  });
}
