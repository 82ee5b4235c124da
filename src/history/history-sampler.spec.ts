import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import {
  SYSTEM_CLOCK,
  StaleFilterError,
  StoreError,
  type Clock,
  type Filter,
  type FilterKind,
  type FilterStats,
} from '#store';
import { Lifecycle } from '../http/lifecycle.js';
import { filterOf, STATS } from '../../test/support/described-filter.js';
import { MovedClock } from '../../test/support/moved-clock.js';
import { until } from '../../test/support/until.js';
import { HistorySampler, INTERVAL_MS, MOST_WATCHED } from './history-sampler.js';

/** A store that has only names. */
class Names {
  readonly sets = new Map<string, string>();
  readonly filters = new Map<string, string>();
  /** Errors that descriptions throw, by name. */
  readonly faults = new Map<string, Error>();
  described: string[] = [];
  lists = 0;
  away = false;
  atOnce = 0;
  mostAtOnce = 0;

  async list(kind: FilterKind, limit: number, after = '') {
    this.lists++;
    if (this.away) throw new StoreError('STORE_UNAVAILABLE', 'away');
    const all = [...(kind === 'filter' ? this.filters : this.sets)].sort(([a], [b]) => (a < b ? -1 : 1));
    const found = all.filter(([name]) => name > after);
    const filters = found.slice(0, limit).map(([name, generation]) => filterOf(name, kind, generation));
    const last = filters.at(-1);
    return { filters, ...(last && found.length > limit ? { next: last.name } : {}) };
  }

  async open(name: string, kind: FilterKind): Promise<Filter> {
    if (this.away) throw new StoreError('STORE_UNAVAILABLE', 'away');
    const generation = (kind === 'filter' ? this.filters : this.sets).get(name);
    if (generation === undefined) throw new StoreError('FILTER_NOT_FOUND', name);
    return filterOf(name, kind, generation);
  }

  async describe({ name }: Filter): Promise<FilterStats> {
    this.described.push(name);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    await new Promise(setImmediate);
    this.atOnce--;
    const fault = this.faults.get(name);
    if (fault) throw fault;
    return STATS;
  }
}

function samplerOf(
  store: Names,
  clock: Clock = SYSTEM_CLOCK,
): { sampler: HistorySampler; lifecycle: Lifecycle } {
  const lifecycle = new Lifecycle();
  return { sampler: new HistorySampler(store, pino({ level: 'silent' }), lifecycle, clock), lifecycle };
}

const points = (sampler: HistorySampler, name: string): number | undefined =>
  sampler.of(name)?.ring.from(0).length;

