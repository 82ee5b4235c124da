import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { Settled, type Filter, type Part, type Store } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile, readFile, specOf } from '../support/export-files.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  expectStale,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  type FilterOptions,
} from './calls.js';
import type { Subject } from './subject.js';

const KINDS: readonly FilterOptions[] = [
  { type: 'counting', semantics: 'set' },
  { type: 'counting', semantics: 'multiset' },
  { type: 'standard' },
  { kind: 'visited-set', urlProfile: { base: 'safe', version: 1 } },
];

const URLS = [...items(400), 'https://ü.example/日本?x=😀', 'c\n\0d'];

/** A filter that contains every kind of data. */
export async function filled(store: Store, options: FilterOptions): Promise<Filter> {
  const filter = await makeFilter(store, { segmentation: SEGMENTED, ...options });
  const keys = options.kind === 'visited-set' ? URLS : items(600);
  await (options.kind === 'visited-set' ? discover : add)(store, filter, keys);
  await add(store, filter, items(50));
  for (let n = 0; n < 20; n++) await add(store, filter, ['often']);
  if (filter.type === 'counting') await remove(store, filter, [...items(20), ...items(20, 'absent')]);
  return filter;
}

/** The contents that a filter and its import must share. */
export async function contents(store: Store, segmentBytes: SegmentBytes, filter: Filter): Promise<unknown> {
  // Forgotten entries aren't exported, so the queues' counts differ.
  const { recordWindowSeconds: _, queue: __, ...stats } = await store.describe(filter);
  const keys = [...items(700), ...items(700, 'absent'), 'often'];
  const { capacity, errorRate, type, semantics, kind, geometry, seed, urlProfile } = filter;
  const cells: string[] = [];
  for (let segment = 0; segment < geometry.segments; segment++) {
    cells.push(Buffer.from(await segmentBytes(filter, segment)).toString('base64'));
  }
  return {
    ...{ capacity, errorRate, type, semantics, kind, geometry, seed: [...seed], urlProfile, stats, cells },
    answers: await check(store, filter, keys),
  };
}

type SegmentBytes = (filter: Filter, segment: number) => Promise<Uint8Array>;

/** Leases everything in the queue. Returns `attempt payload` of each entry, sorted. */
export async function leaseAll(store: Store, filter: Filter): Promise<string[]> {
  const found: string[] = [];
  for (let turn = 0; turn < 100; turn++) {
    const leased = await store.queue.lease(filter, 1_000, 60_000, made());
    if (leased.length === 0) return found.sort();
    found.push(...leased.map(({ attempt, payload }) => `${attempt} ${payload}`));
  }
  throw new Error('the queue has no end');
}

function idsOf(entries: readonly { readonly id: string }[]): string[] {
  return entries.map(({ id }) => id);
}

