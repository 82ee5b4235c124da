import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Operation, Store } from '#store';
import { clock } from '../support/clock.js';
import { embedded, redis, type StoreLimits, type StoreHarness } from '../support/stores.js';
import { add, expectRefusal, filterSpec, items, keyed, makeFilter, SEGMENTED } from './calls.js';
import { Subject } from './subject.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Long enough that a record's remaining bytes hardly matter. */
const FINGERPRINT = 'f'.repeat(1_000);
const RECORDS_IN_BOUND = 20;

describe.each([embedded, redis])('$name: G5 how long operation records are kept', (fixture) => {
  const subject = new Subject<StoreHarness>(fixture);
  afterEach(() => subject.tearDown());
  const opened = async (limits?: StoreLimits): Promise<Store> => {
    await subject.setUp(limits);
    return subject.store;
  };

  /** A repeated operation with an id that the service made `agoMs` before `now`. */
  const repeatOf = (id: string, agoMs: number, now: number): Operation => ({
    ...{ id, origin: 'made', fingerprint: 'request', repeat: true },
    ...{ madeAt: now - agoMs, deadline: Date.now() + 20_000 },
  });

  it('a caller’s key is kept for a day and the remainder of the next day, and no longer', async () => {
    const store = await opened();
    const filter = await makeFilter(store, { semantics: 'multiset' });
    const operation = keyed();
    expect(await add(store, filter, ['a'], operation)).toEqual([1]);
    for (const hours of [23, 2, 22]) {
      clock.advance(hours * HOUR_MS);
      expect(await add(store, filter, ['a'], operation)).toEqual([1]);
      await add(store, filter, ['other'], keyed());
    }
    clock.advance(25 * HOUR_MS);
    await add(store, filter, ['other'], keyed());
    expect(await add(store, filter, ['a'], operation)).toEqual([0]);
  });

  it('a caller’s key is kept even if the records of generated ids are dropped', async () => {
    const store = await opened();
    const filter = await makeFilter(store, { semantics: 'multiset' });
    const operation = keyed();
    expect(await add(store, filter, ['a'], operation)).toEqual([1]);
    for (let minutes = 0; minutes < 10; minutes += 2) {
      clock.advance(121 * SECOND_MS);
      await add(store, filter, ['other'], { ...repeatOf(randomUUID(), 0, clock.now()), repeat: false });
      // The embedded store deletes old records in the background.
      await sleep(20);
      expect(await add(store, filter, ['a'], operation)).toEqual([1]);
    }
  });

  it('a generated id is kept for a minute, then refused, and one that never ran isn’t refused earlier', async () => {
    const store = await opened();
    const filter = await makeFilter(store, { semantics: 'multiset' });
    const id = randomUUID();
    clock.advance(SECOND_MS);
    expect(await add(store, filter, ['a'], { ...repeatOf(id, 0, clock.now()), repeat: false })).toEqual([1]);
    clock.advance(59 * SECOND_MS);
    expect(await add(store, filter, ['a'], repeatOf(id, 59 * SECOND_MS, clock.now()))).toEqual([1]);
    clock.advance(2 * SECOND_MS);
    // This starts a window.
    await add(store, filter, ['other'], repeatOf(randomUUID(), 0, clock.now()));
    expect(await add(store, filter, ['a'], repeatOf(id, 61 * SECOND_MS, clock.now()))).toEqual([1]);
    expect(await add(store, filter, ['b'], repeatOf(randomUUID(), 50 * SECOND_MS, clock.now()))).toEqual([1]);
    clock.advance(61 * SECOND_MS);
    await add(store, filter, ['other'], repeatOf(randomUUID(), 0, clock.now()));
    await expectRefusal(
      add(store, filter, ['a'], repeatOf(id, 122 * SECOND_MS, clock.now())),
      'IDEMPOTENCY_KEY_EXPIRED',
    );
  });

  it('the latest records stay within the limit on bytes, and a description says how far back they go', async () => {
    const store = await opened({ maxRecordBytes: RECORDS_IN_BOUND * FINGERPRINT.length });
    const filter = await makeFilter(store, { semantics: 'multiset' });
    const operations = items(60).map((id) => ({ ...keyed(id), fingerprint: FINGERPRINT }));
    /** 1 if the result comes from the record, or 0 if the call ran again. */
    const again = async (n: number) => (await add(store, filter, [`item ${n}`], operations[n]))[0];
    for (const n of operations.keys()) {
      expect([n, await again(n)]).toEqual([n, 1]);
      clock.advance(SECOND_MS);
      if (n < RECORDS_IN_BOUND) continue;
      expect([n, await again(n - 3)]).toEqual([n, 1]);
      expect([n, await again(n - RECORDS_IN_BOUND)]).toEqual([n, 0]);
    }
    const { caller, made } = (await store.describe(filter)).recordWindowSeconds;
    expect(caller).toBeGreaterThanOrEqual(3);
    expect(caller).toBeLessThan(RECORDS_IN_BOUND);
    expect(made).toBeGreaterThanOrEqual(60);
  });

  it('a description gives the shortest time for which any part of a filter keeps records', async () => {
    const store = await opened({ maxRecordBytes: 2 * FINGERPRINT.length });
    const filter = await makeFilter(store, { segmentation: SEGMENTED });
    clock.advance(HOUR_MS);
    for (const id of items(10)) await add(store, filter, ['a'], { ...keyed(id), fingerprint: FINGERPRINT });
    expect((await store.describe(filter)).recordWindowSeconds.caller).toBeLessThan(HOUR_MS / 1_000);
  });

  it('a creation’s record is kept as long, even after later creations', async () => {
    const store = await opened();
    const [spec, operation] = [filterSpec(), keyed()];
    const { filter } = await store.create(spec, operation);
    const generationOf = async () => {
      const again = await store.create(spec, operation);
      return [again.created, again.filter.generation];
    };
    for (const hours of [0, 0, 25]) {
      clock.advance(hours * HOUR_MS);
      for (let n = 0; n < 3; n++) await store.create(filterSpec(), keyed());
      expect(await generationOf()).toEqual([true, filter.generation]);
    }
    for (const hours of [25, 25]) {
      clock.advance(hours * HOUR_MS);
      await store.create(filterSpec(), keyed());
    }
    expect(await generationOf()).toEqual([false, filter.generation]);
  });

  it('a generated id older than the records of creations is refused and creates nothing', async () => {
    const store = await opened();
    clock.advance(HOUR_MS);
    const spec = filterSpec();
    const late: Operation = repeatOf(randomUUID(), HOUR_MS, clock.now());
    await expectRefusal(store.create(spec, late), 'IDEMPOTENCY_KEY_EXPIRED');
    await expectRefusal(store.open(spec.name, spec.kind, { fresh: true }), 'FILTER_NOT_FOUND');
  });
});
