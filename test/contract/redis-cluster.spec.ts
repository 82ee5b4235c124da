import { expect, it } from '@jest/globals';
import type { StoreError } from '#store';
import { RedisStore } from '#store/redis';
import { cellsPattern, redisCluster } from '../support/stores.js';
import { makeFilter, SEGMENTED } from './calls.js';
import { redisFacts } from './redis-facts.js';
import { storeContract } from './store-contract.js';

storeContract(redisCluster, (subject) => {
  redisFacts(subject);

  it('spreads the segments of a filter evenly over the masters', async () => {
    const filter = await makeFilter(subject.store, { segmentation: { ...SEGMENTED, minSegments: 12 } });
    const { segments } = filter.geometry;
    expect(segments % 3).toBe(0);
    const found = await subject.harness.find(cellsPattern(filter, '*'));
    const counts = subject.harness.clients.map((own) => found.filter(({ client }) => client === own).length);
    expect(counts).toEqual([segments / 3, segments / 3, segments / 3]);
  });

  it('is STORE_UNAVAILABLE, with a hint, through a node that is taken for a single server', async () => {
    const { options } = subject.harness.clients[0]!;
    const store = await RedisStore.open({ url: `redis://127.0.0.1:${options.port}`, timeoutMs: 2_000 });
    try {
      // Names are in one slot, filters in others: some of these calls meet a slot of another node.
      const attempts = Array.from({ length: 12 }, () => makeFilter(store, { segmentation: SEGMENTED }));
      const failed = (await Promise.allSettled(attempts)).filter((outcome) => outcome.status === 'rejected');
      expect(failed.length).toBeGreaterThan(0);
      for (const { reason } of failed) {
        const { code, message } = reason as StoreError;
        expect(code).toBe('STORE_UNAVAILABLE');
        expect(message).toContain('name the cluster instead');
      }
    } finally {
      await store.close();
    }
  });
});
