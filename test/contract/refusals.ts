import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import type { Filter, FilterKind, Operation, Store, StoreErrorCode } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { add, check, count, filterSpec, items, keyed, made, makeFilter, remove, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const DAY_MS = 86_400_000;

/** The store's error code, or `TypeError` for a call that no caller may make. */
type Kind = StoreErrorCode | 'TypeError';

interface Refusal {
  readonly when: string;
  readonly kind: Kind;
  /** Makes the call. `filter` is a full filter for 10 items at 1e-6, and `operation` has been used in it. */
  readonly call: (store: Store, filter: Filter, operation: Operation) => Promise<unknown>;
  readonly text: (name: string, id: string) => string;
}

const old = (): Operation => ({ ...made(), id: 'old', repeat: true, madeAt: clock.now() - DAY_MS });

const REFUSALS: readonly Refusal[] = [
  ...(['open', 'drop', 'clear'] as const).map((verb): Refusal => ({
    when: `${verb} of a name that no filter has`,
    kind: 'FILTER_NOT_FOUND',
    call: (store) =>
      verb === 'open' ? store.open('nobody', 'filter') : store[verb]('nobody', 'filter', made()),
    text: () => 'filter "nobody" does not exist',
  })),
  {
    when: 'another filter under a name',
    kind: 'FILTER_EXISTS',
    call: (store, { name }) =>
      store.create(
        filterSpec({ name, capacity: 11, errorRate: 1e-6, maxAttempts: 3, urlProfile: { base: 'safe' } }),
        made(),
      ),
    text: (name) =>
      `filter "${name}" already exists with different parameters: capacity is 10, not 11; maxAttempts is unset, not 3; urlProfile is unset, not {"base":"safe"}. Choose another name, or GET it to see all its parameters`,
  },
  {
    when: 'a visited set under the name of a filter',
    kind: 'FILTER_EXISTS',
    call: (store, { name }) => store.create(filterSpec({ name, kind: 'visited-set' }), made()),
    text: (name) =>
      `filter "${name}" already exists, and a visited set cannot have the same name. Choose another name, or GET it to see all its parameters`,
  },
  {
    when: 'an import under a name that exists',
    kind: 'FILTER_EXISTS',
    call: async (store, filter) => importFile(store, await exportFile(store, filter), made(), filter.name),
    text: (name) =>
      `filter "${name}" already exists with type counting, semantics "set", capacity 10, errorRate 0.000001; an import does not overwrite it. Choose another name, or GET it to see all its parameters`,
  },
  {
    when: 'items beyond twice the capacity',
    kind: 'FILTER_FULL',
    call: (store, filter) => add(store, filter, ['a', 'b', 'item 1']),
    text: (name) =>
      `filter "${name}" holds 20 items, and 2 more would exceed twice its capacity of 10; none of them was added. Remove items, or sync it with a larger capacity`,
  },
  ...(['add', 'create', 'drop'] as const).map((verb): Refusal => ({
    when: `an id used for another ${verb}`,
    kind: 'IDEMPOTENCY_KEY_REUSED',
    call: async (store, filter, operation) => {
      const other = { ...operation, fingerprint: 'another request' };
      if (verb === 'add') return add(store, filter, ['a'], other);
      if (verb === 'create') return store.create(filter, other);
      await store.drop(filter.name, filter.kind, operation);
      return store.drop(filter.name, filter.kind, other);
    },
    text: (_, id) =>
      `Idempotency-Key ${id} was already used for another request; nothing was changed. Send a new key`,
  })),
  ...(['remove', 'drop'] as const).map((verb): Refusal => ({
    when: `a generated id whose record is gone: ${verb}`,
    kind: 'IDEMPOTENCY_KEY_EXPIRED',
    call: (store, filter) =>
      verb === 'remove' ? remove(store, filter, ['a'], old()) : store.drop(filter.name, filter.kind, old()),
    text: () =>
      "the record of Idempotency-Key old has expired, so the service can't tell whether the request ran; this attempt changed nothing. If you know that the request did not run, send it without the key",
  })),
  ...(['count', 'remove'] as const).map((verb): Refusal => ({
    when: `${verb} in a standard filter`,
    kind: 'TypeError',
    call: async (store, { name }) => {
      const standard = await makeFilter(store, { name: `${name}.standard`, type: 'standard' });
      await add(store, standard, ['a']);
      return verb === 'count' ? count(store, standard, ['a']) : remove(store, standard, ['a']);
    },
    text: (name) => `filter ${name}.standard is a standard filter: it has no counters`,
  })),
  {
    when: 'payloads for a filter without a queue',
    kind: 'TypeError',
    call: (store, filter) =>
      store.counters.add(filter, positionsOf(['a'], filter.seed, filter.geometry), made(), {
        payloads: ['a'],
      }),
    text: (name) => `filter ${name} has no queue for payloads`,
  },
  {
    when: 'more payloads than items',
    kind: 'TypeError',
    call: async (store, { name }) => {
      const set = await makeFilter(store, { name: `${name}.set`, kind: 'visited-set' });
      return store.counters.add(set, positionsOf(['a'], set.seed, set.geometry), made(), {
        payloads: ['a', 'b'],
      });
    },
    text: () => '2 payloads for 1 items',
  },
];

/** Callers don't know which store they use, so the messages must be the same. */
export function refusalsContract(subject: Subject): void {
  describe('refusals read the same on every store', () => {
    it.each(REFUSALS)('$kind: $when', async ({ kind, call, text }) => {
      const { store } = subject;
      const operation = keyed();
      const name = `f-${randomUUID()}`;
      const spec = filterSpec({ name, capacity: 10, errorRate: 1e-6 });
      const { filter } = await store.create(spec, operation);
      await add(store, filter, items(20), operation);
      const refused: unknown = await call(store, filter, operation).catch((error: unknown) => error);
      expect(refused).toMatchObject({
        message: text(name, operation.id),
        ...(kind === 'TypeError' ? { name: kind } : { name: 'StoreError', code: kind }),
      });
    });

    it('STORE_DATA_LOST', async () => {
      const filter = await makeFilter(subject.store, { segmentation: SEGMENTED });
      await add(subject.store, filter, items(100));
      subject.store = await subject.harness.damage(filter, 1, 'missing');
      const damaged = await subject.store.open(filter.name, filter.kind);
      for (const call of [
        () => check(subject.store, damaged, items(100)),
        () => add(subject.store, damaged, items(100)),
        () => subject.store.describe(damaged),
        () => exportFile(subject.store, damaged),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: 'STORE_DATA_LOST',
          message: `filter "${filter.name}" has lost data: part of it is missing, truncated or outdated. Restore the data, or clear or delete the filter`,
          isPublic: true,
        });
      }
    });

    it('SYNC_UNSUPPORTED', async () => {
      const filter = await makeFilter(subject.store, { semantics: 'multiset' });
      await expect(new SyncCalls(subject).open(filter)).rejects.toMatchObject({
        code: 'SYNC_UNSUPPORTED',
        message: `filter "${filter.name}" is a multiset and cannot be synced: a list does not say how many times each item was added. Remove items one by one, or clear the filter`,
      });
    });

    it.each([
      ['filter', 'filter'],
      ['visited-set', 'visited set'],
    ] as [FilterKind, string][])('a %s is called a %s in every message', async (kind, word) => {
      const { store } = subject;
      const calls = new SyncCalls(subject);
      const filter = await makeFilter(store, {
        kind,
        capacity: 10,
        errorRate: 1e-6,
        segmentation: SEGMENTED,
      });
      const called = `${word} "${filter.name}"`;
      const messageOf = (call: Promise<unknown>): Promise<string> =>
        call.then(
          () => 'no error',
          (error: unknown) => (error as Error).message,
        );
      await add(store, filter, items(20));
      expect(await messageOf(add(store, filter, ['a', 'b']))).toContain(`${called} holds 20 items`);
      expect(await messageOf(store.open(`${filter.name}.not`, kind))).toBe(
        `${word} "${filter.name}.not" does not exist`,
      );
      expect(await messageOf(calls.get(filter, { id: 'none' }))).toBe(
        `${called} has no sync none; GET the ${word} to see its sync`,
      );
      const { id } = await calls.open(filter);
      expect(await messageOf(calls.open(filter))).toBe(
        `sync ${id} of ${called} is open: commit or abandon it first`,
      );
      expect(await messageOf(calls.commit(filter, { id }, 0.5))).toBe(
        `sync ${id} would forget 20 of the 20 items of ${called}, more than the allowed 50 %; nothing was forgotten. If the list is complete, commit with force or a larger maxForgetShare`,
      );
      await calls.abandon(filter, { id });
      expect(await messageOf(calls.keep(filter, { id }, ['a']))).toBe(
        `sync ${id} of ${called} is abandoned because a caller abandoned it; nothing was changed. Open another sync`,
      );
      subject.store = await subject.harness.damage(filter, 1, 'missing');
      const damaged = await subject.store.open(filter.name, kind);
      expect(await messageOf(check(subject.store, damaged, items(20)))).toContain(`${called} has lost data`);
    });
  });
}
