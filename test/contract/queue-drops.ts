import { describe, expect, it } from '@jest/globals';
import { Added, Settled, type Filter } from '#store';
import { SWEEP_AFTER_MS } from '../../libs/store/src/sweeping.js';
import { clock } from '../support/clock.js';
import { exportFile, importFile } from '../support/export-files.js';
import { until } from '../support/until.js';
import { check, discover, expectRefusal, keyed, made, remove, tally } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { HELD_MS, urls } from './host-calls.js';
import { payloads } from './queue-calls.js';
import type { Subject } from './subject.js';
import { brokenCopy, SyncCalls } from './sync-calls.js';

/** Dropping entries of queues. */
export function queueDropsContract(subject: Subject): void {
  const calls = new EntryCalls(subject);
  const syncs = new SyncCalls(subject);
  const counts = async (filter: Filter): Promise<readonly number[]> => {
    const { waiting, leased, delayed, dead } = await calls.queueOf(filter);
    return [waiting, leased, delayed, dead];
  };

  describe.each(calls.kinds)('dropped entries of a queue %s', (_, make) => {
    it('are never leased again, from whichever state, and their URLs stay visited', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { of, held } = await calls.fill(filter, 15);
      const letters = (await subject.store.queue.deadLetters(filter, 100)).entries;
      const gone = Object.values(of).flatMap((some) => some.slice(0, -1));
      const all = Object.values(of).flat();
      await calls.drop(filter, await calls.ofUrls(filter, gone));
      expect(payloads(await calls.list(filter)).sort()).toEqual(
        all.filter((url) => !gone.includes(url)).sort(),
      );
      // The lease's entries that weren't dropped stay leased.
      const answers = await calls.ack(filter, held);
      expect(answers).toEqual(held.map((__, n) => (n < 14 ? Settled.Unknown : Settled.Done)));
      const put = await subject.store.queue.putBack(
        filter,
        letters.map(({ id }) => id),
        made(),
      );
      const done = letters.map(({ payload }) => (gone.includes(payload) ? Settled.Unknown : Settled.Done));
      expect([...put]).toEqual(done);
      clock.advance(2 * HELD_MS);
      const left = [of.waiting, of.delayed, of.scheduled, of.dead].map((some) => some.at(-1)!);
      expect((await calls.take(filter, 100)).sort()).toEqual(left.sort());
      expect(await check(subject.store, filter, all)).toEqual(all.map(() => 1));
      expect(await discover(subject.store, filter, all)).toEqual(all.map(() => Added.Present));
      expect(await calls.take(filter, 100)).toEqual([]);
    });

    it('no longer belong to a lease: its repeat leaves them out, and no release brings them back', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 4));
      const operation = { ...made(), repeat: true };
      const lease = () => subject.store.queue.lease(filter, 4, HELD_MS, operation);
      const leased = await lease();
      await calls.drop(filter, await calls.ofUrls(filter, urls('a', 2)));
      expect(payloads(await lease())).toEqual(urls('a', 2, 2));
      expect(await calls.extend(filter, leased.slice(0, 1), HELD_MS)).toEqual([Settled.Unknown]);
      expect(await calls.release(filter, leased.slice(1))).toEqual([0, 1, 1]);
      expect((await calls.take(filter)).sort()).toEqual(urls('a', 2, 2));
    });

    it('don’t come back when their lease or delay ends, even after a restart', async () => {
      let filter = await make();
      await discover(subject.store, filter, urls('a', 4));
      await calls.release(filter, await calls.lease(filter, 2, HELD_MS), { delayMs: HELD_MS });
      await calls.lease(filter, 2, HELD_MS);
      await calls.drop(filter, (await calls.list(filter)).slice(1));
      filter = await calls.reopened(filter);
      clock.advance(2 * HELD_MS);
      expect(await calls.take(filter)).toHaveLength(1);
    });

    it.each([
      ['dropped', 'drop'],
      ['forgotten', 'removeListed'],
    ] as const)('that are %s leave the counts within a minute, wherever they are', async (_, how) => {
      const filter = await make({ maxAttempts: 1 }, 'segmented');
      const { of } = await calls.fill(filter, 15);
      const gone = Object.values(of).flatMap((some) => some.slice(1));
      await calls[how](filter, await calls.ofUrls(filter, gone));
      expect(await counts(filter)).toEqual([15, 15, 15, 15]);
      clock.advance(SWEEP_AFTER_MS);
      await until('only live entries count', async () => {
        const { waiting, leased, delayed, dead, forgotten } = await calls.queueOf(filter);
        return waiting + leased + delayed + dead === 4 && forgotten === 0;
      });
      expect(await counts(filter)).toEqual([1, 1, 1, 1]);
      expect(payloads(await calls.list(filter)).sort()).toEqual(
        Object.values(of)
          .map(([first]) => first)
          .sort(),
      );
    });

    it('are those that the ids name, and no others', async () => {
      const filter = await make();
      const other = await make();
      await discover(subject.store, filter, urls('a', 3));
      await discover(subject.store, other, urls('a', 3));
      const own = await calls.list(filter);
      const foreign = (await calls.list(other)).map(({ id }) => id);
      const strange = [
        ...['', 'x', 'A'.repeat(40), '_'.repeat(40), '\u0000', 'é'.repeat(40), 'a'.repeat(10_000)],
        ...[own[0]!.id.slice(1), `${own[0]!.id}A`, own[0]!.id.slice(0, -1), own[0]!.id.slice(0, 28)],
        // Births that no entry has yet.
        ...own.map(({ id }) => withBirth(id, 2 ** 48 - 1)),
        ...own.map(({ id }) => withBirth(id, 0)),
      ];
      await subject.store.queue.drop(filter, [...strange, ...foreign], made());
      await subject.store.queue.drop(filter, [], made());
      expect(await calls.list(filter)).toEqual(own);
      await remove(subject.store, filter, urls('a', 1));
      await discover(subject.store, filter, urls('a', 1));
      expect((await calls.take(filter)).sort()).toEqual(urls('a', 3));
    });

    it('don’t include later entries for the same URL', async () => {
      const filter = await make();
      const [a] = urls('a', 1);
      await discover(subject.store, filter, [a!]);
      const [first] = await calls.list(filter);
      await calls.ack(filter, await calls.lease(filter, 1));
      await remove(subject.store, filter, [a!]);
      await discover(subject.store, filter, [a!, ...urls('b', 1)]);
      await calls.drop(filter, [first!]);
      const now = await calls.list(filter);
      expect(payloads(now).sort()).toEqual([a, ...urls('b', 1)]);
      expect(now.map(({ id }) => id)).not.toContain(first!.id);
      await calls.drop(
        filter,
        now.filter(({ payload }) => payload === a),
      );
      expect(payloads(await calls.list(filter))).toEqual(urls('b', 1));
      await remove(subject.store, filter, [a!]);
      expect(await discover(subject.store, filter, [a!])).toEqual([Added.New]);
      expect(payloads(await calls.list(filter)).sort()).toEqual([a, ...urls('b', 1)]);
      expect((await calls.take(filter)).sort()).toEqual([a, ...urls('b', 1)]);
    });

    it('don’t bring back forgotten entries for their URLs', async () => {
      const filter = await make();
      const [a] = urls('a', 1);
      await discover(subject.store, filter, [a!]);
      const [first] = await calls.list(filter);
      const some = await calls.lease(filter, 1, HELD_MS);
      await remove(subject.store, filter, [a!]);
      await discover(subject.store, filter, [a!]);
      some.push(...(await calls.lease(filter, 1, HELD_MS)));
      await remove(subject.store, filter, [a!]);
      await calls.drop(filter, [first!]);
      expect(await calls.list(filter)).toEqual([]);
      await calls.reopened(filter);
      expect(await calls.ack(filter, some)).toEqual([Settled.Unknown, Settled.Unknown]);
    });

    it('are dropped once: repeating the call changes nothing', async () => {
      const filter = await make();
      await discover(subject.store, filter, urls('a', 3));
      const [first, ...others] = await calls.list(filter);
      const operation = keyed();
      await calls.drop(filter, [first!], operation);
      await calls.drop(filter, [first!], operation);
      await calls.drop(filter, [first!, ...others], operation);
      expect(await calls.list(filter)).toEqual(others);
      await expectRefusal(
        calls.drop(filter, others, { ...operation, fingerprint: 'another' }),
        'IDEMPOTENCY_KEY_REUSED',
      );
      expect(await calls.list(filter)).toEqual(others);
    });

    it('stay visited after a sync that was open', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { scheduled, ...of } = (await calls.fill(filter, 20)).of;
      const all = Object.values(of).flat();
      const [before] = of.waiting;
      await calls.drop(filter, await calls.ofUrls(filter, [before!]));
      const sync = await syncs.open(filter);
      const gone = Object.values(of).flatMap((some) => some.slice(1, -1));
      await calls.drop(await syncs.current(filter), await calls.ofUrls(filter, gone));
      await syncs.commit(filter, sync);
      const now = await syncs.current(filter);
      // An entry dropped before the opening isn't in the queue that the sync keeps.
      expect(await check(subject.store, now, all)).toEqual(all.map((url) => (url === before ? 0 : 1)));
      // No sync keeps scheduled entries.
      expect(await check(subject.store, now, scheduled)).toEqual(scheduled.map(() => 0));
      const left = Object.values(of).flatMap((some) => [some[0]!, some.at(-1)!]);
      expect(payloads(await calls.list(now)).sort()).toEqual(left.filter((url) => url !== before).sort());
    });

    it('stay visited if a sync has not copied them yet, unless their ids are stale', async () => {
      const filter = await make({ capacity: 4_000 });
      const all = ['a', 'b', 'c'].flatMap((name) => urls(name, 900));
      await discover(subject.store, filter, all);
      const listed = await calls.list(filter);
      const forgotten = payloads(await calls.lease(filter, 20));
      await remove(subject.store, filter, forgotten);
      clock.advance(SWEEP_AFTER_MS);
      await until('it is swept', async () => (await calls.queueOf(filter)).forgotten === 0);
      const sync = await brokenCopy(subject, filter);
      await calls.drop(await syncs.current(filter), listed);
      await syncs.commit(filter, sync);
      const now = await syncs.current(filter);
      const kept = all.filter((url) => !forgotten.includes(url));
      expect(tally(await check(subject.store, now, kept), 0)).toBe(0);
      expect(tally(await check(subject.store, now, forgotten), 1)).toBe(0);
      expect(await calls.take(now)).toEqual([]);
    });

    it('aren’t exported, and their ids name no entry in the copy', async () => {
      const filter = await make({ maxAttempts: 1 });
      const { of } = await calls.fill(filter, 8);
      const before = await calls.list(filter);
      const gone = Object.values(of).map(([first]) => first!);
      await calls.drop(filter, await calls.ofUrls(filter, gone));
      const file = await subject.harness.still(() => exportFile(subject.store, filter));
      const copied = await importFile(subject.store, file, made(), `${filter.name}.copy`);
      const found = await calls.list(copied);
      expect(payloads(found).sort()).toEqual(payloads(await calls.list(filter)).sort());
      expect(new Set(found.map(({ state }) => state))).toEqual(new Set(['waiting', 'scheduled', 'dead']));
      await calls.drop(copied, before);
      expect(await calls.list(copied)).toEqual(found);
      await calls.drop(copied, found);
      expect(await calls.list(copied)).toEqual([]);
      expect(await calls.take(copied)).toEqual([]);
    });
  });

  describe('dropped entries of a host', () => {
    it('count towards maxUrls after they were dropped', async () => {
      const filter = await calls.make({ maxUrls: 3 });
      await discover(subject.store, filter, urls('a', 3));
      await calls.drop(filter, await calls.list(filter));
      expect(await discover(subject.store, filter, urls('a', 1, 3))).toEqual([Added.Limited]);
      await remove(subject.store, filter, urls('a', 1));
      expect(await discover(subject.store, filter, urls('a', 2, 3))).toEqual([Added.New, Added.Limited]);
      expect(payloads(await calls.list(filter, { host: 'a.example' }))).toEqual(urls('a', 1, 3));
    });
  });
}

/** The id of the same entry with a different birth: see entry-id.ts. */
function withBirth(id: string, birth: number): string {
  const bytes = Buffer.from(id, 'base64url');
  bytes.writeUIntBE(birth, 20, 6);
  return bytes.toString('base64url');
}
