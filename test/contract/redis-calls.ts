import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { RedisHarness } from '../support/stores.js';
import { add, expectRefusal, items, keyed, makeFilter, SEGMENTED } from './calls.js';
import type { Subject } from './subject.js';

/** How the Redis store makes its calls, where only the servers can show it. */
export function redisCalls(subject: Subject<RedisHarness>): void {
  it('G5 a call that fails in one segment has finished in all others', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store, { capacity: 50_000, segmentation: SEGMENTED });
    // For a while the store now knows the filter's item count and does not read it first.
    await add(store, filter, ['known']);
    const metas = await harness.find(`unseen:{${filter.generation}.*}:meta`);
    const [broken, ...whole] = metas.sort((a, b) => a.key.localeCompare(b.key));
    expect(whole.length).toBeGreaterThan(2);
    await broken!.client.hset(broken!.key, 'generation', '0123456789abcdef');
    await expectRefusal(add(store, filter, items(20_000)), 'STORE_DATA_LOST');
    const added = () => Promise.all(whole.map(({ key, client }) => client.hget(key, 'added')));
    const atOnce = await added();
    await sleep(300);
    expect(await added()).toEqual(atOnce);
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
