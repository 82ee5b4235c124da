import { expect, it } from '@jest/globals';
import { positionsOf, segmentBytes } from '#bloom';
import { StoreError, type Filter, type Operation } from '#store';
import { clock } from '../support/clock.js';
import type { CatalogueEntry } from '../../libs/store/src/redis/layout/entry.js';
import { CATALOGUE, queueKeys, segmentKeys } from '../../libs/store/src/redis/layout/keys.js';
import { QUEUE_FIELD, QUEUE_NUMBERS } from '../../libs/store/src/redis/scripts/queue-state.js';
import { importQueueScript } from '../../libs/store/src/redis/scripts/transfer.js';
import { packEntries } from '../../libs/store/src/redis/transfer/packed-queue.js';
import { CounterModel } from '../support/counter-model.js';
import { cellsPattern, type RedisHarness } from '../support/stores.js';
import { until } from '../support/until.js';
import {
  add,
  check,
  discover,
  expectRefusal,
  filterSpec,
  items,
  keyed,
  made,
  makeFilter,
  remove,
  SEGMENTED,
  tally,
} from './calls.js';
import { expectCells } from './cells.js';
import { redisCalls } from './redis-calls.js';
import { redisChunks } from './redis-chunks.js';
import { redisDamage } from './redis-damage.js';
import { redisHosts } from './redis-hosts.js';
import { redisLanes } from './redis-lanes.js';
import { redisOrder } from './redis-order.js';
import { redisSyncQueue } from './redis-sync-queue.js';
import { RENEWALS } from './renewals.js';
import type { Subject } from './subject.js';

const TRIES = 5;
/** The time limit for a store whose call must time out. */
const SOON_MS = 3_000;

