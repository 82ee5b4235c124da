import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import { planGeometry } from '#bloom';
import type { StoreError } from '#store';
import { RedisStore } from '#store/redis';
import { segmentTags } from '../../libs/store/src/redis/layout/keys.js';
import { cellsPattern, redisCluster } from '../support/stores.js';
import { makeFilter, SEGMENTED } from './calls.js';
import { redisFacts } from './redis-facts.js';
import { Subject } from './subject.js';

/**
 * Tests that need a cluster whose slots stay in place. redis-cluster-moving.spec.ts runs the contract, with the same
 * user.
 */
describe(`${redisCluster.name} store`, () => {
  const subject = new Subject(redisCluster);
  beforeAll(() => subject.setUp());
  afterAll(() => subject.tearDown());

  redisFacts(subject);

  it.each([150_000, 400_000, 1_000_000])(
    'gives each master its share of a filter’s cells for %d items, within 10 %%',
    async (capacity) => {
      const { segmentation } = subject.store;
      const filter = await makeFilter(subject.store, { capacity, segmentation });
      const found = await subject.harness.find(cellsPattern(filter, '*'));
      expect(found).toHaveLength(filter.geometry.segments);
      const bytes = subject.harness.clients.map(async (own) => {
        const keys = found.filter(({ client }) => client === own).map(({ key }) => key);
        const sizes = await Promise.all(keys.map((key) => own.strlen(key)));
        return sizes.reduce((sum, size) => sum + size, 0);
      });
      expectEven(await Promise.all(bytes));
    },
  );

  it('has a run of segments for each master’s hosts', () => {
    expect(subject.store.runs).toBe(subject.harness.clients.length);
  });

  it.each([1e7, 3e7, 1e8, 4e8])('would also give each master its share for %d items', async (capacity) => {
    const { segmentation } = subject.store;
    const { segments } = planGeometry({ capacity, errorRate: 1e-3, cellBits: 4 }, segmentation);
    const tags = segmentTags(randomBytes(8).toString('hex'), segments);
    const slots = tags.map((tag) => calculateSlot(tag));
    const owned = subject.harness.clients.map(async (client) => {
      const ranges = await slotsOf(client);
      return slots.filter((slot) => ranges.some(([first, last]) => slot >= first && slot <= last)).length;
    });
    const counts = await Promise.all(owned);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(segments);
    expectEven(counts);
  });

  it('is STORE_UNAVAILABLE, with a hint, if one node is configured as a single server', async () => {
    const { options } = subject.harness.clients[0]!;
    const store = await RedisStore.open({ url: `redis://127.0.0.1:${options.port}`, timeoutMs: 10_000 });
    try {
      // The names are in one slot and the filters in others, so some of these calls meet a slot on another node.
      const attempts = Array.from({ length: 12 }, () => makeFilter(store, { segmentation: SEGMENTED }));
      const failed = (await Promise.allSettled(attempts)).filter((outcome) => outcome.status === 'rejected');
      expect(failed.length).toBeGreaterThan(0);
      for (const { reason } of failed) {
        const { code, message } = reason as StoreError;
        expect(code).toBe('STORE_UNAVAILABLE');
        expect(message).toContain('name the nodes in REDIS_CLUSTER');
      }
    } finally {
      await store.close();
    }
  });
});

/** Expects three shares, each within 10 % of a third. */
function expectEven(shares: readonly number[]): void {
  const fair = shares.reduce((sum, share) => sum + share, 0) / 3;
  expect(shares).toHaveLength(3);
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.9 * fair);
  expect(Math.max(...shares)).toBeLessThanOrEqual(1.1 * fair);
}

/** The slot ranges that a master serves, as first and last slot. */
async function slotsOf(master: Redis): Promise<[number, number][]> {
  const slots = await master.cluster('SLOTS');
  return slots
    .filter(([, , node]) => node?.[1] === master.options.port)
    .map(([first, last]) => [first, last]);
}
