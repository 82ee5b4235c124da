import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { filterBytes } from '#bloom';
import { StoreError, type FilterSpec, type Operation, type Part, type Quota, type Store } from '#store';
import {
  add,
  expectRefusal,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  type FilterOptions,
} from './calls.js';
import type { Subject } from './subject.js';

const BYTES = filterBytes(filterSpec().geometry);

export function quotaContract(subject: Subject): void {
  const tenant = (): string => `t${randomUUID()}-`;
  const named = (prefix: string, name: string, options: FilterOptions = {}): FilterSpec =>
    filterSpec({ ...options, name: prefix + name });
  const usage = async (prefix: string) => (await subject.store.usage([prefix]))[0];

  describe('usage', () => {
    it('covers all of a prefix’s filters and visited sets, whichever store made them, and no others', async () => {
      const { store } = subject;
      const prefix = tenant();
      expect(await store.usage([])).toEqual([]);
      expect(await usage(prefix)).toEqual({ filters: 0, bytes: 0 });
      const large = named(prefix, 'b.large', { kind: 'visited-set', capacity: 50_000 });
      const specs = [named(prefix, 'a'), named(prefix, 'b.c-d_e'), large];
      for (const spec of specs) await store.create(spec, made());
      await makeFilter(store, { name: `${prefix.slice(0, -1)}.a` });
      await makeFilter(store, { name: prefix.slice(0, -1) });
      const [, second, third] = specs.map(({ geometry }) => filterBytes(geometry));
      const expected = [
        { filters: 3, bytes: BYTES + second! + third! },
        { filters: 2, bytes: second! + third! },
        { filters: 1, bytes: second! },
        { filters: 0, bytes: 0 },
      ];
      const prefixes = ['', 'b.', 'b.c-', 'c-'].map((more) => prefix + more);
      expect(await store.usage(prefixes)).toEqual(expected);
      expect(await (await subject.harness.open()).usage(prefixes)).toEqual(expected);
      await subject.reopen();
      expect(await subject.store.usage(prefixes)).toEqual(expected);
    });

    it('stays the same after a clear, and falls after a drop', async () => {
      const { store } = subject;
      const prefix = tenant();
      const [first, second] = [named(prefix, 'a'), named(prefix, 'b')];
      await store.create(first, made());
      await store.create(second, made());
      await store.clear(first.name, 'filter', made());
      expect(await usage(prefix)).toEqual({ filters: 2, bytes: 2 * BYTES });
      await store.drop(first.name, 'filter', made());
      expect(await usage(prefix)).toEqual({ filters: 1, bytes: BYTES });
      await store.drop(second.name, 'filter', made());
      expect(await usage(prefix)).toEqual({ filters: 0, bytes: 0 });
    });
  });

  describe('quota', () => {
    it.each(['filter', 'visited-set'] as const)(
      'of filters limits the number of both kinds: %s',
      async (kind) => {
        const { store } = subject;
        const prefix = tenant();
        const quota = { prefix, maxFilters: 2 };
        await store.create(named(prefix, 'of another'), made());
        await store.create(named(prefix, 'a', { kind }), made(), quota);
        await expect(store.create(named(prefix, 'b', { kind }), made(), quota)).rejects.toMatchObject({
          code: 'QUOTA_EXCEEDED',
          message: `prefix "${prefix}" has 2 of the 2 filters and visited sets that its quota allows; nothing was created. Delete filters under this prefix, or use a key with a larger quota`,
        });
        await expectRefusal(store.open(`${prefix}b`, kind, { fresh: true }), 'FILTER_NOT_FOUND');
        await store.drop(`${prefix}a`, kind, made());
        expect((await store.create(named(prefix, 'b', { kind }), made(), quota)).created).toBe(true);
      },
    );

    it('of bytes limits their size', async () => {
      const { store } = subject;
      const prefix = tenant();
      const quota = { prefix, maxBytes: 2 * BYTES };
      await store.create(named(prefix, 'a'), made(), quota);
      const large = named(prefix, 'large', { capacity: 3_000 });
      const more = filterBytes(large.geometry);
      await expect(store.create(large, made(), quota)).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        message: `this needs ${more} more bytes; prefix "${prefix}" uses ${BYTES} of the ${2 * BYTES} bytes that its quota allows; nothing was changed. Delete filters under this prefix, or use a key with a larger quota`,
      });
      expect((await store.create(named(prefix, 'b'), made(), quota)).created).toBe(true);
      await expectRefusal(store.create(named(prefix, 'c'), made(), quota), 'QUOTA_EXCEEDED');
    });

    it('allows calls that need no room: existing filters, clearing them, and repeated operations', async () => {
      const { store } = subject;
      const prefix = tenant();
      const quota = { prefix, maxFilters: 1, maxBytes: BYTES };
      const spec = named(prefix, 'a');
      const operation = keyed();
      const { filter } = await store.create(spec, operation, quota);
      expect((await store.create(spec, made(), quota)).created).toBe(false);
      expect((await store.clear(spec.name, spec.kind, made())).generation).not.toBe(filter.generation);
      await store.drop(spec.name, spec.kind, made());
      await store.create(named(prefix, 'b'), made(), quota);
      const again = await store.create(spec, { ...operation }, quota);
      expect([again.created, again.filter.generation]).toEqual([true, filter.generation]);
      await expectRefusal(store.create(spec, made(), quota), 'QUOTA_EXCEEDED');
      await expectRefusal(
        store.create({ ...spec, capacity: 7, name: `${prefix}b` }, made(), quota),
        'FILTER_EXISTS',
      );
    });

    it('applies to imports, which are then not read', async () => {
      const { store } = subject;
      const prefix = tenant();
      const source = await makeFilter(store);
      await add(store, source, items(100));
      const parts: Part[] = [];
      for await (const part of store.transfer.export(source)) parts.push(part);
      const run = (name: string, quota: Quota, operation: Operation = made(), of = given(parts)) =>
        store.transfer.import({ ...filterSpec(), ...source, name: prefix + name }, of, operation, quota);
      const operation = keyed();
      const quota = { prefix, maxFilters: 1 };
      const first = await run('a', quota, operation);
      for (const refusing of [quota, { prefix, maxBytes: 2 * BYTES - 1 }]) {
        await expectRefusal(run('b', refusing, made(), unread()), 'QUOTA_EXCEEDED');
      }
      expect((await run('a', quota, { ...operation }, unread())).generation).toBe(first.generation);
      await expectRefusal(run('a', quota, made(), unread()), 'FILTER_EXISTS');
      await run('b', { prefix, maxBytes: 2 * BYTES });
      expect(await usage(prefix)).toEqual({ filters: 2, bytes: 2 * BYTES });
    });

    it('counts an import from its start, and no longer once it has failed', async () => {
      const { store } = subject;
      const prefix = tenant();
      const quota = { prefix, maxFilters: 1 };
      const seen: unknown[] = [];
      const failing = async function* (): AsyncGenerator<Part, void, undefined> {
        seen.push(await usage(prefix));
        await expectRefusal(store.create(named(prefix, 'b'), made(), quota), 'QUOTA_EXCEEDED');
        throw new StoreError('STORE_FULL', 'of the test');
        yield* given([]);
      };
      await expectRefusal(store.transfer.import(named(prefix, 'a'), failing(), made(), quota), 'STORE_FULL');
      expect(seen).toEqual([{ filters: 1, bytes: BYTES }]);
      expect(await usage(prefix)).toEqual({ filters: 0, bytes: 0 });
      expect((await store.create(named(prefix, 'b'), made(), quota)).created).toBe(true);
    });

    it.each([
      ['filters', { maxFilters: 3 }],
      ['bytes', { maxBytes: 3 * BYTES + 1 }],
    ])('of %s holds for many simultaneous creations through several stores', async (_, limit) => {
      const prefix = tenant();
      const stores = [subject.store, await subject.harness.open(), await subject.harness.open()];
      const creations = Array.from({ length: 24 }, (_, i) =>
        created(stores[i % stores.length]!, named(prefix, String(i)), { prefix, ...limit }),
      );
      const outcomes = await Promise.all(creations);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(3);
      expect(outcomes.filter((outcome) => outcome === 'QUOTA_EXCEEDED')).toHaveLength(21);
      expect(await usage(prefix)).toEqual({ filters: 3, bytes: 3 * BYTES });
    });

    it('of one filter lets many simultaneous creations with one name succeed', async () => {
      const prefix = tenant();
      const stores = [subject.store, await subject.harness.open()];
      const [spec, operation] = [named(prefix, 'a'), keyed()];
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          stores[i % 2]!.create(spec, { ...operation }, { prefix, maxFilters: 1, maxBytes: BYTES }),
        ),
      );
      expect(new Set(answers.map(({ filter }) => filter.generation)).size).toBe(1);
      expect(await usage(prefix)).toEqual({ filters: 1, bytes: BYTES });
    });
  });
}

async function created(store: Store, spec: FilterSpec, quota: Quota): Promise<string> {
  try {
    return (await store.create(spec, made(), quota)).created ? 'created' : 'there';
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
}

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

async function* unread(): AsyncGenerator<Part, void, undefined> {
  yield* given([]);
  throw new Error('the parts were read');
}
