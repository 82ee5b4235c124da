import { describe, expect, it } from '@jest/globals';
import { Settled } from '#store';
import { decodeEntryId, encodeEntryId } from '../../libs/store/src/entry-id.js';
import { clock } from '../support/clock.js';
import { discover, items, made, makeFilter } from './calls.js';
import type { Subject } from './subject.js';

const LONG_MS = 60_000;

export function leasesContract(subject: Subject): void {
  describe('leases', () => {
    it('are as many as requested, from returned and waiting entries together', async () => {
      const { queue } = subject.store;
      const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
      await discover(subject.store, filter, items(10));
      expect(await queue.lease(filter, 3, 1, made())).toHaveLength(3);
      clock.advance(2);
      expect(await queue.lease(filter, 5, LONG_MS, made())).toHaveLength(5);
      expect(await queue.lease(filter, 10, LONG_MS, made())).toHaveLength(5);
    });

    it('of any size have distinct entries', async () => {
      const { queue } = subject.store;
      const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
      await discover(subject.store, filter, items(400));
      const leased = [
        ...(await queue.lease(filter, 350, LONG_MS, made())),
        ...(await queue.lease(filter, 350, LONG_MS, made())),
      ];
      expect(leased.map(({ payload }) => payload).sort()).toEqual(items(400).sort());
      expect(new Set(leased.map(({ id }) => id)).size).toBe(400);
    });

    it.each(['ack', 'release'] as const)(
      'from a segment that doesn’t exist are unknown to %s',
      async (verb) => {
        const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
        const id = encodeEntryId(filter.generation, {
          ...{ of: 'lease', segment: 4_000_000_000, number: 1, index: 0 },
          hashPrefix: new Uint8Array(8),
        });
        expect([...(await subject.store.queue[verb](filter, [id], made()))]).toEqual([Settled.Unknown]);
      },
    );

    it.each(['ack', 'release'] as const)('that were never issued are unknown to %s', async (verb) => {
      const { queue } = subject.store;
      const filter = await makeFilter(subject.store, { kind: 'visited-set', errorRate: 1e-9 });
      await discover(subject.store, filter, ['a']);
      const [{ id } = { id: '' }] = await queue.lease(filter, 1, LONG_MS, made());
      const named = decodeEntryId(filter.generation, id)!;
      const others = [
        { ...named, number: named.number + 1 },
        { ...named, hashPrefix: new Uint8Array(8) },
        { ...named, of: 'dead-letter' as const },
      ].map((parts) => encodeEntryId(filter.generation, parts));
      expect([...(await queue[verb](filter, [...others, id], made()))]).toEqual([
        ...others.map(() => Settled.Unknown),
        Settled.Done,
      ]);
    });
  });
}
