import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { made, makeFilter } from './calls.js';
import type { Subject } from './subject.js';

export function listsContract(subject: Subject): void {
  describe('list, after creations and drops', () => {
    it('has full pages except for the last', async () => {
      const { store } = subject;
      const prefix = `list-${randomUUID()}.`;
      for (const name of ['a', 'b', 'c', 'd']) await makeFilter(store, { name: prefix + name });
      await store.clear(`${prefix}a`, 'filter', made());
      await store.drop(`${prefix}b`, 'filter', made());
      const page = async (limit: number, after?: string) => {
        const { filters, next } = await store.list('filter', limit, after, prefix);
        return {
          names: filters.map(({ name }) => name.slice(prefix.length)),
          next: next?.slice(prefix.length),
        };
      };
      expect(await page(2)).toEqual({ names: ['a', 'c'], next: 'c' });
      expect(await page(2, `${prefix}c`)).toEqual({ names: ['d'], next: undefined });
      expect(await page(3)).toEqual({ names: ['a', 'c', 'd'], next: undefined });
    });
  });
}
