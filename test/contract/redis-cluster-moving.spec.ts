import { it } from '@jest/globals';
import { movingCluster } from '../support/moving-cluster.js';
import { until } from '../support/until.js';
import { add, items, makeFilter, SEGMENTED } from './calls.js';
import { redisMovedSteps } from './redis-moved-steps.js';
import { storeContract } from './store-contract.js';

storeContract(movingCluster, (subject) => {
  redisMovedSteps(subject);

  it('all of the above ran while slots moved: with redirects and TRYAGAIN', async () => {
    const { harness, store } = subject;
    const { mover } = harness;
    const filter = await makeFilter(store, { capacity: 10_000, segmentation: SEGMENTED });
    const errors: Record<string, number> = {};
    await until('more than 100 keys were moved, and calls met each kind of error', async () => {
      await add(store, filter, items(100, `after ${mover.movedKeys}`));
      for (const name of ['MOVED', 'ASK', 'TRYAGAIN']) errors[name] = await harness.errors(name);
      return mover.movedKeys > 100 && Math.min(...Object.values(errors)) > 0;
    });
    console.log(
      `moved ${mover.movedSlots} slots with ${mover.movedKeys} keys; errors of Redis: ${JSON.stringify(errors)}`,
    );
  });
});