/** Tests that need Redis, single or as a cluster. They read its keys and cut its connections. */
export function redisFacts(subject: Subject<RedisHarness>): void {
  redisDamage(subject);
  redisCalls(subject);
  redisSyncQueue(subject);
  redisChunks(subject);
  redisLanes(subject);
  redisOrder(subject);

  it('G5 after a connection is killed mid-call, a repeat gives every item its first result', async () => {
    const filter = await makeFilter(subject.store, {
      ...{ semantics: 'multiset', capacity: 40_000, errorRate: 1e-2, segmentation: SEGMENTED },
    });
    const model = new CounterModel(filter);
    let failures = 0;
    for (let round = 0; round < 8; round++) {
      const keys = items(8_000, `round ${round >> 1}`);
      const act = round % 3 === 2 ? remove : add;
      const attempt = (operation: Operation) => act(subject.store, filter, keys, operation);
      const { answers, failed } = await whileKilled(subject, round, attempt);
      expect(answers).toEqual(act === add ? model.add(keys) : model.remove(keys));
      failures += failed;
    }
    await expectCells(subject, filter, model);
    expect(await subject.store.describe(filter)).toMatchObject(model.stats());
    // The cuts come at random moments, but some of them must hit calls.
    expect(failures).toBeGreaterThan(0);
  });

  it.each(['a caller’s', 'a made'])(
    'G5 the repeat of an add begun under %s id finishes it, even if others have filled the filter since',
    async (whose) => {
      const { store, harness } = subject;
      const capacity = 100;
      // At this rate no item tests positive by mistake, even at twice the capacity.
      const filter = await makeFilter(store, { capacity, errorRate: 1e-9, segmentation: SEGMENTED });
      const keys = items(2 * capacity - 20);
      const { segment } = positionsOf(keys, filter.seed, filter.geometry);
      // A caller's key is claimed in the first segment, which is intact. The first item of the batch is in a broken
      // one.
      const broken = segment.find((one) => one !== 0)!;
      const batch = keys
        .map((key, i) => ({ key, breaks: segment[i] === broken }))
        .sort((a, b) => Number(b.breaks) - Number(a.breaks));
      const operation = whose === 'a made' ? made() : keyed();
      const records = `unseen:{${filter.generation}.${broken}.*}:operations:${operation.origin}:current`;
      const { key: kept, client } = (await harness.find(records))[0]!;
      const attempt = (repeat: boolean) =>
        add(
          store,
          filter,
          batch.map(({ key }) => key),
          { ...operation, repeat },
        );

      await client.rename(kept, `${kept}:away`);
      await expectRefusal(attempt(operation.repeat), 'STORE_DATA_LOST');
      await client.rename(`${kept}:away`, kept);
      const begun = batch.filter(({ breaks }) => !breaks).length;
      expect((await store.describe(filter)).items).toBe(begun);
      await add(store, filter, items(2 * capacity - begun, 'of others'));

      expect(await attempt(true)).toEqual(batch.map(() => 1));
      expect(await attempt(true)).toEqual(batch.map(() => 1));
      expect((await store.describe(filter)).items).toBe(2 * capacity + batch.length - begun);
    },
  );

  it('the reply to a removal includes the free room, so that no other call is needed', async () => {
    // The store reads the item count again when a second has passed. This clock stays within that second.
    const moment = clock.now();
    const store = await subject.harness.open({ clock: { now: () => moment, monotonic: clock.monotonic } });
    const filter = await makeFilter(store, { capacity: 100, errorRate: 1e-9, segmentation: SEGMENTED });
    const inSegment = (wanted: number, keys: readonly string[]): string[] => {
      const { segment } = positionsOf(keys, filter.seed, filter.geometry);
      return keys.filter((_, i) => segment[i] === wanted);
    };
    const kept = items(200);
    await add(store, filter, kept);
    // Looking up absent items returns counts from the segments that hold the new items, and from no others.
    const removed = inSegment(0, kept);
    const others = inSegment(1, items(400, 'other')).slice(0, removed.length);
    await expectRefusal(add(store, filter, others), 'FILTER_FULL');
    expect(tally(await remove(store, filter, removed), 1)).toBe(removed.length);
    expect(tally(await add(store, filter, others), 1)).toBe(removed.length);
    await expectRefusal(add(store, filter, ['one more']), 'FILTER_FULL');
  });

  it('a call that fails has nothing in progress: none of its scripts runs after its error', async () => {
    const { store, harness } = subject;
    const options = {
      kind: 'visited-set',
      capacity: 6_000,
      errorRate: 1e-3,
      segmentation: SEGMENTED,
    } as const;
    const filter = await makeFilter(store, options);
    const keys = items(4_000);
    await discover(store, filter, keys);
    const leased: string[] = [];
    for (let turn = 0; turn < 10 && leased.length < keys.length; turn++) {
      leased.push(...(await store.queue.lease(filter, 1_000, 60_000, made())).map(({ id }) => id));
    }
    const cells = (await harness.find(cellsPattern(filter, filter.geometry.segments - 1)))[0]!;
    await cells.client.del(cells.key);
    const calls: (() => Promise<unknown>)[] = [
      () => check(store, filter, keys),
      () => add(store, filter, keys),
      () => remove(store, filter, keys),
      () => store.queue.ack(filter, leased, made()),
      () => store.queue.release(filter, leased, made()),
      () => store.describe(filter),
    ];
    for (const call of calls) {
      await expectRefusal(call(), 'STORE_DATA_LOST');
      const then = await scriptsRun(harness);
      // All commands sent before the error have finished by now.
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect([String(call), await scriptsRun(harness)]).toEqual([String(call), then]);
    }
  });

  it('plain BITFIELD reads the counters, from Redis keys that begin with unseen:', async () => {
    const filter = await makeFilter(subject.store, { semantics: 'multiset', segmentation: SEGMENTED });
    const keys = [...items(300), ...items(100)];
    await add(subject.store, filter, keys);
    const model = new CounterModel(filter);
    model.add(keys);
    const size = model.cells.length / filter.geometry.segments;
    for (const key of items(50)) {
      const { segment, page, cell } = positionsOf([key], filter.seed, filter.geometry);
      const offsets = Array.from(cell, (c) => page[0]! * filter.geometry.pageCells + c);
      const gets = offsets.flatMap((offset) => ['GET', 'u4', `#${offset}`]);
      const expected = offsets.map((offset) => model.cells[segment[0]! * size + offset]);
      const [found] = await subject.harness.find(cellsPattern(filter, segment[0]!));
      expect(await found!.client.call('BITFIELD', found!.key, ...gets)).toEqual(expected);
    }
  });

  it('every Redis key has the prefix and no time to live', async () => {
    await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
    const found = await subject.harness.find('*');
    const times = await Promise.all(found.map(({ key, client }) => client.ttl(key)));
    expect(found.filter(({ key }) => !key.startsWith('unseen:{')).map(({ key }) => key)).toEqual([]);
    expect(found.filter((_, i) => times[i] !== -1).map(({ key }) => key)).toEqual([]);
  });

  it.each([
    { of: 'a set', options: {} },
    { of: 'one that ages', options: { maxAgeSeconds: 86_400 } },
  ])(
    'G6 any Redis key in a segment of $of that is missing, replaced or from a different generation is STORE_DATA_LOST',
    async ({ options }) => {
      const filter = await makeFilter(subject.store, { kind: 'visited-set', ...options });
      const { store } = subject;
      await discover(store, filter, items(100));
      const calls = [
        () => discover(store, filter, items(1)),
        () => discover(store, filter, items(1), keyed()),
        () => store.queue.lease(filter, 1, 60_000, keyed()),
        () => store.describe(filter),
      ];
      const outcomes = () =>
        Promise.all(
          calls.map((call) =>
            call().then(
              () => 'done',
              (error: unknown) => (error instanceof StoreError ? error.code : error),
            ),
          ),
        );
      const found = await subject.harness.find(`unseen:{${filter.generation}.0.*}*`);
      expect(found.length).toBeGreaterThanOrEqual(8);
      for (const { key, client } of found) {
        const kept = await client.dumpBuffer(key);
        await client.del(key);
        expect([key, await outcomes()]).toEqual([key, expect.arrayContaining(['STORE_DATA_LOST'])]);
        await (key.endsWith(':cells') ? client.hset(key, 'a', 'b') : client.set(key, 'x'));
        expect([key, await outcomes()]).toEqual([key, expect.arrayContaining(['STORE_DATA_LOST'])]);
        await client.restore(key, 0, kept, 'REPLACE');
        expect([key, await outcomes()]).toEqual([key, calls.map(() => 'done')]);
      }
      const meta = found.find(({ key }) => key.endsWith(':meta'))!;
      await meta.client.hset(meta.key, 'generation', '0123456789abcdef');
      expect(await outcomes()).toEqual(calls.map(() => 'STORE_DATA_LOST'));
      await expectRefusal(check(store, filter, items(1)), 'STORE_DATA_LOST');
    },
  );

  it('notifies only waiting callers when an entry joins the waiting entries, on the set’s channel', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { kind: 'visited-set' });
    const listener = harness.clients[0]!.duplicate();
    let heard = 0;
    listener.on('message', () => heard++);
    await listener.subscribe(`unseen:queue:${filter.generation}`);
    await discover(store, filter, ['before']);
    const end = store.queue.watch(filter, () => undefined);
    try {
      const awaited = () => awaitedOf(subject, filter);
      await until('Redis has a record of the waiting caller', async () => (await awaited()) > 0);
      expect(heard).toBe(0);
      await discover(store, filter, ['after']);
      await until('the message has arrived', async () => heard > 0);
      expect(heard).toBe(1);
    } finally {
      end();
      listener.disconnect();
    }
  });

  it.each(RENEWALS)('records that a caller waits for a queue, even after %s', async (_, renew) => {
    const filter = await makeFilter(subject.store, { kind: 'visited-set' });
    const end = subject.store.queue.watch(filter, () => undefined);
    try {
      await until(
        'Redis has a record of the waiting caller',
        async () => (await awaitedOf(subject, filter)) > 0,
      );
      const renewed = await renew(subject, filter);
      // Lookups from before the renewal have ended by now.
      const before = await awaitedOf(subject, renewed);
      await until(
        'Redis has a new record of the waiting caller',
        async () => (await awaitedOf(subject, renewed)) > before,
      );
    } finally {
      end();
    }
  });

  it('entries of an import that are sent again after a lost reply are in the queue once', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { kind: 'visited-set' });
    const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    const keys = segmentKeys(/\{(.*)\}/.exec(meta!.key)![1]!);
    const entry = { hash: new Uint8Array(16), attempt: 0, discoveredAt: 1, payload: Buffer.from('a') };
    const packed = packEntries([entry], undefined);
    const { lua } = importQueueScript.plain;
    for (const call of [0, 0, 1, 0, 1]) {
      const all = [keys.cells, keys.meta, ...queueKeys(keys)];
      const args = [filter.generation, segmentBytes(filter.geometry), call, packed];
      expect(await meta!.client.eval(lua, all.length, ...all, ...args)).toBe('OK');
    }
    expect((await store.describe(filter)).queue).toMatchObject({ waiting: 2 });
  });

  it('records of operations on whole filters have the same limit as all records', async () => {
    const maxRecordBytes = 20_000;
    await subject.reopen({ maxRecordBytes });
    try {
      const spec = filterSpec({ kind: 'visited-set', segmentation: SEGMENTED });
      await subject.store.create(spec, made());
      for (let n = 0; n < 40; n++) {
        await subject.store.create(spec, made());
        await subject.store.create(spec, keyed());
      }
      for (const { current, previous } of Object.values(CATALOGUE.operations)) {
        let bytes = 0;
        for (const key of [current, previous]) {
          const { client } = (await subject.harness.find(key))[0]!;
          for (const part of Object.entries(await client.hgetall(key)).flat()) bytes += part.length;
        }
        expect(bytes).toBeLessThanOrEqual(maxRecordBytes);
        expect(bytes).toBeGreaterThan(maxRecordBytes / 10);
      }
    } finally {
      await subject.reopen();
    }
  });

  it('a creation takes over from one that died, and leaves nothing of it or its predecessor', async () => {
    const { store } = subject;
    const options = { kind: 'visited-set', segmentation: SEGMENTED } as const;
    const [first, second] = [await makeFilter(store, options), await makeFilter(store, options)];
    const { tags: retired } = await rewriteEntry(subject, first.name, () => undefined);
    await rewriteEntry(subject, second.name, (entry) => ({ ...entry, state: 'creating', since: 0, retired }));
    const filter = await makeFilter(store, { name: second.name });
    expect(await add(store, filter, ['a'])).toEqual([1]);
    for (const old of [first, second]) expect(await keysOf(subject, old)).toEqual([]);
  });

  it('a creation finishes an interrupted clear of the same filter', async () => {
    const { store } = subject;
    const spec = filterSpec();
    const { filter: old } = await store.create(spec, made());
    const operation = { verb: 'clear', ...keyed() };
    await rewriteEntry(subject, spec.name, (entry) => ({ ...entry, state: 'clearing', since: 0, operation }));
    const { filter, created } = await store.create(spec, made());
    expect(created).toBe(false);
    expect(await add(store, filter, ['a'])).toEqual([1]);
    expect((await store.open(spec.name, spec.kind, { fresh: true })).generation).toBe(filter.generation);
    expect(await keysOf(subject, old)).toEqual([]);
  });

  it('drop frees the memory of a creation or an import that died, but not of one in progress', async () => {
    const { store } = subject;
    const filter = await makeFilter(store, { kind: 'visited-set', segmentation: SEGMENTED });
    await rewriteEntry(subject, filter.name, (entry) => ({
      ...entry,
      state: 'creating',
      since: clock.now(),
    }));
    const hasty = { ...keyed(), deadline: Date.now() + 4_000 };
    // No filter of another kind has this name, so no call on one waits.
    for (const call of [
      store.open(filter.name, 'filter', { fresh: true }),
      store.clear(filter.name, 'filter', hasty),
      store.drop(filter.name, 'filter', hasty),
    ])
      await expectRefusal(call, 'FILTER_NOT_FOUND');
    await expect(store.drop(filter.name, filter.kind, hasty)).rejects.toMatchObject({
      code: 'FILTER_BUSY',
      message: `visited set "${filter.name}" is being created; retry`,
    });
    expect(await keysOf(subject, filter)).not.toEqual([]);
    await rewriteEntry(subject, filter.name, (entry) => ({ ...entry, since: 0 }));
    await expectRefusal(store.drop(filter.name, 'filter', keyed()), 'FILTER_NOT_FOUND');
    await store.drop(filter.name, filter.kind, keyed());
    expect(await keysOf(subject, filter)).toEqual([]);
    await expectRefusal(store.open(filter.name, filter.kind, { fresh: true }), 'FILTER_NOT_FOUND');
  });

  it('a filter in creation is refused as busy, even if the last check would come after the deadline', async () => {
    const { store, harness } = subject;
    const hasty = await harness.open({ timeoutMs: SOON_MS });
    const filter = await makeFilter(store, { kind: 'visited-set' });
    await rewriteEntry(subject, filter.name, (entry) => ({
      ...entry,
      state: 'creating',
      since: clock.now(),
    }));
    // A request that was sent shortly before the time limit gets its reply only after the limit.
    const pause = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 0.95 * SOON_MS));
      await Promise.all(harness.clients.map((client) => client.call('CLIENT', 'PAUSE', 0.15 * SOON_MS)));
    };
    const opened = expectRefusal(hasty.open(filter.name, filter.kind, { fresh: true }), 'FILTER_BUSY');
    await Promise.all([opened, pause()]);
  });

  it('drop leaves nothing behind', async () => {
    const filter = await makeFilter(subject.store, { kind: 'visited-set', segmentation: SEGMENTED });
    expect(await keysOf(subject, filter)).not.toEqual([]);
    await subject.store.drop(filter.name, filter.kind, keyed());
    expect(await keysOf(subject, filter)).toEqual([]);
  });

  // This suite moves the clock.
  redisHosts(subject);
}

