import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { filterBytes } from '#bloom';
import type { Filter } from '#store';
import { add, check, expectRefusal, filterSpec, keyed, made, makeFilter } from './calls.js';
import type { Subject } from './subject.js';

const BYTES = filterBytes(filterSpec().geometry);

export function namesContract(subject: Subject): void {
  const unique = (): string => `t${randomUUID()}`;

  describe('names', () => {
    it('that differ only in case belong to different filters', async () => {
      const { store } = subject;
      const start = unique();
      const names = ['crawl:news', 'Crawl:news', 'CRAWL:NEWS'].map((name) => start + name);
      const filters: Filter[] = [];
      for (const name of names) filters.push(await makeFilter(store, { name }));
      const [lower, mixed, upper] = filters as [Filter, Filter, Filter];
      expect(new Set(filters.map(({ generation }) => generation)).size).toBe(3);
      await add(store, lower, ['lower']);
      await add(store, upper, ['upper']);
      expect(await check(store, mixed, ['lower', 'upper'])).toEqual([0, 0]);
      await store.drop(mixed.name, 'filter', made());
      await subject.reopen();
      const { store: again } = subject;
      await expectRefusal(again.open(mixed.name, 'filter'), 'FILTER_NOT_FOUND');
      expect(await check(again, await again.open(lower.name, 'filter'), ['lower', 'upper'])).toEqual([1, 0]);
      expect(await check(again, await again.open(upper.name, 'filter'), ['lower', 'upper'])).toEqual([0, 1]);
      const listed = await again.list('filter', 10, undefined, start);
      expect(listed.filters.map(({ name }) => name)).toEqual([upper.name, lower.name]);
    });

    it('are listed in character order, page by page', async () => {
      const { store } = subject;
      const start = unique();
      const ends = ['-', '.', '0', ':', ':a', 'A', 'Z:', '_', 'a', 'z'];
      for (const end of ends.toReversed()) await makeFilter(store, { name: start + end });
      const listed: string[] = [];
      for (let after: string | undefined; ;) {
        const { filters, next } = await store.list('filter', 3, after, start);
        listed.push(...filters.map(({ name }) => name.slice(start.length)));
        if (next === undefined) break;
        after = next;
      }
      expect(listed).toEqual(ends);
      const { filters } = await store.list('filter', 10, undefined, `${start}:`);
      expect(filters.map(({ name }) => name.slice(start.length))).toEqual([':', ':a']);
    });

    it('count toward each prefix that ends with ".", "_", ":" or "-", in its own case', async () => {
      const { store } = subject;
      const tenant = unique();
      const names = ['team:a.b', 'team:a_c', 'Team:a-d', 'team'];
      for (const name of names) await makeFilter(store, { name: `${tenant}:${name}` });
      const usages = async () => {
        const prefixes = ['', 'team:', 'Team:', 'team:a.', 'team:a_', 'Team:a-', 'TEAM:'];
        return (await subject.store.usage(prefixes.map((more) => `${tenant}:${more}`))).map(
          ({ filters, bytes }) => [filters, bytes / BYTES],
        );
      };
      const counts = [4, 2, 1, 1, 1, 1, 0].map((filters) => [filters, filters]);
      expect(await usages()).toEqual(counts);
      await subject.reopen();
      expect(await usages()).toEqual(counts);
      const quota = { prefix: `${tenant}:team:`, maxFilters: 2 };
      const spec = (name: string) => filterSpec({ name: `${tenant}:${name}` });
      await expectRefusal(subject.store.create(spec('team:b'), made(), quota), 'QUOTA_EXCEEDED');
      await subject.store.create(spec('Team:b'), made());
      await subject.store.drop(`${tenant}:team:a.b`, 'filter', made());
      expect((await subject.store.create(spec('team:b'), made(), quota)).created).toBe(true);
    });

    it('and operation keys with ":" never make two operations one', async () => {
      const { store } = subject;
      const [start, end] = [unique(), randomUUID()];
      const pairs = [
        [`${start}:a`, `b:${end}`],
        [`${start}:a:b`, end],
        [start, `a:b:${end}`],
      ] as const;
      for (const [name, key] of pairs) {
        const operation = { ...keyed(key), fingerprint: `creates ${name}` };
        expect((await store.create(filterSpec({ name }), operation)).created).toBe(true);
        expect((await store.create(filterSpec({ name }), operation)).created).toBe(true);
      }
      for (const [name, key] of pairs) {
        const operation = { ...keyed(key), fingerprint: `drops ${name}` };
        await store.drop(name, 'filter', operation);
        await expectRefusal(store.open(name, 'filter', { fresh: true }), 'FILTER_NOT_FOUND');
      }
    });
  });
}
