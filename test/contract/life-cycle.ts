import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Filter, FilterKind, FilterSpec, Store } from '#store';
import { clock } from '../support/clock.js';
import {
  add,
  check,
  count,
  remove,
  expectRefusal,
  expectStale,
  filterSpec,
  items,
  made,
  makeFilter,
} from './calls.js';
import type { Subject } from './subject.js';

export function lifeCycleContract(subject: Subject): void {
  describe('unknown filter', () => {
    it('is FILTER_NOT_FOUND', async () => {
      const { store } = subject;
      await expectRefusal(store.open('nobody', 'filter'), 'FILTER_NOT_FOUND');
      await expectRefusal(store.open('nobody', 'filter', { fresh: true }), 'FILTER_NOT_FOUND');
      await expectRefusal(store.clear('nobody', 'filter', made()), 'FILTER_NOT_FOUND');
      await expectRefusal(store.drop('nobody', 'filter', made()), 'FILTER_NOT_FOUND');
    });

    it('includes a filter of the other kind', async () => {
      const { store } = subject;
      const { name } = await makeFilter(store);
      await expectRefusal(store.open(name, 'visited-set'), 'FILTER_NOT_FOUND');
      await expectRefusal(store.clear(name, 'visited-set', made()), 'FILTER_NOT_FOUND');
      await expectRefusal(store.drop(name, 'visited-set', made()), 'FILTER_NOT_FOUND');
      expect((await store.open(name, 'filter', { fresh: true })).name).toBe(name);
    });
  });

  describe('creation', () => {
    it('keeps all requested parameters, for every store on the data', async () => {
      const spec = filterSpec({ kind: 'visited-set', urlProfile: { profile: 'safe', version: 1 } });
      const before = clock.now();
      const { filter, created } = await subject.store.create(spec, made());
      const after = clock.now();
      expect(created).toBe(true);
      expect(filter.generation).toMatch(/^[0-9a-f]{16}$/);
      // Redis reads another clock, with a different precision.
      expect(filter.createdAt).toBeGreaterThan(before - 1_000);
      expect(filter.createdAt).toBeLessThan(after + 1_000);
      const other = await subject.harness.open();
      for (const found of [filter, await other.open(spec.name, spec.kind), await foundLater(subject, spec)]) {
        expect({ ...found, seed: [...found.seed] }).toMatchObject({ ...spec, seed: [...spec.seed] });
      }
    });

    it('answers with the existing filter if it is the same', async () => {
      const { store } = subject;
      const spec = filterSpec({ semantics: 'multiset' });
      const { filter } = await store.create(spec, made());
      const again = await store.create({ ...spec, seed: new Uint8Array(16) }, made());
      expect(again.created).toBe(false);
      expect(again.filter.generation).toBe(filter.generation);
      expect([...again.filter.seed]).toEqual([...spec.seed]);
    });

    const differences: Partial<FilterSpec>[] = [
      { kind: 'visited-set' },
      { type: 'standard' },
      { semantics: 'multiset' },
      { capacity: 1_001 },
      { errorRate: 2e-3 },
      { urlProfile: { profile: 'strict' } },
    ];
    it.each(differences)('refuses a different filter under a name that exists: %j', async (difference) => {
      const { store } = subject;
      const spec = filterSpec();
      await store.create(spec, made());
      await expectRefusal(store.create({ ...spec, ...difference }, made()), 'FILTER_EXISTS');
    });

    it('creates one filter for many simultaneous calls', async () => {
      const other = await subject.harness.open();
      const spec = filterSpec();
      const creations = [subject.store, other, subject.store, other].map((store) =>
        store.create(spec, made()),
      );
      const answers = await Promise.all(creations);
      expect(answers.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(answers.map(({ filter }) => filter.generation)).size).toBe(1);
    });
  });

  describe('list', () => {
    it('pages through the filters of a kind, sorted by name', async () => {
      const { store } = subject;
      const prefix = `list-${randomUUID()}.`;
      const names = ['b', 'a', 'a-1', 'a.1', 'a_1', 'a1', 'z9'].map((name) => prefix + name);
      for (const name of names) await makeFilter(store, { name });
      await makeFilter(store, { name: `${prefix}other`, kind: 'visited-set' });
      const found = await pages(store, 'filter', prefix, 2);
      expect(found).toEqual([...names].sort());
      expect(await pages(store, 'visited-set', prefix, 2)).toEqual([`${prefix}other`]);
    });

    it('pages through the names with a prefix as if no others existed', async () => {
      const { store } = subject;
      const run = `list-${randomUUID()}`;
      const own = ['', '-', '.a', '0', 'a', 'z', 'zz'].map((name) => `${run}.b-${name}`);
      for (const name of own) await makeFilter(store, { name });
      for (const name of [`${run}.a`, `${run}.b`, `${run}.b.x`, `${run}.b0`, `${run}.c`]) {
        await makeFilter(store, { name });
      }
      const prefix = `${run}.b-`;
      for (const limit of [1, 2, 3, 7, 100]) {
        const names: string[] = [];
        let after: string | undefined;
        for (let pages = 0; pages < 10; pages++) {
          const page = await store.list('filter', limit, after, prefix);
          names.push(...page.filters.map(({ name }) => name));
          after = page.next;
          if (after === undefined) break;
          expect(page.filters).toHaveLength(limit);
        }
        expect(names).toEqual([...own].sort());
      }
      // A cursor outside the prefix stands for the start or the end of the prefix.
      const names = async (after: string): Promise<string[]> =>
        (await store.list('filter', 100, after, prefix)).filters.map(({ name }) => name);
      expect(await names(`${run}.a`)).toEqual([...own].sort());
      expect(await names(`${run}.c`)).toEqual([]);
      expect(await store.list('filter', 7, undefined, prefix)).not.toHaveProperty('next');
    });

    it('ends with a page without a next cursor', async () => {
      expect(await subject.store.list('filter', 10, '\uffff')).toEqual({ filters: [] });
    });
  });

  describe('clear', () => {
    it('makes a new, empty generation with the same parameters and a new seed', async () => {
      const { store } = subject;
      const before = await makeFilter(store);
      await add(store, before, items(100));
      const after = await store.clear(before.name, 'filter', made());
      expect(after).toMatchObject({
        name: before.name,
        capacity: before.capacity,
        geometry: before.geometry,
      });
      expect(after.generation).not.toBe(before.generation);
      expect([...after.seed]).not.toEqual([...before.seed]);
      expect(await check(store, after, items(100))).toEqual(items(100).map(() => 0));
      expect(await store.describe(after)).toMatchObject({ items: 0, nonZeroCells: 0, added: 0 });
    });

    it('makes handles on the old generation stale, in every store', async () => {
      const filter = await makeFilter(subject.store);
      const other = await subject.harness.open();
      const old = await other.open(filter.name, 'filter');
      await subject.store.clear(filter.name, 'filter', made());
      await expectStale(check(other, old, ['a']));
      await expectStale(add(other, old, ['a']));
      await expectStale(other.describe(old));
      const fresh = await other.open(filter.name, 'filter', { fresh: true });
      expect(await add(other, fresh, ['a'])).toEqual([1]);
    });
  });

  describe('drop', () => {
    it('removes the filter, in every store', async () => {
      const filter = await makeFilter(subject.store);
      const other = await subject.harness.open();
      const old = await other.open(filter.name, 'filter');
      await subject.store.drop(filter.name, 'filter', made());
      await expectRefusal(other.open(filter.name, 'filter', { fresh: true }), 'FILTER_NOT_FOUND');
      await expectRefusal(check(other, old, ['a']), 'FILTER_NOT_FOUND');
      await expectRefusal(add(other, old, ['a']), 'FILTER_NOT_FOUND');
      await expectRefusal(other.drop(filter.name, 'filter', made()), 'FILTER_NOT_FOUND');
    });

    it.each(['filter', 'visited-set'] as const)('also fails empty batches: %s', async (kind) => {
      const { store } = subject;
      const old = await makeFilter(store, { kind });
      await store.drop(old.name, kind, made());
      const calls = [
        () => check(store, old, []),
        () => count(store, old, []),
        () => add(store, old, []),
        () => remove(store, old, []),
        ...(kind === 'filter'
          ? []
          : [() => store.queue.ack(old, [], made()), () => store.queue.release(old, ['?'], made())]),
      ];
      for (const call of calls) await expectRefusal(call(), 'FILTER_NOT_FOUND');
    });

    it('makes old handles stale once another filter has the name', async () => {
      const { store } = subject;
      const old = await makeFilter(store);
      await store.drop(old.name, 'filter', made());
      await makeFilter(store, { name: old.name });
      await expectStale(check(store, old, ['a']));
    });
  });

  describe('closed store', () => {
    it('refuses all calls, and may be closed again', async () => {
      const { store } = subject;
      const filter = await makeFilter(store);
      await store.close();
      await store.close();
      await expectRefusal(check(store, filter, ['a']), 'STORE_UNAVAILABLE');
      await expectRefusal(add(store, filter, ['a']), 'STORE_UNAVAILABLE');
      await expectRefusal(store.create(filterSpec(), made()), 'STORE_UNAVAILABLE');
      await expectRefusal(store.list('filter', 1), 'STORE_UNAVAILABLE');
      expect((await store.readiness()).ready).toBe(false);
      await subject.reopen();
      expect(await check(subject.store, await subject.store.open(filter.name, 'filter'), ['a'])).toEqual([0]);
      expect((await subject.store.readiness()).ready).toBe(true);
    });
  });
}

/** The filter as another store finds it, which is opened later. */
async function foundLater(subject: Subject, spec: FilterSpec): Promise<Filter> {
  await subject.reopen();
  return subject.store.open(spec.name, spec.kind);
}

/** The names with a prefix, read page by page. */
async function pages(store: Store, kind: FilterKind, prefix: string, limit: number): Promise<string[]> {
  const names: string[] = [];
  for (let after: string | undefined = prefix; after?.startsWith(prefix);) {
    const { filters, next } = await store.list(kind, limit, after);
    expect(filters.length).toBeLessThanOrEqual(limit);
    names.push(...filters.map(({ name }) => name).filter((name) => name.startsWith(prefix)));
    after = next;
  }
  return names;
}