/** Until when a caller waits for the queue in a set with one segment, in ms since the epoch, as stored in Redis. */
async function awaitedOf({ harness }: Subject<RedisHarness>, { generation }: Filter): Promise<number> {
  const [meta] = await harness.find(`unseen:{${generation}.0.*}:meta`);
  const numbers = await meta!.client.hgetBuffer(meta!.key, QUEUE_FIELD);
  return numbers?.readUIntBE(QUEUE_NUMBERS.indexOf('awaited') * 6, 6) ?? 0;
}

/** All Redis keys in a generation, by name. */
async function keysOf({ harness }: Subject<RedisHarness>, { generation }: Filter): Promise<string[]> {
  return (await harness.find(`*${generation}*`)).map(({ key }) => key);
}

/** Changes a catalogue entry directly in Redis, as if an instance had died half way. Undefined deletes it. */
async function rewriteEntry(
  { harness }: Subject<RedisHarness>,
  name: string,
  change: (entry: CatalogueEntry) => CatalogueEntry | undefined,
): Promise<CatalogueEntry> {
  const { key, client } = (await harness.find(CATALOGUE.filters))[0]!;
  const entry = JSON.parse((await client.hget(key, name)) ?? '') as CatalogueEntry;
  const changed = change(entry);
  if (changed) await client.hset(key, name, JSON.stringify(changed));
  else await client.hdel(key, name);
  return entry;
}

