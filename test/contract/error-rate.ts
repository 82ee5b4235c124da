import { describe, expect, it } from '@jest/globals';
import { add, check, inBatches, items, makeFilter, SEGMENTED, tally } from './calls.js';
import type { Subject } from './subject.js';

const CAPACITY = 20_000;
const QUERIES = 40_000;
const ERROR_RATE = 1e-2;

/** libs/bloom measures a grid of capacities and rates. Here a store must keep one rate. */
export function errorRateContract(subject: Subject): void {
  describe('G2 error rate kept', () => {
    it.each(['counting', 'standard'] as const)('at capacity, %s', async (type) => {
      const { store } = subject;
      const filter = await makeFilter(store, {
        ...{ type, capacity: CAPACITY, errorRate: ERROR_RATE, segmentation: SEGMENTED },
      });
      await inBatches(add, store, filter, items(CAPACITY));
      const positives = tally(await inBatches(check, store, filter, items(QUERIES, 'absent')), 1);
      // Binomial bounds: at most four deviations above the mean, and high enough to show that the filter isn't
      // oversized.
      const mean = QUERIES * ERROR_RATE;
      expect(positives).toBeLessThan(mean + 4 * Math.sqrt(mean));
      expect(positives).toBeGreaterThan(mean * 0.7);
    });
  });
}
