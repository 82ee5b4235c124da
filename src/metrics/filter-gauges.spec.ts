import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { StaleFilterError, StoreError, type Filter, type FilterKind } from '#store';
import { filterOf, STATS } from '../../test/support/described-filter.js';
import { BusyFilters, MOST_FILTERS } from './busy-filters.js';
import { FilterGauges, FRESH_MS, LATE_MS } from './filter-gauges.js';

/** A store that has only names. */
class Names {
  readonly names = new Set<string>();
  /** Errors that descriptions throw, by name. */
  readonly faults = new Map<string, Error>();
  ready = true;
  lost = false;
  lists = 0;
  described: string[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  /** Descriptions wait for this. */
  gate: Promise<void> = Promise.resolve();

  /** Makes descriptions wait until the returned function is called. */
  close(): () => Promise<void> {
    let open = (): void => undefined;
    this.gate = new Promise((resolve) => (open = resolve));
    return async () => {
      open();
      // The read in progress ends before the next timer, because it waits for nothing else.
      await new Promise((resolve) => setImmediate(resolve));
    };
  }

  async readiness() {
    return { ready: this.ready, lost: this.lost, warnings: [] };
  }

  async list(kind: FilterKind, limit: number) {
    this.lists++;
    const names = kind === 'filter' ? [...this.names].sort() : [];
    return { filters: names.slice(0, limit).map((name) => filterOf(name, kind)) };
  }

  async open(name: string, kind: FilterKind, { fresh = false } = {}): Promise<Filter> {
    if (!this.names.has(name)) throw new StoreError('FILTER_NOT_FOUND', 'gone');
    if (fresh) this.faults.delete(name);
    return filterOf(name, kind);
  }

  async describe({ name }: Filter) {
    this.described.push(name);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    await this.gate;
    this.atOnce--;
    const fault = this.faults.get(name);
    if (fault) throw fault;
    return STATS;
  }
}

/** A clock that moves only when a test moves it. */
let time = 0;
const clock = { now: () => time, monotonic: () => time };
let store: Names;
let registry: Registry;
let filters: BusyFilters;
let gauges: FilterGauges;
beforeEach(() => {
  store = new Names();
  filters = new BusyFilters(clock);
  gauges = gaugesWith({});
});

function gaugesWith(more: { patienceMs?: number }): FilterGauges {
  registry = new Registry();
  return new FilterGauges({ store, filters, clock, registry, ...more });
}

/** The filters on the page, or undefined if the page says that the store did not answer. */
async function shown(): Promise<string[] | undefined> {
  const text = await registry.metrics();
  const names = Array.from(
    text.matchAll(/^unseen_filter_items\{.*filter="([^"]*)"\} 3$/gm),
    ([, name = '']) => name,
  );
  const success = /^unseen_store_scrape_success ([01])$/m.exec(text)?.[1];
  if (success === '1') return names.sort();
  expect([success, names]).toEqual(['0', []]);
  return undefined;
}

/** A gauge of this instance. Undefined if the page doesn't have it. */
async function own(name: string): Promise<number | undefined> {
  const [, value] = new RegExp(`^unseen_${name} (.*)$`, 'm').exec(await registry.metrics()) ?? [];
  return value === undefined ? undefined : Number(value);
}

describe('gauges of filters', () => {
  it('read at most 100 of 10,000 filters, some at a time, and no names while places are taken', async () => {
    for (let n = 0; n < 10_000; n++) store.names.add(`f${n}`);
    await gauges.refresh();
    expect(store.described).toHaveLength(MOST_FILTERS);
    expect(store.mostAtOnce).toBe(10);
    expect(await shown()).toHaveLength(MOST_FILTERS);
    expect(store.lists).toBe(2);
    time += FRESH_MS;
    await gauges.refresh();
    expect(store.described).toHaveLength(2 * MOST_FILTERS);
    expect(store.lists).toBe(2);
  });

  it('stay fresh for some seconds, and are then read again', async () => {
    store.names.add('f');
    await gauges.refresh();
    time += FRESH_MS - 1;
    await gauges.refresh();
    expect(store.described).toEqual(['f']);
    time += 1;
    await gauges.refresh();
    expect(store.described).toEqual(['f', 'f']);
  });

  it('are read once for scrapes at the same time', async () => {
    store.names.add('f');
    await Promise.all([gauges.refresh(), gauges.refresh(), gauges.refresh()]);
    expect(store.described).toEqual(['f']);
    expect(await shown()).toEqual(['f']);
  });

  it('show the busiest filters', async () => {
    for (let n = 0; n < 200; n++) store.names.add(`a${n}`);
    store.names.add('z');
    filters.use({ kind: 'filter', name: 'z', prefix: '' }, 1);
    await gauges.refresh();
    expect(await shown()).toContain('z');
  });

  it('are missing while the store does not answer, and the scrape ends', async () => {
    gauges = gaugesWith({ patienceMs: 1 });
    store.names.add('f');
    const open = store.close();
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    // The next scrape waits for the same read.
    await gauges.refresh();
    expect(store.described).toEqual(['f']);
    await open();
    await gauges.refresh();
    expect(store.described).toEqual(['f']);
    expect(await shown()).toEqual(['f']);
  });

  it('come with the next scrape if a read always takes too long, with their age and its duration', async () => {
    gauges = gaugesWith({ patienceMs: 1 });
    store.names.add('f');
    let open = store.close();
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    expect(await own('store_scrape_age_seconds')).toBeUndefined();
    for (let n = 1; n <= 3; n++) {
      // The read takes 9 s of the 15 s between two scrapes.
      time += 9_000;
      await open();
      time += 6_000;
      open = store.close();
      store.names.add(`f${n}`);
      await gauges.refresh();
      expect(await own('store_scrape_success')).toBe(1);
      expect(await own('store_scrape_age_seconds')).toBe(15);
      expect(await own('store_scrape_duration_seconds')).toBe(9);
      // The filters of the read before.
      expect(await shown()).toHaveLength(n);
    }
    await open();
  });

  it('are missing once they are too old, even if their read has just ended', async () => {
    gauges = gaugesWith({ patienceMs: 1 });
    store.names.add('f');
    await gauges.refresh();
    const open = store.close();
    time += LATE_MS;
    await gauges.refresh();
    expect(await shown()).toEqual(['f']);
    time += 1;
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    expect(await own('store_scrape_age_seconds')).toBeUndefined();
    time += LATE_MS;
    await open();
    // The read that has just ended began too long ago. So the next scrape reads anew, instead of showing it.
    const openAgain = store.close();
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    await openAgain();
    await gauges.refresh();
    expect(await shown()).toEqual(['f']);
    expect(await own('store_scrape_age_seconds')).toBe(0);
  });

  it('are missing after a read that failed, until another one has ended', async () => {
    gauges = gaugesWith({ patienceMs: 1 });
    store.names.add('f');
    await gauges.refresh();
    time += FRESH_MS;
    store.faults.set('f', new StoreError('STORE_UNAVAILABLE', 'away'));
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    store.faults.clear();
    const open = store.close();
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    await open();
    await gauges.refresh();
    expect(await shown()).toEqual(['f']);
  });

  it('are missing while the store is unavailable, and come back', async () => {
    for (const name of ['a', 'b']) store.names.add(name);
    await gauges.refresh();
    time += FRESH_MS;
    store.faults.set('b', new StoreError('STORE_UNAVAILABLE', 'away'));
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    store.faults.clear();
    await gauges.refresh();
    expect(await shown()).toEqual(['a', 'b']);
  });

  it('are read anew after the store was not ready, even if they were fresh', async () => {
    gauges = gaugesWith({ patienceMs: 1 });
    store.names.add('f');
    await gauges.refresh();
    store.ready = false;
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    store.ready = true;
    const open = store.close();
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    await open();
    await gauges.refresh();
    expect(await shown()).toEqual(['f']);
  });

  it('come with whether all data is lost, which does not change while the store is not ready', async () => {
    const lost = async (): Promise<number | undefined> => {
      await gauges.refresh();
      return own('store_data_lost');
    };
    expect(await lost()).toBe(0);
    store.lost = true;
    expect(await lost()).toBe(1);
    [store.ready, store.lost] = [false, false];
    expect(await lost()).toBe(1);
    store.ready = true;
    expect(await lost()).toBe(0);
  });

  it('leave out a lost filter and one that is gone, and read a changed one anew', async () => {
    for (const name of ['changed', 'gone', 'lost', 'whole']) store.names.add(name);
    await gauges.refresh();
    time += FRESH_MS;
    store.names.delete('gone');
    store.faults.set('lost', new StoreError('STORE_DATA_LOST', 'lost'));
    store.faults.set('changed', new StaleFilterError('changed'));
    await gauges.refresh();
    expect(await shown()).toEqual(['changed', 'whole']);
    expect(filters.shown.map(({ name }) => name)).not.toContain('gone');
  });

  it('throw an error that is a bug', async () => {
    store.names.add('f');
    store.faults.set('f', new TypeError('bug'));
    await expect(gauges.refresh()).rejects.toThrow('bug');
  });
});
