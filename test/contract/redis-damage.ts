import { describe, expect, it } from '@jest/globals';
import { add, check, discover, expectRefusal, items, made, makeFilter } from './calls.js';
import { exportFile } from '../support/export-files.js';
import type { RedisHarness } from '../support/stores.js';
import type { Subject } from './subject.js';

/** Damage that another program, or a partial restore, can do to a segment's Redis keys. */
export function redisDamage(subject: Subject<RedisHarness>): void {
  describe('G6 a count that is gone from a segment’s meta', () => {
    it.each(['items', 'queue'])('is STORE_DATA_LOST for calls that need it: %s', async (field) => {
      const { store, harness } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set' });
      await discover(store, filter, items(10));
      const ids = (await store.queue.lease(filter, 1, 60_000, made())).map(({ id }) => id);
      const { entries } = await store.queue.entries(filter, {}, 1);
      const named = entries.map(({ id }) => id);
      const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
      await meta!.client.hdel(meta!.key, field);
      await expectRefusal(store.queue.ack(filter, ids, made()), 'STORE_DATA_LOST');
      await expectRefusal(store.queue.entries(filter, {}, 1), 'STORE_DATA_LOST');
      await expectRefusal(store.queue.drop(filter, named, made()), 'STORE_DATA_LOST');
      if (field === 'items') await expectRefusal(check(store, filter, items(10)), 'STORE_DATA_LOST');
      else expect(await check(store, filter, items(10))).toEqual(items(10).map(() => 1));
    });
  });

  it('G6 an export of cells whose meta is of a different generation is STORE_DATA_LOST', async () => {
    const { store, harness } = subject;
    const filter = await makeFilter(store);
    await add(store, filter, items(10));
    const [meta] = await harness.find(`unseen:{${filter.generation}.0.*}:meta`);
    await meta!.client.hset(meta!.key, 'generation', '0123456789abcdef');
    await expectRefusal(exportFile(store, filter), 'STORE_DATA_LOST');
  });
}
