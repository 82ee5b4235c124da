import { describe, expect, it } from '@jest/globals';
import { segmentBytes } from '#bloom';
import type { Filter } from '#store';
import { clock } from '../support/clock.js';
import { queueKeys, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import { readEntry } from '../../libs/store/src/redis/queue/queue-entry.js';
import { CHUNK_BYTES, JOINED_BYTES } from '../../libs/store/src/redis/scripts/lanes.js';
import { HEAD_BYTES, QUEUE_FIELD, QUEUE_NUMBERS } from '../../libs/store/src/redis/scripts/queue-state.js';
import { exportLogScript } from '../../libs/store/src/redis/scripts/transfer.js';
import type { FoundKey, RedisHarness } from '../support/stores.js';
import { add, items, makeFilter } from './calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';

/** The size of an entry in these tests, in bytes. */
const ENTRY = 100;
/** How many such entries a full chunk has, and a chunk that was filled by single calls. */
const FULL = Math.floor(CHUNK_BYTES / ENTRY);
const JOINED = Math.floor(JOINED_BYTES / ENTRY);

/** Items whose entries all have the same size. */
const even = (count: number, prefix: string) =>
  items(count, prefix).map((item) => item.padEnd(ENTRY - HEAD_BYTES, '.'));

/** The chunks in which entries wait, and how they change. */
export function redisChunks(subject: Subject<RedisHarness>): void {
  const calls = new QueueCalls(subject);
  const make = () => makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-4, capacity: 5_000 });
  const metaOf = async ({ generation }: Filter) =>
    (await subject.harness.find(`unseen:{${generation}.0.*}:meta`))[0] as FoundKey;

  /** The queue's numbers, and the payloads in each chunk by its number. */
  const stored = async (filter: Filter) => {
    const meta = await metaOf(filter);
    const packed = (await meta.client.hgetBuffer(meta.key, QUEUE_FIELD)) as Buffer;
    const numbers = Object.fromEntries(QUEUE_NUMBERS.map((name, n) => [name, packed.readUIntBE(6 * n, 6)]));
    const [key = ''] = queueKeys(segmentKeys(/\{(.*)\}/.exec(meta.key)?.[1] as string));
    const chunks: Record<number, string[]> = {};
    for (const field of await meta.client.hkeysBuffer(key)) {
      if (field.length === 0) continue;
      const bytes = (await meta.client.hgetBuffer(key, field)) as Buffer;
      const entries: string[] = (chunks[field.readUIntBE(0, 6)] = []);
      for (let at = 0; at < bytes.length;) {
        const entry = readEntry(bytes, at);
        entries.push(Buffer.from(entry.payload).toString());
        at += entry.size;
      }
    }
    return { numbers, chunks };
  };
  const sizes = async (filter: Filter) =>
    Object.fromEntries(
      Object.entries((await stored(filter)).chunks).map(([number, entries]) => [number, entries.length]),
    );
  const oneByOne = async (filter: Filter, keys: readonly string[]) => {
    for (const key of keys) await calls.discover(filter, [key]);
  };
  /** Reads a page of waiting entries as an export does, from a position. */
  const page = async (filter: Filter, place: string, most: number) => {
    const { key, client } = await metaOf(filter);
    const keys = segmentKeys(/\{(.*)\}/.exec(key)?.[1] as string);
    const all = [keys.cells, keys.meta, ...queueKeys(keys)];
    const args = [filter.generation, segmentBytes(filter.geometry), place, most];
    const [next, , , bytes] = (await client.callBuffer(
      'EVAL',
      exportLogScript.lua,
      all.length,
      ...all,
      ...args,
    )) as [Buffer, Buffer, number, Buffer];
    const [, after = '', flag] = /^(\d+ \d+ \d+) (\d) \d+$/.exec(next.toString()) ?? [];
    const entries: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const entry = readEntry(bytes, at);
      entries.push(Buffer.from(entry.payload).toString());
      at += entry.size;
    }
    return { after, flag: Number(flag), entries };
  };
  /** Forgets these items, and makes a sweep's steps until it has ended. */
  const sweep = async (filter: Filter, keys: readonly string[]) => {
    await calls.forget(filter, keys);
    for (let turn = 0; (await stored(filter)).numbers.sweeping === 1; turn++) {
      expect(turn).toBeLessThan(100);
      // Any removal makes a step.
      await add(subject.store, filter, [`probe ${turn}`]);
      await calls.forget(filter, [`probe ${turn}`]);
    }
  };

  describe('chunks of waiting entries', () => {
    it('are full except a change’s last one, and single entries join a small last chunk', async () => {
      const filter = await make();
      const [batch, single, more] = [even(2 * FULL + 1, 'batch'), even(JOINED + 2, 'one'), even(3, 'more')];
      await calls.discover(filter, batch);
      expect(await sizes(filter)).toEqual({ 0: FULL, 1: FULL, 2: 1 });
      await oneByOne(filter, single);
      expect(await sizes(filter)).toEqual({ 0: FULL, 1: FULL, 2: JOINED, 3: 3 });
      await calls.discover(filter, more);
      expect(await sizes(filter)).toEqual({ 0: FULL, 1: FULL, 2: JOINED, 3: 6 });
      expect((await stored(filter)).numbers).toMatchObject({ head: 0, headAt: 0, next: 4 });
      const all = [...batch, ...single, ...more];
      expect((await subject.store.describe(filter)).queue).toMatchObject({ waiting: all.length });
      expect(payloads(await calls.lease(filter, 1_000))).toEqual(all);
    });

    it('hold one entry if that is larger than a chunk', async () => {
      const filter = await make();
      const large = 'x'.repeat(CHUNK_BYTES + 1);
      const all = ['a', 'b', large, `${large}y`, 'c', large.slice(0, JOINED_BYTES), 'd'];
      await calls.discover(filter, all);
      expect(Object.values((await stored(filter)).chunks)).toEqual([
        ['a', 'b'],
        [large],
        [`${large}y`],
        ['c', large.slice(0, JOINED_BYTES), 'd'],
      ]);
      for (const item of all) expect(payloads(await calls.lease(filter, 1))).toEqual([item]);
      expect(await calls.lease(filter, 1)).toEqual([]);
    });

    it('keep their bytes while entries are taken from the head, and numbers are never used again', async () => {
      const filter = await make();
      const all = even(FULL + 5, 'a');
      await calls.discover(filter, all);
      const { chunks } = await stored(filter);
      expect(payloads(await calls.lease(filter, 7))).toEqual(all.slice(0, 7));
      let now = await stored(filter);
      expect(now.chunks).toEqual(chunks);
      expect(now.numbers).toMatchObject({ head: 0, headAt: 7 * ENTRY, next: 2, waiting: FULL - 2 });
      expect(payloads(await calls.lease(filter, FULL - 7))).toEqual(all.slice(7, FULL));
      now = await stored(filter);
      expect(now.chunks).toEqual({ 1: chunks[1] });
      expect(now.numbers).toMatchObject({ head: 1, headAt: 0, next: 2, waiting: 5 });
      expect(await calls.lease(filter, 4)).toHaveLength(4);
      // This entry joins a chunk from which some entries were taken.
      await calls.discover(filter, ['b']);
      expect(payloads(await calls.lease(filter, 10))).toEqual([all.at(-1), 'b']);
      now = await stored(filter);
      expect([now.chunks, now.numbers]).toMatchObject([{}, { head: 2, headAt: 0, next: 2, waiting: 0 }]);
      await calls.discover(filter, ['c']);
      expect((await stored(filter)).chunks).toEqual({ 2: ['c'] });
    });

    it('are read in order, even if they are small', async () => {
      const filter = await make();
      const all = even(20 * JOINED, 'a');
      await oneByOne(filter, all.slice(0, 19 * JOINED));
      await calls.discover(filter, all.slice(19 * JOINED));
      expect(payloads(await calls.lease(filter, 2))).toEqual(all.slice(0, 2));
      expect(payloads(await calls.lease(filter, 18 * JOINED))).toEqual(all.slice(2, 18 * JOINED + 2));
      expect(payloads(await calls.lease(filter, 1_000))).toEqual(all.slice(18 * JOINED + 2));
    });

    it('are rewritten without forgotten entries by a sweep, even the head chunk', async () => {
      await subject.reopen({ maxMarks: 10 });
      const filter = await make();
      const all = even(4 * FULL, 'a');
      for (let from = 0; from < all.length; from += FULL) {
        await calls.discover(filter, all.slice(from, from + FULL));
      }
      const leased = await calls.lease(filter, 10);
      // Leased entries, the next in the same chunk, a whole chunk, and the last.
      const forgotten = [...all.slice(8, 13), ...all.slice(2 * FULL, 3 * FULL), ...all.slice(-1)];
      await sweep(filter, forgotten);
      const { chunks, numbers } = await stored(filter);
      expect(chunks).toEqual({
        0: all.slice(13, FULL),
        1: all.slice(FULL, 2 * FULL),
        3: all.slice(3 * FULL, -1),
      });
      expect(numbers).toMatchObject({ head: 0, headAt: 0, next: 4, waiting: 3 * FULL - 14 });
      // The chunk at the head is missing.
      expect(await calls.lease(filter, 2 * FULL - 13)).toHaveLength(2 * FULL - 13);
      clock.advance(1_000);
      const { queue } = await subject.store.describe(filter);
      expect(queue).toMatchObject({ waiting: FULL - 1, leased: 2 * FULL - 5 });
      expect(queue?.oldestSeconds).toBeGreaterThanOrEqual(1);
      expect(payloads(await calls.lease(filter, 1_000))).toEqual(all.slice(3 * FULL, -1));
      expect(await calls.ack(filter, leased.slice(7))).toEqual([1, 0, 0]);
      await subject.reopen();
    });

    it('keep order and counts while others take and append between a sweep’s steps', async () => {
      await subject.reopen({ maxMarks: 5 });
      const filter = await make();
      const all = even(30 * FULL, 'a');
      for (let from = 0; from < all.length; from += 200) {
        await calls.discover(filter, all.slice(from, from + 200));
      }
      const gone = new Set<string>();
      const [taken, added] = [[] as string[], [] as string[]];
      // Too few for a sweep to begin.
      const first = all.filter((_, n) => n % 9 === 5);
      await calls.forget(filter, first);
      for (const item of first) gone.add(item);
      for (let step = 0; step < 40; step++) {
        // Begins the sweep, or makes a step.
        const item = all.at(-1 - 9 * step) as string;
        await calls.forget(filter, [item]);
        gone.add(item);
        added.push(`added ${step}`);
        await calls.discover(filter, added.slice(-1));
        taken.push(...payloads(await calls.lease(filter, 3)));
      }
      expect((await stored(filter)).numbers.rewrites).toBeGreaterThan(3);
      await sweep(filter, []);
      const { chunks, numbers: after } = await stored(filter);
      expect(after.waiting).toBe(Object.values(chunks).flat().length - (after.headAt as number) / ENTRY);
      for (let some = [''], turn = 0; some.length > 0 && turn < 10; turn++) {
        some = payloads(await calls.lease(filter, 500));
        taken.push(...some);
      }
      const alive = [...all, ...added].filter((item) => !gone.has(item));
      expect(taken).toEqual(alive);
      await subject.reopen();
    });
  });

  describe('an export of waiting entries', () => {
    it('continues after the last chunk that it read, and tells whether entries before it were taken', async () => {
      const filter = await make();
      await calls.discover(filter, even(FULL + 2, 'a'));
      const first = await page(filter, '', 1);
      expect(first).toMatchObject({ after: '1 0 0', flag: 1, entries: even(FULL, 'a') });
      let last = await page(filter, first.after, 100);
      expect(last).toMatchObject({ after: `1 ${2 * ENTRY} 0`, flag: 0 });
      expect(last.entries).toEqual(even(FULL + 2, 'a').slice(FULL));
      const joined = even(2, 'b');
      await oneByOne(filter, joined);
      // Entries that it has read may be taken.
      expect(await calls.lease(filter, FULL + 2)).toHaveLength(FULL + 2);
      last = await page(filter, last.after, 100);
      expect(last).toEqual({ after: `1 ${4 * ENTRY} 0`, flag: 0, entries: joined });
      const more = even(JOINED, 'c');
      await oneByOne(filter, more);
      expect(await calls.lease(filter, 3)).toHaveLength(3);
      last = await page(filter, last.after, 100);
      expect(last).toMatchObject({ flag: 2, entries: more.slice(1) });
      expect(await page(filter, last.after, 100)).toEqual({ after: last.after, flag: 0, entries: [] });
      expect(await page(filter, first.after, 100)).toMatchObject({ flag: 2, entries: more.slice(1) });
    });

    it('reads the rest of a chunk again if a sweep may have rewritten it', async () => {
      await subject.reopen({ maxMarks: 1 });
      const filter = await make();
      const [first, second] = [even(FULL, 'a'), even(4, 'b')];
      await calls.discover(filter, first);
      await calls.discover(filter, second);
      const { after } = await page(filter, '', 100);
      expect(after).toBe(`1 ${4 * ENTRY} 0`);
      await sweep(filter, [...second.slice(0, 2), ...first.slice(0, 30)]);
      await calls.discover(filter, ['c']);
      const rest = { entries: expect.arrayContaining([...second.slice(2), 'c']) as unknown };
      expect(await page(filter, after, 100)).toMatchObject({ flag: 0, ...rest });
      // Once the chunk is the head, some of its moved entries may have been taken.
      expect(await calls.lease(filter, FULL - 30)).toHaveLength(FULL - 30);
      expect(await page(filter, after, 100)).toMatchObject({ flag: 2, ...rest });
      await subject.reopen();
    });

    it('has every entry that isn’t forgotten, even if chunks are rewritten while it reads', async () => {
      await subject.reopen({ maxMarks: 5 });
      const filter = await make();
      const all = even(20 * FULL, 'a');
      for (let from = 0; from < all.length; from += 300) {
        await calls.discover(filter, all.slice(from, from + 300));
      }
      const forgotten = all.filter((_, n) => n % 50 === 0);
      const exported: string[] = [];
      let pages = 0;
      for await (const part of subject.store.transfer.export(filter)) {
        if (part.type !== 'queue' || part.entries.length === 0) continue;
        exported.push(...part.entries.map(({ payload }) => Buffer.from(payload).toString()));
        if (pages++ === 0) await sweep(filter, forgotten);
      }
      expect(pages).toBeGreaterThan(2);
      const gone = new Set(forgotten);
      const alive = all.filter((item) => !gone.has(item));
      expect(alive.filter((item) => !exported.includes(item))).toEqual([]);
      expect(payloads(await calls.lease(filter, 1_000))).toEqual(alive.slice(0, 1_000));
      await subject.reopen();
    });
  });
}
