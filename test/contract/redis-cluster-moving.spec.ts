import { expect, it } from '@jest/globals';
import { movingCluster } from '../support/moving-cluster.js';
import { storeContract } from './store-contract.js';

storeContract(movingCluster, (subject) => {
  it('all of this while slots were moved under it: redirected, and told to try again', async () => {
    const { harness } = subject;
    const { mover } = harness;
    const seen = { slots: mover.movedSlots, keys: mover.movedKeys };
    const errors = {
      moved: await harness.errors('MOVED'),
      ask: await harness.errors('ASK'),
      tryAgain: await harness.errors('TRYAGAIN'),
    };
    console.log(
      `moved ${seen.slots} slots with ${seen.keys} keys; errors of Redis: ${JSON.stringify(errors)}`,
    );
    expect(seen.keys).toBeGreaterThan(100);
    expect(Math.min(...Object.values(errors))).toBeGreaterThan(0);
  });
});
