import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Filter, Operation, Store } from '#store';
import { RedisStore } from '#store/redis';
import { add, check, count, deadline, discover, expectRefusal, filterSpec } from '../contract/calls.js';
import { items, keyed, makeFilter, remove } from '../contract/calls.js';
import { cellsPattern } from '../support/stores.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

/** For calls that must time out. A busy master must still be able to execute them first. */
const TIMEOUT_MS = 1_500;
const PATIENCE_MS = 60_000;
const ENDLESS_MS = 600_000;
const VISITED = { kind: 'visited-set' } as const;

/** Every changing call, on a visited set with 100 items, 10 of them leased. */
const MUTATIONS: readonly (readonly [string, (ready: Ready, operation: Operation) => Promise<unknown>])[] = [
  ['add', ({ store, filter }, operation) => add(store, filter, items(10, 'fresh'), operation)],
  [
    'add with payloads',
    ({ store, filter }, operation) => discover(store, filter, items(9, 'queued'), operation),
  ],
  ['remove', ({ store, filter }, operation) => remove(store, filter, items(10), operation)],
  ['lease', ({ store, filter }, operation) => store.queue.lease(filter, 5, 60_000, operation)],
  ['ack', async ({ store, filter, ids }, operation) => [...(await store.queue.ack(filter, ids, operation))]],
  [
    'release',
    async ({ store, filter, ids }, operation) => [...(await store.queue.release(filter, ids, operation))],
  ],
  ['create', async ({ store, spec }, operation) => (await store.create(spec, operation)).created],
  [
    'create of what exists',
    async ({ store, filter }, operation) => (await store.create(filter, operation)).created,
  ],
  [
    'clear',
    async ({ store, filter }, operation) => (await store.clear(filter.name, filter.kind, operation)).name,
  ],
  ['drop', ({ store, filter }, operation) => store.drop(filter.name, filter.kind, operation)],
];

interface Ready {
  readonly store: Store;
  readonly filter: Filter;
  readonly ids: readonly string[];
  readonly spec: ReturnType<typeof filterSpec>;
}

