import { describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { made, makeFilter, type FilterOptions } from './calls.js';
import { HostCalls, HELD_MS, urls } from './host-calls.js';
import type { Subject } from './subject.js';

const DAY_MS = 86_400_000;

/** Exports and imports of priorities and scheduled entries. */
export function transferOrderContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  let copies = 0;
  // An export that meets a moving slot may have entries twice.
  const copy = (filter: Filter): Promise<Filter> =>
    subject.harness.still(async () => {
      const file = await exportFile(subject.store, filter);
      return importFile(subject.store, file, made(), `${filter.name}.${copies++}`);
    });
  const lease = async (filter: Filter) =>
    (await calls.lease(filter, 9, HELD_MS)).map(({ payload, attempt }) => [payload.at(-1), attempt]);
  const [again, dead, normal, gone, low, high, later, forgotten] = urls('a', 8) as [string, ...string[]];
  const OPTIONS: readonly FilterOptions[] = [{ kind: 'visited-set', errorRate: 1e-9 }, calls.options({})];

  describe('export and import', () => {
    it.each(OPTIONS)('carry priorities, and scheduled entries, which stay scheduled: %j', async (options) => {
      const filter = await makeFilter(subject.store, { ...options, maxAttempts: 2 });
      await calls.discover(filter, [again, dead!], { priority: 'low' });
      const leased = await calls.lease(filter, 2);
      await calls.ack(filter, leased.slice(0, 1), 3 * DAY_MS);
      await calls.release(filter, leased.slice(1));
      await calls.release(filter, await calls.lease(filter, 1));
      await calls.discover(filter, [normal!, gone!]);
      await calls.discover(filter, [low!], { priority: 'low' });
      await calls.discover(filter, [high!], { priority: 'high' });
      await calls.discover(filter, [later!, forgotten!], { priority: 'high', delayMs: 3 * DAY_MS });
      await calls.forget(filter, [gone!, forgotten!]);
      const copied = await copy(await copy(filter));
      expect(await calls.queueOf(copied)).toMatchObject({
        ...{ waiting: 3, leased: 0, delayed: 0, scheduled: 2, dead: 1, forgotten: 0 },
      });
      expect(await lease(copied)).toEqual([
        [high!.at(-1), 1],
        [normal!.at(-1), 1],
        [low!.at(-1), 1],
      ]);
      await calls.putBack(copied, new Set([dead!]));
      clock.advance(2 * DAY_MS);
      const before = await lease(copied);
      expect(before.filter(([payload]) => payload === later!.at(-1))).toEqual([]);
      clock.advance(DAY_MS);
      const back = [...before, ...(await lease(copied))];
      for (const [payload, at] of [
        [later!, 1],
        [again, 1],
        [dead!, 1],
      ] as const)
        expect(back).toContainEqual([payload.at(-1), at]);
    });
  });
}
