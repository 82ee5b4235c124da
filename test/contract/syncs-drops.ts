import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Added, type Filter } from '#store';
import { clock } from '../support/clock.js';
import { until } from '../support/until.js';
import { makeFilter, type FilterOptions } from './calls.js';
import { EntryCalls } from './entry-calls.js';
import { hostOptions, HELD_MS, urls } from './host-calls.js';
import { payloads, QueueCalls } from './queue-calls.js';
import type { Subject } from './subject.js';
import { SyncCalls } from './sync-calls.js';

const DAY_MS = 86_400_000;
/** More than an instance may take for a step. */
const LONG_MS = 3 * 60_000;
/** Enough that the store drops them in many steps. */
const DROPPED = 6_000;
const KEPT = 20;

/** A sync's commit drops scheduled entries that the sync doesn't keep. It does so in steps. */
export function syncDropsContract(subject: Subject): void {
  const calls = new SyncCalls(subject);
  const queue = new QueueCalls(subject);
  const entries = new EntryCalls(subject);
  const [kept, dropped] = [urls('kept', KEPT), urls('dropped', DROPPED)];
  const OPTIONS: readonly FilterOptions[] = [
    { kind: 'visited-set', errorRate: 1e-9, capacity: 8_000 },
    hostOptions({}, { capacity: 8_000 }),
  ];

  /**
   * A set with a commit that has replaced the set's layers and is dropping entries. `commit` settles with the commit.
   */
  async function dropping(options: FilterOptions): Promise<{ filter: Filter; commit: Promise<unknown> }> {
    const filter = await makeFilter(subject.store, options);
    for (let at = 0; at < DROPPED; at += 2_000)
      await queue.discover(filter, dropped.slice(at, at + 2_000), { delayMs: DAY_MS });
    await queue.discover(filter, kept, { delayMs: DAY_MS });
    const sync = await calls.open(filter);
    await calls.keep(filter, sync, kept);
    const commit = calls.commit(filter, sync).catch(() => undefined);
    for (;;) {
      await setImmediate();
      const now = await calls.current(filter);
      if (now.base === filter.base) continue;
      const { scheduled, forgotten } = (await subject.store.describe(now)).queue!;
      expect(scheduled - forgotten).toBeGreaterThan(KEPT);
      return { filter: now, commit };
    }
  }

  /** The same set, but the store was closed during the drop. */
  async function brokenDrop(options: FilterOptions): Promise<Filter> {
    const { filter, commit } = await dropping(options);
    await subject.reopen();
    await commit;
    return calls.current(filter);
  }

  const exported = async (filter: Filter): Promise<string[]> => {
    const found: string[] = [];
    for await (const part of subject.store.transfer.export(filter))
      if (part.type === 'queue') found.push(...part.entries.map(({ payload }) => String(payload)));
    return found.sort();
  };

  describe.each(OPTIONS)('the scheduled entries that a sync doesn’t keep, %j', (options) => {
    it('are in no export that begins while they are dropped', async () => {
      const { filter, commit } = await dropping(options);
      expect(new Set(await subject.harness.still(() => exported(filter)))).toEqual(new Set(kept));
      await commit;
    });

    it('are in no export that begins after their drop was interrupted', async () => {
      const filter = await brokenDrop(options);
      expect(new Set(await subject.harness.still(() => exported(filter)))).toEqual(new Set(kept));
    });

    it('leave the others in the lists of their states, although their drop was interrupted', async () => {
      const filter = await brokenDrop(options);
      clock.advance(DAY_MS);
      // Entries that stay are scheduled until the store knows that they stay, and then wait.
      const found: string[] = [];
      for (const state of ['scheduled', 'waiting'] as const)
        found.push(...payloads(await entries.list(filter, { state })));
      expect(kept.filter((url) => !found.includes(url))).toEqual([]);
    });

    it('never come due, even if their drop is interrupted and takes more than a minute', async () => {
      const filter = await brokenDrop(options);
      clock.advance(LONG_MS);
      // Some entries that are dropped last, and some that are dropped first.
      const again = [...dropped.slice(0, 2), ...dropped.slice(-2)];
      expect(await queue.discover(filter, again)).toEqual(again.map(() => Added.New));
      clock.advance(DAY_MS);
      const waiting = new Set(payloads(await entries.list(filter, { state: 'waiting' })));
      expect(dropped.filter((url) => !again.includes(url) && waiting.has(url))).toEqual([]);
      expect(await queue.discover(filter, urls('new', 1))).toEqual([Added.New]);
      const found: string[] = [];
      const expected = [...kept, ...again, ...urls('new', 1)];
      await until('the others come due', async () => {
        found.push(...payloads(await queue.lease(filter, 1_000, HELD_MS)));
        return found.length >= expected.length;
      });
      expect(found.sort()).toEqual(expected.sort());
      await until('the queue has no others', async () => {
        expect(await queue.lease(filter, 1_000, HELD_MS)).toEqual([]);
        const { waiting, scheduled, forgotten } = (await subject.store.describe(filter)).queue!;
        return waiting + scheduled - forgotten <= 0;
      });
    });
  });
}