describe('filter histories', () => {
  it('samples one filter after another, once per round', async () => {
    const store = new Names();
    for (const name of ['a', 'b']) store.filters.set(name, '1');
    store.sets.set('z', '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    await sampler.round(0);
    expect(store.described).toEqual(['z', 'a', 'b', 'z', 'a', 'b']);
    expect(store.mostAtOnce).toBe(1);
    expect(['z', 'a', 'b'].map((name) => points(sampler, name))).toEqual([2, 2, 2]);
    const [first] = sampler.of('a')?.ring.from(0) ?? [];
    expect(first).toMatchObject({ items: 3, added: 5, duplicate: 1, removed: 2, refused: 0, waiting: 0 });
    expect(first?.fill).toBeGreaterThan(0);
    expect(first?.estimatedErrorRate).toBeLessThan(1e-3);
  });

  it('watches a limited number of filters, visited sets first', async () => {
    const store = new Names();
    for (let n = 0; n < MOST_WATCHED - 10; n++) store.sets.set(`set-${n}`, '1');
    for (let n = 10; n < 60; n++) store.filters.set(`f-${n}`, '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    expect(store.described).toHaveLength(MOST_WATCHED);
    expect(['set-0', 'f-10', 'f-19', 'f-20'].map((name) => sampler.watches(name))).toEqual([
      ...[true, true, true, false],
    ]);
    const { lists } = store;
    for (let n = 0; n < 10_000; n++) store.filters.set(`more-${n}`, '1');
    await sampler.round(0);
    // Without a free place, a round doesn't list filters.
    expect([store.described.length, store.lists]).toEqual([2 * MOST_WATCHED, lists]);
  });

  it('keeps watching its filters despite new ones, and fills a place that becomes free', async () => {
    const store = new Names();
    for (let n = 0; n < MOST_WATCHED; n++) store.filters.set(`old-${n}`, '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    for (let n = 0; n < MOST_WATCHED; n++) store.sets.set(`a-${n}`, '1');
    await sampler.round(0);
    expect(['old-0', 'old-499', 'a-0'].map((name) => points(sampler, name))).toEqual([2, 2, undefined]);
    expect(['old-0', 'a-0'].map((name) => sampler.watches(name))).toEqual([true, false]);
    store.filters.delete('old-7');
    await sampler.round(0);
    expect(['old-0', 'old-7', 'a-0'].map((name) => points(sampler, name))).toEqual([3, undefined, 1]);
  });

  it('watches all filters, including new ones, up to the limit', async () => {
    const store = new Names();
    for (let n = 0; n < MOST_WATCHED - 1; n++) store.filters.set(`f-${n}`, '1');
    const { sampler } = samplerOf(store);
    expect(sampler.watches('f-0')).toBe(true);
    await sampler.round(0);
    expect(sampler.watches('new')).toBe(true);
  });

  it('starts again with a new generation, and forgets deleted filters', async () => {
    const store = new Names();
    for (const name of ['cleared', 'dropped', 'stays']) store.filters.set(name, '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    store.filters.set('cleared', '2');
    store.filters.delete('dropped');
    await sampler.round(0);
    expect(['cleared', 'dropped', 'stays'].map((name) => points(sampler, name))).toEqual([1, undefined, 2]);
    expect(sampler.of('cleared')?.generation).toBe('2');
  });

  it('has a gap if a filter is lost or cleared during a round, and continues with the others', async () => {
    const store = new Names();
    for (const name of ['a', 'b', 'c']) store.filters.set(name, '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    store.faults.set('a', new StoreError('STORE_DATA_LOST', 'lost'));
    store.faults.set('b', new StaleFilterError('b'));
    await sampler.round(0);
    store.faults.clear();
    await sampler.round(0);
    expect(['a', 'b', 'c'].map((name) => points(sampler, name))).toEqual([2, 2, 3]);
  });

  it('ends the round while the store is unavailable, and keeps its points', async () => {
    const store = new Names();
    for (const name of ['a', 'b', 'c']) store.filters.set(name, '1');
    const { sampler } = samplerOf(store);
    await sampler.round(0);
    store.faults.set('a', new StoreError('STORE_UNAVAILABLE', 'away'));
    await sampler.round(0);
    expect(store.described).toEqual(['a', 'b', 'c', 'a']);
    store.away = true;
    await sampler.round(0);
    expect(points(sampler, 'c')).toBe(1);
  });

  it('does not overlap with itself', async () => {
    const store = new Names();
    for (const name of ['a', 'b', 'c']) store.filters.set(name, '1');
    const { sampler } = samplerOf(store);
    await Promise.all([sampler.round(0), sampler.round(0), sampler.round(0)]);
    expect(store.described).toEqual(['a', 'b', 'c']);
  });

  it('takes a point for each filter every minute', async () => {
    const store = new Names();
    store.filters.set('a', '1');
    const clock = new MovedClock();
    const { sampler, lifecycle } = samplerOf(store, clock);
    sampler.onApplicationBootstrap();
    // A minute that ends during a round doesn't start another round.
    await until('there are three points', async () => {
      clock.advance(INTERVAL_MS);
      return points(sampler, 'a') === 3;
    });
    lifecycle.beginShutdown();
    await sampler.beforeApplicationShutdown();
    const [first, second] = sampler.of('a')?.ring.from(0) ?? [];
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(INTERVAL_MS);
  });

  it('ends in the middle of a round when the service ends', async () => {
    const store = new Names();
    for (const name of ['a', 'b', 'c']) store.filters.set(name, '1');
    const { sampler, lifecycle } = samplerOf(store);
    sampler.onApplicationBootstrap();
    lifecycle.beginShutdown();
    await sampler.beforeApplicationShutdown();
    expect(store.described.length).toBeLessThan(3);
  });
});
