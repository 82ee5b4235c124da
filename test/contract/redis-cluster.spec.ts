import { expect, it } from '@jest/globals';
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
});
