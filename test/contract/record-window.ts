import { describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import {
  add,
  deadline,
  discover,
  expectRefusal,
  filterSpec,
  FULL_WINDOW_SECONDS as FULL,
  items,
  keyed,
  made,
  makeFilter,
  remove,
} from './calls.js';
import type { Subject } from './subject.js';

/** The limit per filter and kind of key: two windows of about twenty records each. */
const FEW_BYTES = 8_192;
/** More records than two windows hold. */
const MANY = 200;

export function recordWindowContract(subject: Subject): void {
  const windowOf = async (filter: Filter) => (await subject.store.describe(filter)).recordWindowSeconds;

  describe('the window of operation records', () => {
    it.each([{ type: 'counting' }, { type: 'standard' }, { kind: 'visited-set' }] as const)(
      'has its full length at first, because no record was dropped: %j',
      async (options) => {
        const filter = await makeFilter(subject.store, options);
        expect(await windowOf(filter)).toEqual(FULL);
        await add(subject.store, filter, items(10), keyed());
        await add(subject.store, filter, items(10), made());
        expect(await windowOf(filter)).toEqual(FULL);
        const cleared = await subject.store.clear(filter.name, filter.kind, made());
        expect(await windowOf(cleared)).toEqual(FULL);
        await subject.reopen();
        expect(await windowOf(cleared)).toEqual(FULL);
      },
    );

    it('shrinks only for the kind of key whose records have outgrown their memory', async () => {
      await subject.reopen({ maxRecordBytes: FEW_BYTES });
      try {
        const filter = await makeFilter(subject.store);
        const first = keyed();
        await add(subject.store, filter, ['first'], first);
        let records = 0;
        for (; (await windowOf(filter)).caller === FULL.caller && records < MANY; records++) {
          expect(await add(subject.store, filter, ['first'], first)).toEqual([1]);
          await add(subject.store, filter, ['again'], keyed());
        }
        expect(records).toBeGreaterThan(10);
        expect(await windowOf(filter)).toEqual({ caller: expect.any(Number), made: FULL.made });
        expect((await windowOf(filter)).caller).toBeLessThan(3_600);
        // The record was dropped, so the call ran again.
        expect(await add(subject.store, filter, ['first'], first)).toEqual([0]);
      } finally {
        await subject.reopen();
      }
    });

    it('a generated id dropped for lack of memory is IDEMPOTENCY_KEY_EXPIRED, for items and for whole filters', async () => {
      await subject.reopen({ maxRecordBytes: FEW_BYTES });
      try {
        const { store } = subject;
        const filter = await makeFilter(store, { kind: 'visited-set' });
        const other = await makeFilter(store, { name: `${filter.name}.other` });
        const [removal, drop] = [made(), made()];
        await discover(store, filter, ['a']);
        await remove(store, filter, ['a'], removal);
        await store.drop(other.name, other.kind, drop);
        await makeFilter(store, { name: other.name });
        for (let n = 0; n < MANY; n++) {
          await discover(store, filter, ['a'], made());
          await store.create(filterSpec({ name: other.name }), made());
        }
        await expectRefusal(
          remove(store, filter, ['a'], { ...removal, repeat: true, deadline: deadline() }),
          'IDEMPOTENCY_KEY_EXPIRED',
        );
        await expectRefusal(
          store.drop(other.name, other.kind, { ...drop, repeat: true, deadline: deadline() }),
          'IDEMPOTENCY_KEY_EXPIRED',
        );
        expect((await store.open(other.name, other.kind, { fresh: true })).name).toBe(other.name);
      } finally {
        await subject.reopen();
      }
    });
  });
}
