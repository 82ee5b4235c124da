import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_LEASE_MS, Settled, StoreError, type Filter, type Operation } from '#store';
import { add, count, discover, filterSpec, items, keyed, made, makeFilter } from '../contract/calls.js';
import { CLOCKED_STORES, type Clocked } from '../support/clocked-stores.js';

const HOUR_MS = 3_600_000;

/** The answer, or IDEMPOTENCY_KEY_EXPIRED. */
async function unlessExpired(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => {
    if (error instanceof StoreError && error.code === 'IDEMPOTENCY_KEY_EXPIRED') return error.code;
    throw error;
  });
}

describe.each(CLOCKED_STORES)('$name: a clock that jumps', ({ open }) => {
  let clocked: Clocked;
  beforeAll(async () => {
    clocked = await open({});
  });
  afterAll(() => clocked.close());

  const madeNow = (): Operation => ({ ...made(), madeAt: clocked.now() });
  const visitedSet = () => makeFilter(clocked.store, { kind: 'visited-set', errorRate: 1e-6 });
  const lease = (filter: Filter, leaseMs = 60_000) =>
    clocked.store.queue.lease(filter, 100, leaseMs, madeNow());
  const payloads = async (filter: Filter) => (await lease(filter)).map(({ payload }) => payload).sort();
  const ack = async (filter: Filter, id: string) => [
    ...(await clocked.store.queue.ack(filter, [id], madeNow())),
  ];

  it('an hour forwards: leases end early, and their entries are handed out again; none is lost', async () => {
    const filter = await visitedSet();
    await discover(clocked.store, filter, items(5), madeNow());
    const first = await lease(filter);
    expect(first).toHaveLength(5);
    await clocked.jump(HOUR_MS);
    expect(await ack(filter, first[0]!.id)).toEqual([Settled.Expired]);
    const second = await lease(filter);
    expect(second.map(({ payload, attempt }) => [payload, attempt]).sort()).toEqual(
      items(5).map((item) => [item, 2]),
    );
    expect(await ack(filter, second[0]!.id)).toEqual([Settled.Done]);
  });

  it('an hour backwards: what waits is handed out at once; what is leased stays so, and can be settled', async () => {
    const filter = await visitedSet();
    await discover(clocked.store, filter, items(1, 'leased'), madeNow());
    const [leased] = await lease(filter);
    await discover(clocked.store, filter, items(3, 'waiting'), madeNow());
    await clocked.jump(-HOUR_MS);
    expect(await payloads(filter)).toEqual(items(3, 'waiting'));
    await discover(clocked.store, filter, items(1, 'later'), madeNow());
    expect(await payloads(filter)).toEqual(items(1, 'later'));
    expect(await ack(filter, leased!.id)).toEqual([Settled.Done]);
    await clocked.jump(HOUR_MS);
    expect(await payloads(filter)).toEqual([...items(1, 'later'), ...items(3, 'waiting')]);
  });

  it('far backwards: no entry is hidden for longer than the longest lease', async () => {
    const filter = await visitedSet();
    await discover(clocked.store, filter, items(3), madeNow());
    expect(await payloads(filter)).toEqual(items(3));
    await clocked.jump(-2 * MAX_LEASE_MS);
    expect(await payloads(filter)).toEqual(items(3));
    await clocked.jump(2 * MAX_LEASE_MS);
  });

  it.each([HOUR_MS, -HOUR_MS])(
    '%i ms: a repeat under a caller’s key answers the same, and changes nothing',
    async (ms) => {
      const filter = await makeFilter(clocked.store, { semantics: 'multiset' });
      const spec = filterSpec();
      const [adding, creating] = [keyed(), keyed()];
      await add(clocked.store, filter, items(10), adding);
      const { filter: created } = await clocked.store.create(spec, creating);
      await clocked.jump(ms);
      for (let again = 0; again < 3; again++) {
        expect(await add(clocked.store, filter, items(10), adding)).toEqual(items(10).map(() => 1));
        const twin = await clocked.store.create(spec, creating);
        expect([twin.created, twin.filter.generation]).toEqual([true, created.generation]);
        // Other operations in between may begin a new window.
        await add(clocked.store, filter, items(1, 'other'), keyed());
      }
      expect(await count(clocked.store, filter, items(10))).toEqual(items(10).map(() => 1));
      await clocked.jump(-ms);
    },
  );

  it.each([HOUR_MS, -HOUR_MS])(
    '%i ms: a repeat under a made id is answered so or refused, and changes nothing',
    async (ms) => {
      const filter = await makeFilter(clocked.store, { semantics: 'multiset' });
      const operation = madeNow();
      await add(clocked.store, filter, items(10), operation);
      await clocked.jump(ms);
      for (let again = 0; again < 3; again++) {
        const answer = await unlessExpired(
          add(clocked.store, filter, items(10), { ...operation, repeat: true }),
        );
        expect([items(10).map(() => 1), 'IDEMPOTENCY_KEY_EXPIRED']).toContainEqual(answer);
        await add(clocked.store, filter, items(1, 'other'), madeNow());
      }
      expect(await count(clocked.store, filter, items(10))).toEqual(items(10).map(() => 1));
      // An operation that is sent now is executed as usual.
      expect(await add(clocked.store, filter, items(1, 'new'), madeNow())).toEqual([1]);
      await clocked.jump(-ms);
    },
  );
});
