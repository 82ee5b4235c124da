import { afterEach, expect, it } from '@jest/globals';
import { MovedClock } from '../../../../test/support/moved-clock.js';
import { until } from '../../../../test/support/until.js';
import type { EntryPage, Filter } from '../port/index.js';
import { SWEEP_AFTER_MS } from '../sweeping.js';
import type { EmbeddedStore } from './embedded-store.js';
import { createFilter, keys, operation, positions, Workbench } from './testing/fixtures.js';

/** A lease or a delay that does not end during a test. */
const HELD_MS = 80_000_000;

const bench = new Workbench();
afterEach(() => bench.tidy());

const take = (store: EmbeddedStore, filter: Filter) => store.queue.lease(filter, 100, HELD_MS, operation());

it('a page reads a limited number of leased entries to find those whose leases have ended', async () => {
  const clock = new MovedClock();
  const store = await bench.open({ clock });
  const filter = await createFilter(store, { kind: 'visited-set' });
  await store.counters.add(filter, positions(filter, keys(1_001)), operation(), { payloads: keys(1_001) });
  for (let n = 0; n < 1_000; n += 100) await take(store, filter);
  await store.queue.lease(filter, 1, 1_000, operation());
  clock.advance(1_000);
  const pages: string[][] = [];
  let after: string | undefined;
  do {
    const page: EntryPage = await store.queue.entries(filter, { state: 'waiting' }, 1_000, after);
    pages.push(page.entries.map(({ payload }) => payload));
    after = page.next;
  } while (after !== undefined);
  expect(pages).toEqual([[], [], keys(1, 1_000)]);
});

/** Moves all entries. */
type Move = (store: EmbeddedStore, filter: Filter, clock: MovedClock) => Promise<unknown>;
const MOVES: readonly (readonly [state: string, move: Move])[] = [
  ['waiting', async () => undefined],
  ['leased', take],
  [
    'leased for a time that has ended',
    async (store, filter, clock) => {
      await store.queue.lease(filter, 100, 1_000, operation());
      clock.advance(1_000);
    },
  ],
  [
    'delayed',
    async (store, filter) => {
      const ids = (await take(store, filter)).map(({ id }) => id);
      return store.queue.release(filter, ids, operation(), { delayMs: HELD_MS });
    },
  ],
];

it.each(MOVES)(
  '%s entries are listed once each if a sweep shortens their row between pages',
  async (_, move) => {
    const clock = new MovedClock();
    const store = await bench.open({ clock });
    const filter = await createFilter(store, { kind: 'visited-set' });
    await store.counters.add(filter, positions(filter, keys(20)), operation(), { payloads: keys(20) });
    await move(store, filter, clock);
    const found: string[] = [];
    let after: string | undefined;
    do {
      const { entries, next }: EntryPage = await store.queue.entries(filter, {}, 3, after);
      found.push(...entries.map(({ payload }) => payload));
      after = next;
      // Entries before and after the cursor.
      const forgotten = found.length === 6 ? [...keys(2), ...keys(5, 8)] : [];
      await store.counters.remove(filter, positions(filter, forgotten), operation());
      clock.advance(2 * SWEEP_AFTER_MS);
      await until('it is swept', async () => (await store.describe(filter)).queue?.forgotten === 0);
    } while (after !== undefined);
    expect(found).toEqual([...keys(8), ...keys(7, 13)]);
  },
);
