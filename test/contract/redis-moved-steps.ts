import { expect, it, jest } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import { segmentKeysOf } from '../../libs/store/src/redis/layout/filter.js';
import { removeUnclaimedScript } from '../../libs/store/src/redis/scripts/unclaimed.js';
import { Segments } from '../../libs/store/src/redis/segments/segments.js';
import type { RedisHarness } from '../support/stores.js';
import { moveSlots } from '../support/redis-slots.js';
import { makeFilter } from './calls.js';
import { QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const DAY_MS = 86_400_000;

/** Runs `act` while the slot of an existing key is on another master. */
async function elsewhere<T>(harness: RedisHarness, key: string, act: () => Promise<T>): Promise<T> {
  const [found] = await harness.find(key);
  if (!found) throw new Error(`no master has the key ${key}`);
  const other = harness.clients.find((client) => client !== found.client) as Redis;
  const [home, away] = [found.client, other].map((client) => ({ port: client.options.port!, client }));
  const slots = [calculateSlot(key)];
  await moveSlots(home!, away!, slots);
  try {
    return await act();
  } finally {
    await moveSlots(away!, home!, slots);
  }
}

/** The removal of entries in a cluster whose slots move. */
export function redisMovedSteps(subject: Subject<RedisHarness>): void {
  it('the commit of a sync drops scheduled entries even if the slot is on another master for one step', async () => {
    const { harness, store } = subject;
    await harness.still(async () => {
      const syncs = new SyncCalls(subject);
      const filter = await makeFilter(store, { kind: 'visited-set', errorRate: 1e-9 });
      await new QueueCalls(subject).discover(filter, ['listed', 'dropped'], { delayMs: DAY_MS });
      const sync = await syncs.open(filter);
      await syncs.keep(filter, sync, ['listed']);
      const { changeQueue } = Segments.prototype;
      let moves = 0;
      const steps = jest.spyOn(Segments.prototype, 'changeQueue').mockImplementation(function (
        this: Segments,
        ...call
      ) {
        const [script, changed, segment, [entries]] = call;
        const isStep = script === removeUnclaimedScript && (entries as Buffer).length > 0;
        if (!isStep || moves > 0) return changeQueue.apply(this, call);
        moves++;
        return elsewhere(harness, segmentKeysOf(changed, segment).cells, () => changeQueue.apply(this, call));
      });
      try {
        expect(await syncs.commit(filter, sync)).toMatchObject({ state: 'committed' });
      } finally {
        steps.mockRestore();
      }
      expect(moves).toBe(1);
      const exported: string[] = [];
      for await (const part of store.transfer.export(await syncs.current(filter)))
        if (part.type === 'queue')
          exported.push(...part.entries.map(({ payload }) => Buffer.from(payload).toString()));
      expect(exported).toEqual(['listed']);
    });
  });
}
