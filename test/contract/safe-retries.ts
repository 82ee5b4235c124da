import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Settled, type Filter, type Operation, type Store } from '#store';
import { clock } from '../support/clock.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
} from './calls.js';
import type { Subject } from './subject.js';

/** A mutation of a visited set. `prepare` returns the input that all calls with one operation id share. */
interface Mutation {
  readonly name: string;
  prepare?(store: Store, filter: Filter): Promise<string[]>;
  run(store: Store, filter: Filter, operation: Operation, ids: string[]): Promise<unknown>;
}

const leaseSome = async (store: Store, filter: Filter) =>
  (await store.queue.lease(filter, 50, 60_000, made())).map(({ id }) => id);

/** Half of these items are in the filter. */
const HALF_KNOWN = [...items(100), ...items(100, 'unknown')];

const MUTATIONS: readonly Mutation[] = [
  { name: 'add', run: (store, filter, operation) => add(store, filter, HALF_KNOWN, operation) },
  {
    name: 'add with payloads',
    run: (store, filter, operation) => discover(store, filter, HALF_KNOWN, operation),
  },
  {
    name: 'add of a large batch with payloads',
    run: (store, filter, operation) => discover(store, filter, items(1_500), operation),
  },
  { name: 'remove', run: (store, filter, operation) => remove(store, filter, HALF_KNOWN, operation) },
  {
    name: 'lease',
    run: (store, filter, operation) => store.queue.lease(filter, 20, 60_000, operation),
  },
  {
    name: 'ack',
    prepare: leaseSome,
    run: async (store, filter, operation, ids) => [...(await store.queue.ack(filter, ids, operation))],
  },
  {
    name: 'release',
    prepare: leaseSome,
    run: async (store, filter, operation, ids) => [...(await store.queue.release(filter, ids, operation))],
  },
  {
    name: 'release that counts no attempt',
    prepare: leaseSome,
    run: async (store, filter, operation, ids) => [
      ...(await store.queue.release(filter, ids, operation, { countAttempt: false })),
    ],
  },
  {
    name: 'clear',
    run: async (store, filter, operation) =>
      (await store.clear(filter.name, 'visited-set', operation)).generation,
  },
];