describe('a change completes once a replica has it', () => {
  let master: RedisServer;
  let replica: RedisServer;
  let client: Redis;
  const stores: RedisStore[] = [];
  let store: RedisStore;

  beforeAll(async () => {
    // Without heartbeats, only the test's own writes are replicated.
    const args = ['--repl-ping-replica-period', '3600', '--repl-diskless-sync-delay', '0'];
    master = await startRedis({ args });
    replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port), ...args] });
    client = new Redis(master.port, '127.0.0.1');
    await until('the replica has caught up', async () =>
      (await client.info('replication')).includes('state=online'),
    );
  });
  beforeEach(async () => {
    store = await open();
  });
  afterEach(async () => {
    process.kill(replica.pid, 'SIGCONT');
    await client.config('SET', 'maxmemory', 0);
    await Promise.all(stores.splice(0).map((one) => one.close()));
  });
  afterAll(async () => {
    client.disconnect();
    await Promise.all([master.stop(), replica.stop()]);
  });

  async function open(waitReplicas = 1, timeoutMs = TIMEOUT_MS): Promise<RedisStore> {
    const opened = await RedisStore.open({ url: master.url, timeoutMs, waitReplicas });
    stores.push(opened);
    return opened;
  }

  async function prepare(): Promise<Ready> {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient, VISITED);
    await discover(patient, filter, items(100));
    const leased = await patient.queue.lease(filter, 10, 60_000, keyed());
    return { store, filter, ids: leased.map(({ id }) => id), spec: filterSpec() };
  }

  it('and not before: it waits for a stalled replica, and continues with it', async () => {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient);
    // The first call sends the script to the server.
    await add(patient, filter, ['first']);
    process.kill(replica.pid, 'SIGSTOP');
    let answered = false;
    const adding = add(patient, filter, items(10)).finally(() => (answered = true));
    await until('the master has the items', async () => (await patient.describe(filter)).items === 11);
    expect(answered).toBe(false);
    process.kill(replica.pid, 'SIGCONT');
    expect(await adding).toEqual(items(10).map(() => 1));
    const [cells] = await client.keys(cellsPattern(filter, 0));
    const onReplica = new Redis(replica.port, '127.0.0.1');
    expect(await onReplica.getBuffer(cells!)).toEqual(await client.getBuffer(cells!));
    onReplica.disconnect();
  });

  it.each(MUTATIONS)(
    '%s: STORE_UNAVAILABLE without it, even for a repeat, then its first answer',
    async (_, call) => {
      const ready = await prepare();
      const expected = await call(await prepare(), keyed());
      const operation = keyed();
      process.kill(replica.pid, 'SIGSTOP');
      await expectRefusal(call(ready, operation), 'STORE_UNAVAILABLE');
      // The master has the change and its record by now. The other connection has written nothing yet.
      const other = { ...ready, store: await open() };
      await other.store.open(ready.filter.name, ready.filter.kind).catch(() => undefined);
      const again = { ...other, filter: await reopened(other) };
      await expectRefusal(call(again, operation), 'STORE_UNAVAILABLE');
      process.kill(replica.pid, 'SIGCONT');
      const answer = await repeated(() => call(again, operation));
      expect(comparable(answer)).toEqual(comparable(expected));
    },
  );

  it('a repeat writes, even at the memory limit: since Redis 7.2, WAIT considers only its own connection’s writes', async () => {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient);
    const operation = keyed();
    await add(patient, filter, items(10), operation);
    await client.config('SET', 'maxmemory', 1);
    // WAIT itself writes a request to the replicas, so this store doesn't use it.
    const unwaiting = await open(0, PATIENCE_MS);
    const before = await replicated();
    expect(await add(unwaiting, filter, items(10), operation)).toEqual(items(10).map(() => 1));
    expect(await replicated()).toBeGreaterThan(before);
    await expectRefusal(add(patient, filter, items(10, 'others')), 'STORE_FULL');
  });

  it('reads don’t wait, and may see unacknowledged changes', async () => {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient, { semantics: 'multiset' });
    // The first call sends the script to the server.
    await add(patient, filter, ['first']);
    process.kill(replica.pid, 'SIGSTOP');
    let answered = false;
    const adding = add(patient, filter, ['a']).finally(() => (answered = true));
    await until('a read returns the item', async () => (await check(patient, filter, ['a']))[0] === 1);
    expect(await count(patient, filter, ['a', 'b'])).toEqual([1, 0]);
    expect(answered).toBe(false);
    process.kill(replica.pid, 'SIGCONT');
    expect(await adding).toEqual([1]);
    expect(await count(patient, filter, ['a'])).toEqual([1]);
  });

  it('simultaneous calls share a WAIT', async () => {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient);
    await client.config('RESETSTAT');
    const answers = await Promise.all(items(200).map((item) => add(patient, filter, [item])));
    expect(answers.flat().filter((answer) => answer === 1)).toHaveLength(200);
    const waits = Number(/cmdstat_wait:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThan(100);
  });

  it('no call outlives its deadline, and later calls continue', async () => {
    // If the deadline of the call itself didn't count, the call would outlast this test.
    const patient = await open(1, ENDLESS_MS);
    const filter = await makeFilter(patient);
    process.kill(replica.pid, 'SIGSTOP');
    await expectRefusal(
      add(patient, filter, ['a'], { ...keyed(), deadline: Date.now() + 300 }),
      'STORE_UNAVAILABLE',
    );
    const next = add(patient, filter, ['b']);
    process.kill(replica.pid, 'SIGCONT');
    expect(await next).toEqual([1]);
  });

  it('a server that keeps losing its scripts: every call completes, and runs once', async () => {
    const patient = await open(1, PATIENCE_MS);
    const filter = await makeFilter(patient, { semantics: 'multiset', errorRate: 1e-6 });
    const ended = new AbortController();
    const forgetting = (async () => {
      while (!ended.signal.aborted) {
        await client.script('FLUSH');
        await sleep(1);
      }
    })();
    try {
      for (const item of items(100)) expect(await add(patient, filter, [item])).toEqual([1]);
    } finally {
      ended.abort();
      await forgetting;
    }
    expect(await count(patient, filter, items(100))).toEqual(items(100).map(() => 1));
  });

  it('with fewer replicas than required, readiness warns', async () => {
    const demanding = await open(2, PATIENCE_MS);
    const { ready, warnings } = await demanding.readiness();
    expect(ready).toBe(true);
    expect(warnings).toContain(
      'a Redis master has fewer replicas (1) than REDIS_WAIT_REPLICAS (2): changes are refused',
    );
    const soon = { ...keyed(), deadline: Date.now() + TIMEOUT_MS };
    await expectRefusal(demanding.create(filterSpec(), soon), 'STORE_UNAVAILABLE');
  });

  /** Number of bytes sent to replicas so far. */
  async function replicated(): Promise<number> {
    return Number(/master_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1]);
  }
});

/** The filter as the store has it now, or the given one if it is gone. */
async function reopened({ store, filter }: Ready): Promise<Filter> {
  return store.open(filter.name, filter.kind, { fresh: true }).catch(() => filter);
}

/** Repeats a call until it succeeds, because replication takes a moment to resume. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  const end = deadline();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

/** The answer without the parts that differ each time: lease ids and random names. */
function comparable(answer: unknown): unknown {
  if (typeof answer === 'string') return 'a name';
  return Array.isArray(answer)
    ? answer.map((one: unknown) => (typeof one === 'object' ? 'a lease' : one))
    : answer;
}
