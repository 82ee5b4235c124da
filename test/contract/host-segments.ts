import { describe, expect, it } from '@jest/globals';
import type { Filter } from '#store';
import { discover, keyed } from './calls.js';
import { DELAY_MS, HELD_MS, HostCalls, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';

/** More hosts than one script leases from, or than one lease of the embedded store. */
const HOSTS = 300;

/** Per-host queues: calls that concern hosts of several segments. */
export function hostSegmentsContract(subject: Subject): void {
  const calls = new HostCalls(subject);
  const names = Array.from({ length: HOSTS }, (_, n) => `h${n}`);
  const all = (each: number): string[] => names.flatMap((host) => urls(host, each));

  describe('a lease from hosts of all segments', () => {
    it('takes no more than it asks for, and its repeat returns the same entries', async () => {
      const filter = await calls.make({ delayMs: DELAY_MS });
      await discover(subject.store, filter, all(2));
      const operation = keyed();
      const lease = (again: boolean, of: Filter) =>
        subject.store.queue.lease(of, HOSTS - 50, HELD_MS, { ...operation, repeat: again });
      const first = await lease(false, filter);
      expect(first.length).toBeGreaterThan(0);
      expect(first.length).toBeLessThanOrEqual(HOSTS - 50);
      expect(await lease(true, filter)).toEqual(first);
      const after = await calls.reopened(filter);
      expect(await lease(true, after)).toEqual(first);
      const found = payloads(first);
      for (let some = await calls.take(after, HOSTS); some.length > 0; some = await calls.take(after, HOSTS))
        found.push(...some);
      expect(found.sort()).toEqual(all(1).sort());
    });

    it('paces each host among concurrent workers', async () => {
      const filter = await calls.make({ delayMs: DELAY_MS, maxLeased: 1 });
      await discover(subject.store, filter, all(3));
      const leased: string[] = [];
      for (let before = -1; before < leased.length;) {
        before = leased.length;
        const workers = Array.from({ length: 6 }, () => calls.lease(filter, HOSTS, HELD_MS));
        const found = (await Promise.all(workers)).flat();
        await calls.ack(filter, found);
        leased.push(...payloads(found));
      }
      expect(leased.sort()).toEqual(all(1).sort());
    });
  });

  describe('a waiting lease', () => {
    it('is woken by an entry in any segment', async () => {
      const filter = await calls.make({});
      for (const [n, host] of calls.apart().entries()) {
        const found = calls.onceWoken(filter);
        await discover(subject.store, filter, urls(host, 1, n));
        expect(await found).toEqual(urls(host, 1, n));
      }
    });

    it('is woken when the first delay in any segment is over', async () => {
      for (const host of calls.apart()) {
        const filter = await calls.make({ delayMs: DELAY_MS });
        await subject.store.hosts.set(filter, `${host}.example`, { own: { delayMs: 100 } }, keyed());
        await discover(
          subject.store,
          filter,
          calls.apart().flatMap((name) => urls(name, 2)),
        );
        await calls.take(filter);
        expect(await calls.onceWoken(filter)).toEqual(urls(host, 1, 1));
      }
    });
  });
}
