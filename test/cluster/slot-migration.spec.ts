import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Filter, Store } from '#store';
import { RedisStore } from '#store/redis';
import { add, check, discover, items, keyed, made, makeFilter, remove } from '../contract/calls.js';
import { SLOTS, startCluster, type RedisCluster } from '../support/redis-cluster.js';
import type { RedisServer } from '../support/redis-server.js';
import { openMove, type OpenMove } from '../support/redis-slots.js';

const SEGMENTED = { maxSegmentBytes: 4096, minSegments: 6, minSegmentBytes: 1 };
const VISITED = { kind: 'visited-set', semantics: 'set', segmentation: SEGMENTED } as const;

/** While slots move, each call on them meets ASK, and TRYAGAIN while its Redis keys are on both masters. */
describe.each([0, 1])('while a master’s slots move to another, waiting for %d replicas', (waitReplicas) => {
  let cluster: RedisCluster;
  let store: RedisStore;
  let move: OpenMove;
  const [from, to] = [1, 2];
  const server = (at: number) => cluster.servers[at] as RedisServer;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: waitReplicas });
    store = await RedisStore.open({
      clusterNodes: cluster.nodes,
      timeoutMs: 20_000,
      waitReplicas,
      // Room for the records of two or three operations, so that the window fills every few calls.
      maxRecordBytes: 1_000,
      // So few that forgetting soon sweeps every segment, which renames Redis keys.
      maxMarks: 5,
    });
  });
  afterAll(async () => {
    await store.close();
    await cluster.stop();
  });

  let before: Filter;

  it('an existing filter can be used, keeps its records, and no call is half done', async () => {
    before = await makeFilter(store, VISITED);
    await discover(store, before, items(50));
    move = await openMove(server(from), server(to), slotsOf(from));
    await useUp(store, before, 'before its keys move');
  });

  it('a filter can be created, used, cleared, and dropped', async () => {
    const filter = await makeFilter(store, VISITED);
    await useUp(store, filter, 'new');
    const cleared = await store.clear(filter.name, filter.kind, keyed());
    expect(await check(store, cleared, items(10, 'new'))).toEqual(items(10).map(() => 0));
    await useUp(store, cleared, 'cleared');
    await store.drop(filter.name, filter.kind, keyed());
    await expect(store.open(filter.name, filter.kind, { fresh: true })).rejects.toMatchObject({
      code: 'FILTER_NOT_FOUND',
    });
  });

  it('a call waits for Redis keys that are on both masters', async () => {
    await move.moveKeys(2);
    const discovered = discover(store, before, items(50));
    await move.moveKeys();
    expect(await discovered).toEqual(items(50).map(() => 0));
  });

  it('a filter whose Redis keys have all moved can be used, and keeps its records', async () => {
    await useUp(store, before, 'after its keys moved');
  });

  it('the new owner has everything afterwards', async () => {
    await move.close();
    await useUp(store, before, 'at the new owner');
    expect(await check(store, before, items(50))).toEqual(items(50).map(() => 1));
  });

  /** All slots of a master except one, because a master without slots would become a replica. */
  function slotsOf(master: number): number[] {
    const first = Math.round((master * SLOTS) / 3) + 1;
    const end = Math.round(((master + 1) * SLOTS) / 3);
    return Array.from({ length: end - first }, (_, i) => first + i);
  }
});

/**
 * Makes enough calls to fill every segment's record window several times and to sweep its queue. Repeats each call
 * immediately.
 */
async function useUp(store: Store, filter: Filter, prefix: string): Promise<void> {
  for (let round = 0; round < 12; round++) {
    const keys = items(20, `${prefix} ${round}`);
    const adding = keyed();
    expect(await discover(store, filter, keys, adding)).toEqual(keys.map(() => 1));
    expect(await discover(store, filter, keys, adding)).toEqual(keys.map(() => 1));
    expect(await add(store, filter, keys, made())).toEqual(keys.map(() => 0));
  }
  for (let round = 0; round < 8; round++) {
    const keys = items(20, `${prefix} ${round}`);
    expect(await remove(store, filter, keys, keyed())).toEqual(keys.map(() => 1));
  }
  const leased = await store.queue.lease(filter, 10, 60_000, keyed());
  expect(leased).toHaveLength(10);
  const ids = leased.map(({ id }) => id);
  expect([...(await store.queue.ack(filter, ids, keyed()))]).toEqual(ids.map(() => 1));
}
