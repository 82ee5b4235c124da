import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_LEASE_MS, Settled, StoreError, type Filter } from '#store';
import { add, count, discover, filterSpec, items, keyed, made, makeFilter } from '../contract/calls.js';
import { Subject } from '../contract/subject.js';
import { clock } from '../support/clock.js';
import { embedded, redis, type StoreHarness } from '../support/stores.js';

const HOUR_MS = 3_600_000;

/** The result, or IDEMPOTENCY_KEY_EXPIRED. */
async function unlessExpired(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => {
    if (error instanceof StoreError && error.code === 'IDEMPOTENCY_KEY_EXPIRED') return error.code;
    throw error;
  });
}

describe.each([embedded, redis])('$name: a clock that jumps', (fixture) => {
  const subject = new Subject<StoreHarness>(fixture);
  beforeAll(() => subject.setUp());
  afterAll(() => subject.tearDown());

  const visitedSet = () => makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-6 });
  const lease = (filter: Filter, leaseMs = 60_000) => subject.store.queue.lease(filter, 100, leaseMs, made());
  const payloads = async (filter: Filter) => (await lease(filter)).map(({ payload }) => payload).sort();
  const ack = async (filter: Filter, id: string) => [
    ...(await subject.store.queue.ack(filter, [id], made())),
  ];

  it('an hour forwards: leases end early, and their entries are handed out again, none lost', async () => {
    const filter = await visitedSet();
    await discover(subject.store, filter, items(5), made());
    const first = await lease(filter);
    expect(first).toHaveLength(5);
    clock.advance(HOUR_MS);
    expect(await ack(filter, first[0]!.id)).toEqual([Settled.Expired]);
    const second = await lease(filter);
    expect(second.map(({ payload, attempt }) => [payload, attempt]).sort()).toEqual(
      items(5).map((item) => [item, 2]),
    );
    expect(await ack(filter, second[0]!.id)).toEqual([Settled.Done]);
  });

  it('an hour backwards: waiting entries are handed out immediately, and leases stay and can be settled', async () => {
    const filter = await visitedSet();
    await discover(subject.store, filter, items(1, 'leased'), made());
    const [leased] = await lease(filter);
    await discover(subject.store, filter, items(3, 'waiting'), made());
    clock.advance(-HOUR_MS);
    expect(await payloads(filter)).toEqual(items(3, 'waiting'));
    await discover(subject.store, filter, items(1, 'later'), made());
    expect(await payloads(filter)).toEqual(items(1, 'later'));
    expect(await ack(filter, leased!.id)).toEqual([Settled.Done]);
    clock.advance(HOUR_MS);
    expect(await payloads(filter)).toEqual([...items(1, 'later'), ...items(3, 'waiting')]);
  });

  it('far backwards: no entry is hidden for longer than the longest lease', async () => {
    const filter = await visitedSet();
    await discover(subject.store, filter, items(3), made());
    expect(await payloads(filter)).toEqual(items(3));
    clock.advance(-2 * MAX_LEASE_MS);
    expect(await payloads(filter)).toEqual(items(3));
    clock.advance(2 * MAX_LEASE_MS);
  });

  it.each([HOUR_MS, -HOUR_MS])(
    '%i ms: a repeat under a caller’s key gets the same answer, and changes nothing',
    async (ms) => {
      const filter = await makeFilter(subject.store, { semantics: 'multiset' });
      const spec = filterSpec();
      const [adding, creating] = [keyed(), keyed()];
      await add(subject.store, filter, items(10), adding);
      const { filter: created } = await subject.store.create(spec, creating);
      clock.advance(ms);
      for (let again = 0; again < 3; again++) {
        expect(await add(subject.store, filter, items(10), adding)).toEqual(items(10).map(() => 1));
        const twin = await subject.store.create(spec, creating);
        expect([twin.created, twin.filter.generation]).toEqual([true, created.generation]);
        // Other operations in between may start a new window.
        await add(subject.store, filter, items(1, 'other'), keyed());
      }
      expect(await count(subject.store, filter, items(10))).toEqual(items(10).map(() => 1));
      clock.advance(-ms);
    },
  );

  it.each([HOUR_MS, -HOUR_MS])(
    '%i ms: a repeat under a generated id gets the same answer or is refused, and changes nothing',
    async (ms) => {
      const filter = await makeFilter(subject.store, { semantics: 'multiset' });
      const operation = made();
      await add(subject.store, filter, items(10), operation);
      clock.advance(ms);
      for (let again = 0; again < 3; again++) {
        const answer = await unlessExpired(
          add(subject.store, filter, items(10), { ...operation, repeat: true }),
        );
        expect([items(10).map(() => 1), 'IDEMPOTENCY_KEY_EXPIRED']).toContainEqual(answer);
        await add(subject.store, filter, items(1, 'other'), made());
      }
      expect(await count(subject.store, filter, items(10))).toEqual(items(10).map(() => 1));
      // An operation that is sent now runs as usual.
      expect(await add(subject.store, filter, items(1, 'new'), made())).toEqual([1]);
      clock.advance(-ms);
    },
  );
});
