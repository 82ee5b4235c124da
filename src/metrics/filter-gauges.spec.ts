import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { StaleFilterError, StoreError, type Filter, type FilterKind } from '#store';
import { filterOf, STATS } from '../../test/support/described-filter.js';
import { BusyFilters, MOST_FILTERS } from './busy-filters.js';
import { FilterGauges, FRESH_MS } from './filter-gauges.js';

/** A store that has only names. */
class Names {
  readonly names = new Set<string>();
  /** Errors that descriptions throw, by name. */
  readonly faults = new Map<string, Error>();
  ready = true;
  lists = 0;
  described: string[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  /** Descriptions wait for this. */
  gate: Promise<void> = Promise.resolve();

  async readiness() {
    return { ready: this.ready, warnings: [] };
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
    let open = (): void => undefined;
    store.gate = new Promise((resolve) => (open = resolve));
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    // The next scrape waits for the same read.
    await gauges.refresh();
    expect(store.described).toEqual(['f']);
    open();
    gauges = gaugesWith({});
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
    store.names.add('f');
    await gauges.refresh();
    store.ready = false;
    await gauges.refresh();
    expect(await shown()).toBeUndefined();
    store.ready = true;
    await gauges.refresh();
    expect(await shown()).toEqual(['f']);
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