export function transferContract(subject: Subject): void {
  const bytesOf: SegmentBytes = (filter, segment) => subject.harness.segmentBytes(filter, segment);
  const copy = async (filter: Filter, operation = made()) =>
    importFile(subject.store, await exportFile(subject.store, filter), operation, `${filter.name}.copy`);
  /**
   * A copy that has each queue entry once. If a slot moves during the export, the queue may be read again from the
   * start.
   */
  const copyOnce = (filter: Filter) => subject.harness.still(() => copy(filter));
  const missing = (name: string, kind: Filter['kind'] = 'filter') =>
    expectRefusal(subject.store.open(name, kind, { fresh: true }), 'FILTER_NOT_FOUND');

  describe('export and import', () => {
    it.each(KINDS)('carry everything but the generation: %j', async (options) => {
      const filter = await filled(subject.store, options);
      expect(filter.geometry.segments).toBeGreaterThan(1);
      const before = await contents(subject.store, bytesOf, filter);
      const copied = await copy(filter);
      expect(copied.generation).not.toBe(filter.generation);
      expect(await contents(subject.store, bytesOf, copied)).toEqual(before);
      await subject.reopen();
      const reopened = await subject.store.open(copied.name, copied.kind);
      expect(await contents(subject.store, bytesOf, reopened)).toEqual(before);
      // The imported filter works like any other.
      expect(await add(subject.store, reopened, ['one more'])).toEqual([1]);
      expect(await check(subject.store, reopened, ['one more'])).toEqual([1]);
    });

    it('carry the queue: leased entries are available again, and their attempts continue', async () => {
      const { store } = subject;
      const filter = await filled(store, { kind: 'visited-set' });
      const leased = await store.queue.lease(filter, 100, 600_000, made());
      await store.queue.ack(
        filter,
        leased.slice(0, 50).map(({ id }) => id),
        made(),
      );
      const gone = new Set(leased.slice(0, 50).map(({ payload }) => payload));
      const again = new Set(leased.slice(50).map(({ payload }) => payload));
      const copied = await copyOnce(filter);
      expect((await store.describe(copied)).queue).toMatchObject({
        ...{ waiting: URLS.length - 20 - leased.slice(0, 50).length, leased: 0 },
        ...{ delayed: 0, scheduled: 0, dead: 0, forgotten: 0 },
      });
      const expected = URLS.slice(20)
        .filter((url) => !gone.has(url))
        .map((url) => `${again.has(url) ? 2 : 1} ${url}`);
      expect(await leaseAll(store, copied)).toEqual(expected.sort());
    });

    it('settle no entry of a copy by the ids of the exported set', async () => {
      const { queue } = subject.store;
      const filter = await makeFilter(subject.store, { kind: 'visited-set', maxAttempts: 1 });
      const urls = items(20);
      await discover(subject.store, filter, urls);
      const failed = await queue.lease(filter, 10, 600_000, made());
      await queue.release(filter, idsOf(failed), made());
      const copied = await copyOnce(filter);
      const ids = { leased: [] as string[], dead: [] as string[] };
      for (const each of [filter, copied]) {
        const leased = await queue.lease(each, 20, 600_000, made());
        expect(leased).toHaveLength(10);
        const { entries } = await queue.deadLetters(each, 20);
        expect(entries).toHaveLength(10);
        if (each === filter) Object.assign(ids, { leased: idsOf(leased), dead: idsOf(entries) });
      }
      const unknown = Array.from({ length: 10 }, () => Settled.Unknown);
      for (const verb of ['ack', 'release'] as const)
        expect([...(await queue[verb](copied, ids.leased, made()))]).toEqual(unknown);
      for (const verb of ['putBack', 'purge'] as const)
        expect([...(await queue[verb](copied, ids.dead, made()))]).toEqual(unknown);
      expect((await subject.store.describe(copied)).queue).toMatchObject({ leased: 10, dead: 10 });
      expect([...(await queue.ack(filter, ids.leased, made()))]).toEqual(unknown.map(() => Settled.Done));
    });

    it('keep the order of the queue', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set' });
      for (let from = 0; from < 60; from += 20) {
        await discover(store, filter, items(60).slice(from, from + 20));
        clock.advance(2);
      }
      const copied = await copyOnce(filter);
      await discover(store, copied, ['later']);
      const leased = await store.queue.lease(copied, 100, 60_000, made());
      expect(leased.map(({ payload }) => payload)).toEqual([...items(60), 'later']);
    });

    it('carry dead letters with their reasons and the limit of attempts, and delayed entries wait', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, {
        ...{ kind: 'visited-set', segmentation: SEGMENTED, errorRate: 1e-9, maxAttempts: 2 },
      });
      await discover(store, filter, items(30));
      for (const reason of ['once', 'HTTP 503']) {
        const ids = (await store.queue.lease(filter, 10, 60_000, made())).map(({ id }) => id);
        if (reason === 'once') await store.queue.release(filter, ids, made(), { reason, delayMs: 600_000 });
        else await store.queue.release(filter, ids, made(), { reason });
      }
      for (let turn = 0; turn < 3; turn++) {
        const leased = await store.queue.lease(filter, 20, 60_000, made());
        const ids = leased.map(({ id }) => id);
        await store.queue.release(filter, ids, made(), { reason: 'HTTP 503' });
      }
      const letters = async (of: Filter) =>
        (await store.queue.deadLetters(of, 100)).entries.map(({ payload, attempt, reason }) =>
          [payload, attempt, reason].join('\n'),
        );
      expect((await store.describe(filter)).queue).toMatchObject({ delayed: 10, dead: 20 });
      const forgotten = (await letters(filter)).slice(0, 3).map((letter) => letter.split('\n')[0]!);
      await remove(store, filter, forgotten);
      const copied = await copyOnce(filter);
      expect(copied.maxAttempts).toBe(2);
      expect((await store.describe(copied)).queue).toMatchObject({ waiting: 10, delayed: 0, dead: 17 });
      expect((await letters(copied)).sort()).toEqual((await letters(filter)).sort());
      const leased = await leaseAll(store, copied);
      expect(leased).toHaveLength(10);
      expect(leased.every((entry) => entry.startsWith('2 '))).toBe(true);
    });

    it('can be repeated: exporting the import gives the same contents', async () => {
      const { store } = subject;
      const filter = await filled(store, { kind: 'visited-set' });
      const first = await readFile(await exportFile(store, filter));
      const second = await readFile(await exportFile(store, await copy(filter)));
      // While slots move, the queue may be read again from the start, so an entry may appear twice.
      const entries = (parts: readonly Part[]) =>
        subject.name.includes('moving') ? [...new Set(entriesOf(parts))] : entriesOf(parts);
      expect(entries(second.parts)).toEqual(entries(first.parts));
      expect(othersOf(second.parts)).toEqual(othersOf(first.parts));
    });

    it('during writes, contain everything that completed before, and each item whole or not at all', async () => {
      const { store } = subject;
      const options = { errorRate: 1e-9, capacity: 10_000, segmentation: SEGMENTED } as const;
      const filter = await makeFilter(store, options);
      expect(filter.geometry.segments).toBeGreaterThan(50);
      await add(store, filter, items(500, 'before'));
      let writing = true;
      const written: string[] = [];
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; writing && n < 25; n++) {
          const keys = items(10, `writer ${writer}, batch ${n},`);
          await add(store, filter, keys);
          written.push(...keys);
        }
      });
      const file = await exportFile(store, filter);
      writing = false;
      await Promise.all(writers);
      expect(written.length).toBeGreaterThan(0);
      const copied = await importFile(store, file, made(), `${filter.name}.copy`);
      const before = items(500, 'before');
      expect(await check(store, copied, before)).toEqual(before.map(() => 1));
      const inIt = (await check(store, copied, written)).flatMap((answer, i) =>
        answer ? [written[i]!] : [],
      );
      // After its items are removed, nothing is left: not even one counter of an item that the filter doesn't contain.
      const removed = await remove(store, copied, [...before, ...inIt]);
      expect(removed.every((answer) => answer === 1)).toBe(true);
      expect((await store.describe(copied)).nonZeroCells).toBe(0);
    });

    it('never leave an item visited without its entry, even if items are removed during the export', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set', capacity: 5_000, errorRate: 1e-9 });
      const urls = items(3_000);
      await discover(store, filter, urls);
      const parts: Part[] = [];
      for await (const part of store.transfer.export(filter)) {
        if (parts.length === 0) {
          // By now the export has read the cells and the first page of the queue.
          await remove(store, filter, urls.slice(0, 1_500));
          await discover(store, filter, ['queued meanwhile', ...urls.slice(0, 10)]);
        }
        parts.push(part);
      }
      const copied = await store.transfer.import(
        { ...specOf({ ...filter, id: '', exportedAt: 0 }), name: `${filter.name}.copy` },
        given(parts),
        made(),
      );
      const queued = new Set((await leaseAll(store, copied)).map((entry) => entry.slice(2)));
      const visited = await check(store, copied, urls);
      const stuck = urls.filter((url, i) => visited[i] === 1 && !queued.has(url));
      expect(stuck).toEqual([]);
      expect(urls.slice(1_500).filter((url, i) => visited[1_500 + i] !== 1 || !queued.has(url))).toEqual([]);
    });

    it.each(['clear', 'drop'] as const)(
      'end in an error, not in mixed contents, after a %s halfway',
      async (how) => {
        const { store } = subject;
        const filter = await filled(store, {});
        const parts = store.transfer.export(filter);
        expect((await parts.next()).done).toBe(false);
        await store[how](filter.name, 'filter', made());
        const rest = (async () => {
          for await (const _ of parts);
        })();
        if (how === 'clear') await expectStale(rest);
        else await expectRefusal(rest, 'FILTER_NOT_FOUND');
      },
    );

    it.each(['missing', 'short'] as const)(
      'exporting a filter with a segment %s is STORE_DATA_LOST',
      async (how) => {
        const filter = await filled(subject.store, {});
        subject.store = await subject.harness.damage(filter, 1, how);
        const damaged = await subject.store.open(filter.name, 'filter');
        await expectRefusal(exportFile(subject.store, damaged), 'STORE_DATA_LOST');
      },
    );
  });

  describe('import', () => {
    it.each(['filter', 'visited-set'] as const)(
      'refuses a name that a %s has, and changes nothing',
      async (kind) => {
        const { store } = subject;
        const file = await exportFile(store, await filled(store, {}));
        const taken = await filled(store, { kind });
        const before = await contents(store, bytesOf, taken);
        await expectRefusal(importFile(store, file, made(), taken.name), 'FILTER_EXISTS');
        const after = await store.open(taken.name, kind, { fresh: true });
        expect(after.generation).toBe(taken.generation);
        expect(await contents(store, bytesOf, after)).toEqual(before);
      },
    );

    it('that fails at any part leaves nothing, and frees the name', async () => {
      const { store } = subject;
      const filter = await filled(store, { kind: 'visited-set' });
      const { header, parts } = await readFile(await exportFile(store, filter));
      const name = `${filter.name}.copy`;
      const before = await subject.harness.kept();
      for (let whole = 0; whole <= parts.length; whole++) {
        const broken = given(parts.slice(0, whole), new Error('cut'));
        await expect(store.transfer.import(specOf(header, name), broken, made())).rejects.toThrow('cut');
        await missing(name, 'visited-set');
      }
      // The embedded store deletes in the background.
      await until('no data of the import is left', async () =>
        isDeepStrictEqual(await subject.harness.kept(), before),
      );
      await makeFilter(store, { name });
    });

    it('repeated: returns the same filter without reading parts, and is refused with a different fingerprint', async () => {
      const { store } = subject;
      const filter = await filled(store, {});
      const { header, parts } = await readFile(await exportFile(store, filter));
      const spec = specOf(header, `${filter.name}.copy`);
      const operation = keyed();
      const copied = await store.transfer.import(spec, given(parts), operation);
      await add(store, copied, ['since']);
      const unread = given([], new Error('read'));
      const again = await store.transfer.import(spec, unread, operation);
      expect(again.generation).toBe(copied.generation);
      expect(await check(store, again, ['since'])).toEqual([1]);
      await subject.reopen();
      const other = { ...operation, fingerprint: 'another request' };
      await expectRefusal(subject.store.transfer.import(spec, unread, other), 'IDEMPOTENCY_KEY_REUSED');
      expect((await subject.store.transfer.import(spec, unread, operation)).generation).toBe(
        copied.generation,
      );
      await expectRefusal(subject.store.transfer.import(spec, given(parts), keyed()), 'FILTER_EXISTS');
    });

    it('sent many times simultaneously under a name, through two stores: one call creates the filter', async () => {
      const stores = [subject.store, await subject.harness.open()];
      const file = await exportFile(subject.store, await filled(subject.store, {}));
      const { name } = filterSpec();
      const imports = Array.from({ length: 4 }, (_, i) => importFile(stores[i % 2]!, file, made(), name));
      const outcomes = await Promise.allSettled(imports);
      const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(done).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'FILTER_EXISTS' });
      }
      const found = await subject.store.open(name, 'filter', { fresh: true });
      expect(found.generation).toBe(done[0]?.generation);
    });

    it('sent twice simultaneously under one id: one filter', async () => {
      const { store } = subject;
      const file = await exportFile(store, await filled(store, {}));
      for (let round = 0; round < 5; round++) {
        const { name } = filterSpec();
        const operation = keyed();
        const outcomes = await Promise.allSettled([1, 2].map(() => importFile(store, file, operation, name)));
        const found = await store.open(name, 'filter', { fresh: true });
        for (const outcome of outcomes) {
          if (outcome.status === 'fulfilled') expect(outcome.value.generation).toBe(found.generation);
          // The other call may have taken over from this one.
          else expect(outcome.reason).toMatchObject({ code: 'FILTER_BUSY' });
        }
      }
    });
  });
}

async function* given(parts: readonly Part[], end?: Error): AsyncGenerator<Part, void, undefined> {
  yield* parts;
  if (end) throw end;
}

/** Parts with their queue entries sorted, because an export scans them in its own order. */
/** The queue's data, in an order that doesn't depend on segments. */
function entriesOf(parts: readonly Part[]): string[] {
  return parts
    .flatMap((part) => (part.type === 'queue' ? part.entries : []))
    .map(({ hash, attempt, payload }) =>
      [Buffer.from(hash).toString('hex'), attempt, Buffer.from(payload).toString()].join(' '),
    )
    .sort();
}

function othersOf(parts: readonly Part[]): Part[] {
  return parts.filter(({ type }) => type !== 'queue');
}
