import { expect, it } from '@jest/globals';
import { positionsOf } from '#bloom';
import { itemsPerScript } from '../../libs/store/src/redis/layout/packing.js';
import type { RedisHarness } from '../support/stores.js';
import { clock } from '../support/clock.js';
import { add, expectRefusal, items, keyed, makeFilter } from './calls.js';
import type { Subject } from './subject.js';

/** Facts about the Redis store's calls that only the servers can show. */
export function redisCalls(subject: Subject<RedisHarness>): void {
  it('G5 a call that fails in one segment has finished in all others', async () => {
    const { harness } = subject;
    // The store reads the item count again when a second has passed. This clock stays within that second.
    const moment = clock.now();
    const store = await harness.open({ clock: { now: () => moment, monotonic: clock.monotonic } });
    const filter = await makeFilter(store, {
      ...{ capacity: 50_000, errorRate: 1e-9 },
      segmentation: { maxSegmentBytes: 2 ** 20, minSegments: 4, minSegmentBytes: 1 },
    });
    const keys = items(20_000);
    const { segment } = positionsOf(keys, filter.seed, filter.geometry);
    const whole = segment.filter((one) => one !== 0);
    // In each segment, the batch takes many scripts, one after another.
    expect(whole.length / (filter.geometry.segments - 1)).toBeGreaterThan(
      10 * itemsPerScript([filter.geometry]),
    );
    await add(store, filter, [keys[segment.findIndex((one) => one !== 0)]!]);
    const [broken] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    await broken!.client.hset(broken!.key, 'generation', '0123456789abcdef');
    const metas = await harness.find(`unseen:{${filter.generation}.*}:meta`);
    await expectRefusal(add(store, filter, keys), 'STORE_DATA_LOST');
    const added = await Promise.all(metas.map(({ key, client }) => client.hget(key, 'added')));
    expect(added.reduce((sum, one) => sum + Number(one), 0)).toBe(whole.length);
  });

  it('G5 an answer from a record is a write, so that a call can wait for replicas that lack the record', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store);
    const operation = keyed();
    await add(store, filter, ['a'], operation);
    const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    const changes = async () =>
      Number(/rdb_changes_since_last_save:(\d+)/.exec(await meta!.client.info('persistence'))?.[1]);
    const before = await changes();
    expect(await add(store, filter, ['a'], operation)).toEqual([1]);
    expect(await changes()).toBeGreaterThan(before);
  });
}
