import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Credential, Store } from '#store';
import { makeFilter } from './calls.js';
import type { Subject } from './subject.js';

const credential = (value = 'anything: "{}"\n\u00e9'): Credential => ({ id: randomUUID(), value });

async function found(store: Store, { id }: Credential): Promise<Credential | undefined> {
  return (await store.credentials.list()).find((one) => one.id === id);
}

export function credentialsContract(subject: Subject): void {
  describe('credentials', () => {
    it('are stored unchanged, for every store on the data and after a restart', async () => {
      const kept = credential();
      await subject.store.credentials.put(kept);
      expect(await found(subject.store, kept)).toEqual(kept);
      expect(await found(await subject.harness.open(), kept)).toEqual(kept);
      await subject.reopen();
      expect(await found(subject.store, kept)).toEqual(kept);
    });

    it('are listed by id', async () => {
      const { credentials } = subject.store;
      for (const _ of Array(5)) await credentials.put(credential());
      const ids = (await credentials.list()).map(({ id }) => id);
      expect(ids.length).toBeGreaterThanOrEqual(5);
      expect(ids).toEqual([...ids].sort());
    });

    it('replace one with the same id', async () => {
      const first = credential();
      const second = { ...first, value: 'another' };
      await subject.store.credentials.put(first);
      await subject.store.credentials.put(second);
      expect(await found(subject.store, first)).toEqual(second);
    });

    it('replace an existing one, and don’t restore a deleted one', async () => {
      const { credentials } = subject.store;
      const first = credential();
      expect(await credentials.replace(first)).toBe(false);
      expect(await found(subject.store, first)).toBeUndefined();
      await credentials.put(first);
      const second = { ...first, value: 'another' };
      expect(await credentials.replace(second)).toBe(true);
      await subject.reopen();
      expect(await found(subject.store, first)).toEqual(second);
      await subject.store.credentials.delete(first.id);
      expect(await subject.store.credentials.replace(second)).toBe(false);
      expect(await found(subject.store, first)).toBeUndefined();
    });

    it('are gone once deleted, for every store and after a restart, and the others remain', async () => {
      const [gone, stays] = [credential(), credential()];
      await subject.store.credentials.put(gone);
      await subject.store.credentials.put(stays);
      expect(await subject.store.credentials.delete(gone.id)).toBe(true);
      expect(await subject.store.credentials.delete(gone.id)).toBe(false);
      expect(await found(subject.store, gone)).toBeUndefined();
      expect(await found(await subject.harness.open(), gone)).toBeUndefined();
      await subject.reopen();
      expect(await found(subject.store, gone)).toBeUndefined();
      expect(await found(subject.store, stays)).toEqual(stays);
    });

    it('aren’t listed as filters', async () => {
      const { name } = await makeFilter(subject.store);
      await subject.store.credentials.put({ id: name, value: 'x' });
      await subject.store.credentials.delete(name);
      expect((await subject.store.open(name, 'filter', { fresh: true })).name).toBe(name);
    });
  });
}