export function safeRetriesContract(subject: Subject): void {
  const visitedSet = async () => {
    const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
    expect(filter.geometry.segments).toBeGreaterThan(1);
    await discover(subject.store, filter, items(200));
    return filter;
  };

  describe('G5 safe retries', () => {
    describe.each(MUTATIONS)('$name', ({ run, prepare }) => {
      it.each(['a caller’s', 'a made'])(
        'repeated with %s id: the same result, and no change',
        async (whose) => {
          const filter = await visitedSet();
          const ids = (await prepare?.(subject.store, filter)) ?? [];
          const first = whose === 'a made' ? made() : keyed();
          const repeat = { ...first, repeat: true };
          const answer = await run(subject.store, filter, first, ids);
          const before = await snapshot(subject, filter.name);
          expect(await run(subject.store, filter, repeat, ids)).toEqual(answer);
          expect(await snapshot(subject, filter.name)).toEqual(before);

          await subject.reopen();
          const reopened = await subject.store.open(filter.name, filter.kind);
          expect(await run(subject.store, reopened, repeat, ids)).toEqual(answer);
          expect(await snapshot(subject, filter.name)).toEqual(before);
        },
      );

      it('with a different fingerprint: IDEMPOTENCY_KEY_REUSED, and no change', async () => {
        const filter = await visitedSet();
        const ids = (await prepare?.(subject.store, filter)) ?? [];
        const operation = keyed();
        await run(subject.store, filter, operation, ids);
        const before = await snapshot(subject, filter.name);
        const current = await subject.store.open(filter.name, filter.kind);
        const other = { ...operation, fingerprint: 'another request' };
        await expectRefusal(run(subject.store, current, other, ids), 'IDEMPOTENCY_KEY_REUSED');
        expect(await snapshot(subject, filter.name)).toEqual(before);
      });
    });

    it('a different body with a used key changes nothing, even in segments that the first did not touch', async () => {
      const filter = await visitedSet();
      const operation = keyed();
      await add(subject.store, filter, ['one item'], operation);
      const before = await snapshot(subject, filter.name);
      const other = { ...operation, fingerprint: 'another request' };
      await expectRefusal(add(subject.store, filter, items(200, 'other'), other), 'IDEMPOTENCY_KEY_REUSED');
      expect(await snapshot(subject, filter.name)).toEqual(before);
    });

    it.each(['ack', 'release'] as const)(
      'a different body with the key of an %s changes nothing',
      async (verb) => {
        const { store } = subject;
        const filter = await visitedSet();
        const ids = (await store.queue.lease(filter, 200, 60_000, made())).map(({ id }) => id);
        const operation = keyed();
        // The last id is in a different segment from the first, if the store has several.
        const [first, last] = [ids.slice(0, 1), ids.slice(-1)];
        expect([...(await store.queue[verb](filter, first, operation))]).toEqual([Settled.Done]);
        const before = await snapshot(subject, filter.name);
        const other = { ...operation, fingerprint: 'another request' };
        await expectRefusal(store.queue[verb](filter, last, other), 'IDEMPOTENCY_KEY_REUSED');
        expect(await snapshot(subject, filter.name)).toEqual(before);
      },
    );

    it.each([':0', ':1', ' #0', '\\0', ':', '#'])(
      'an id and the same id followed by %j are different',
      async (suffix) => {
        const { store } = subject;
        const id = `add:${randomUUID()}`;
        for (const ids of [
          [id, id + suffix],
          [id + suffix, id],
        ]) {
          const filter = await visitedSet();
          for (const [i, one] of ids.entries()) {
            const keys = items(200, `with ${i}`);
            expect(await discover(store, filter, keys, keyed(one))).toEqual(keys.map(() => 1));
            expect(await remove(store, filter, keys, keyed(one))).toEqual(keys.map(() => 1));
          }
        }
      },
    );

    it('ids are separate for each verb: an add and a removal may share one', async () => {
      const filter = await makeFilter(subject.store);
      const operation = keyed();
      expect(await add(subject.store, filter, ['a'], operation)).toEqual([1]);
      expect(await remove(subject.store, filter, ['a'], operation)).toEqual([1]);
      expect(await add(subject.store, filter, ['a'], operation)).toEqual([1]);
      expect(await check(subject.store, filter, ['a'])).toEqual([0]);
    });

    it('simultaneous repeats: one change, and the same result for all', async () => {
      const filter = await makeFilter(subject.store, { semantics: 'multiset', segmentation: SEGMENTED });
      const other = await subject.harness.open();
      const theirs = await other.open(filter.name, 'filter');
      const operation = keyed();
      const calls = Array.from({ length: 6 }, (_, i) =>
        i % 2 ? add(subject.store, filter, items(300), operation) : add(other, theirs, items(300), operation),
      );
      for (const answers of await Promise.all(calls)) expect(answers).toEqual(items(300).map(() => 1));
      expect(await subject.store.describe(filter)).toMatchObject({ added: 300, duplicate: 0 });
    });

    it('creation, repeated: "created" again and one filter; refused for another request', async () => {
      const { store } = subject;
      const spec = filterSpec();
      const operation = keyed();
      const first = await store.create(spec, operation);
      const again = await store.create({ ...spec, seed: new Uint8Array(16) }, operation);
      expect([first.created, again.created]).toEqual([true, true]);
      expect(again.filter.generation).toBe(first.filter.generation);
      const other = { ...operation, fingerprint: 'another request' };
      await expectRefusal(store.create(spec, other), 'IDEMPOTENCY_KEY_REUSED');
    });

    it('clear, sent twice at the same time: one clear, and items added since stay', async () => {
      const { store } = subject;
      const other = await subject.harness.open();
      for (let round = 0; round < 10; round++) {
        const filter = await makeFilter(store, { segmentation: SEGMENTED });
        const operation = keyed();
        const clear = async (on: Store) => {
          const cleared = await on.clear(filter.name, 'filter', operation);
          expect(await add(on, cleared, ['kept'])).toHaveLength(1);
          return cleared.generation;
        };
        const generations = await Promise.all([clear(store), clear(other), clear(store)]);
        expect(new Set(generations).size).toBe(1);
        const current = await store.open(filter.name, 'filter', { fresh: true });
        expect(await check(store, current, ['kept'])).toEqual([1]);
      }
    });

    it('creation, sent twice at the same time: both answers are "created"', async () => {
      const { store } = subject;
      const other = await subject.harness.open();
      for (let round = 0; round < 10; round++) {
        const spec = filterSpec({ segmentation: SEGMENTED });
        const operation = keyed();
        const answers = await Promise.all([store, other, store].map((on) => on.create(spec, operation)));
        expect(answers.map(({ created }) => created)).toEqual([true, true, true]);
        expect(new Set(answers.map(({ filter }) => filter.generation)).size).toBe(1);
      }
    });

    it('drop, repeated: done, and a filter made since is untouched', async () => {
      const { store } = subject;
      const filter = await makeFilter(store);
      const operation = keyed();
      await store.drop(filter.name, 'filter', operation);
      await store.drop(filter.name, 'filter', operation);
      const next = await makeFilter(store, { name: filter.name });
      await store.drop(filter.name, 'filter', operation);
      expect((await store.open(filter.name, 'filter', { fresh: true })).generation).toBe(next.generation);
      const other = { ...operation, fingerprint: 'another request' };
      await expectRefusal(store.drop(filter.name, 'filter', other), 'IDEMPOTENCY_KEY_REUSED');
    });

    it('a generated id older than its record is IDEMPOTENCY_KEY_EXPIRED, and changes nothing', async () => {
      const filter = await makeFilter(subject.store);
      const old = { ...made(), id: randomUUID(), repeat: true, madeAt: clock.now() - 3_600_000 };
      await expectRefusal(add(subject.store, filter, ['a'], old), 'IDEMPOTENCY_KEY_EXPIRED');
      expect(await check(subject.store, filter, ['a'])).toEqual([0]);
    });

    it('a generated id from before a clear is IDEMPOTENCY_KEY_EXPIRED, because its record went with the cells', async () => {
      const { store } = subject;
      const filter = await makeFilter(store);
      const operation = made();
      await add(store, filter, ['a'], operation);
      clock.advance(10);
      const cleared = await store.clear(filter.name, 'filter', made());
      const repeat = { ...operation, repeat: true };
      await expectRefusal(add(store, cleared, ['a'], repeat), 'IDEMPOTENCY_KEY_EXPIRED');
      expect(await check(store, cleared, ['a'])).toEqual([0]);
    });
  });
}

/** Everything that a mutation can change: cells, counts and queue. */
async function snapshot(subject: Subject, name: string): Promise<unknown> {
  const filter = await subject.store.open(name, 'visited-set', { fresh: true });
  // The two values that depend on time.
  const { recordWindowSeconds: _, queue, ...stats } = await subject.store.describe(filter);
  const { oldestSeconds: __, ...entries } = queue!;
  const segments = Array.from({ length: filter.geometry.segments }, (_, segment) =>
    subject.harness.segmentBytes(filter, segment),
  );
  const cells = (await Promise.all(segments)).map((bytes) => Buffer.from(bytes).toString('base64'));
  return { generation: filter.generation, stats, entries, cells };
}