/** How many scripts all servers together have run. */
async function scriptsRun({ clients }: RedisHarness): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('commandstats')));
  return infos.reduce((sum, info) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0), 0);
}

/** Makes a call, cuts its connections while it is in progress, and repeats it under the same id until it succeeds. */
async function whileKilled(
  subject: Subject<RedisHarness>,
  round: number,
  attempt: (operation: Operation) => Promise<number[]>,
): Promise<{ answers: number[]; failed: number }> {
  const operation = keyed();
  for (let failed = 0; failed < TRIES; failed++) {
    // Only the later attempts wait long enough for the connection to return.
    const deadline = Date.now() + (failed === 0 ? 5 : 20_000);
    const call = attempt({ ...operation, deadline });
    const cuts = failed === 0 ? cutAfter(subject.harness, 1 + round) : Promise.resolve();
    const [outcome] = await Promise.allSettled([call, cuts]);
    if (outcome.status === 'fulfilled') return { answers: outcome.value, failed };
    if (!(outcome.reason instanceof StoreError)) throw outcome.reason;
    expect(outcome.reason.code).toBe('STORE_UNAVAILABLE');
  }
  throw new Error(`no answer in ${TRIES} tries`);
}

async function cutAfter(harness: RedisHarness, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  await Promise.all(
    harness.clients.map((client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
  );
}
