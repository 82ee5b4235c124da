import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Settled } from '#store';
import { add, discover, expectRefusal, filterSpec, keyed, made, makeFilter } from './calls.js';
import type { Subject } from './subject.js';

export function operationIdsContract(subject: Subject): void {
  describe('G5 the identity of an operation', () => {
    it('includes the whole fingerprint', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      const [short, long] = [keyed(), keyed()];
      await add(store, filter, ['a'], { ...short, fingerprint: 'request' });
      await add(store, filter, ['a'], { ...long, fingerprint: 'requests' });
      const swapped = [
        { ...short, fingerprint: 'requests' },
        { ...long, fingerprint: 'request' },
      ];
      for (const other of swapped)
        await expectRefusal(add(store, filter, ['a'], other), 'IDEMPOTENCY_KEY_REUSED');
    });

    it('includes the id’s origin: a caller may use one that the service made', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { semantics: 'multiset' });
      const own = made();
      expect(await add(store, filter, ['a'], own)).toEqual([1]);
      expect(await add(store, filter, ['a'], keyed(own.id))).toEqual([0]);
      expect(await add(store, filter, ['a'], { ...own, repeat: true })).toEqual([1]);
    });

    it('includes the verb: an acknowledgement and a release may share an id', async () => {
      const { store } = subject;
      const filter = await makeFilter(store, { kind: 'visited-set' });
      await discover(store, filter, ['a', 'b']);
      const [first, second] = await store.queue.lease(filter, 2, 60_000, made());
      const operation = keyed();
      expect([...(await store.queue.ack(filter, [first!.id], operation))]).toEqual([Settled.Done]);
      expect([...(await store.queue.release(filter, [second!.id], operation))]).toEqual([Settled.Done]);
      expect((await store.describe(filter)).queue).toMatchObject({ waiting: 1, leased: 0 });
    });

    it('includes the name for creations: one id makes two filters', async () => {
      const { store } = subject;
      const id = randomUUID();
      const specs = [filterSpec(), filterSpec()];
      for (const spec of specs) {
        const { filter, created } = await store.create(spec, keyed(id));
        expect([filter.name, created]).toEqual([spec.name, true]);
      }
      for (const spec of specs) await store.drop(spec.name, spec.kind, keyed(id));
      for (const { name, kind } of specs)
        await expectRefusal(store.open(name, kind, { fresh: true }), 'FILTER_NOT_FOUND');
    });
  });
}
