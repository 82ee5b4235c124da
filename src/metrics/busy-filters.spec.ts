import { beforeEach, describe, expect, it } from '@jest/globals';
import { MovedClock } from '../../test/support/moved-clock.js';
import { BusyFilters, MOST_FILTERS, MOST_OF_PREFIX, ROUND_MS } from './busy-filters.js';
import { BUDGETS, MOST_NEW_AT_ONCE, MOST_NEW_PER_HOUR, PREFIX_SHARE } from './new-series.js';

const HOUR_MS = 3_600_000;

let clock: MovedClock;
let filters: BusyFilters;
beforeEach(() => {
  clock = new MovedClock();
  filters = new BusyFilters(clock);
});

const use = (name: string, items = 1, prefix = '') => filters.use({ kind: 'filter', name, prefix }, items);
const names = (): string[] => filters.shown.map(({ name }) => name);

/** Uses filters with these items, and lets a round pass. */
function round(items: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(items)) use(name, count);
  clock.advance(ROUND_MS);
  filters.round();
}

/** Fills all places with filters that have `items` per round. */
const steady = (items: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: MOST_FILTERS }, (_, n) => [`steady-${n}`, items]));

describe('places for filters', () => {
  it('go to the first filters that are used, and are limited', () => {
    for (let n = 0; n < 1_000; n++) use(`f${n}`);
    expect(names()).toHaveLength(MOST_FILTERS);
    expect(use('f0')).toMatchObject({ name: 'f0', items: 2 });
    expect(use('f999')).toBeUndefined();
  });

  it('are shown for filters without calls while there is room, and busy ones take them', () => {
    for (let n = 0; n < 1_000; n++) filters.offer('visited-set', `idle-${n}`);
    expect(names()).toHaveLength(MOST_FILTERS);
    clock.advance(HOUR_MS);
    use('busy');
    expect(names()).toHaveLength(MOST_FILTERS);
    expect(names()).toContain('busy');
    expect(names()).not.toContain('idle-0');
  });

  it('go to the busiest filters, once per round', () => {
    round(steady(100));
    clock.advance(HOUR_MS);
    filters.round();
    use('busier', 10_000);
    filters.round();
    expect(names()).not.toContain('busier');
    round(steady(100));
    expect(names()).toContain('busier');
    expect(names()).toHaveLength(MOST_FILTERS);
  });

  it('stay with a filter until another one is twice as busy', () => {
    for (let n = 0; n < 20; n++) round(steady(100));
    clock.advance(HOUR_MS);
    round({ ...steady(100), rival: 190 });
    expect(names()).not.toContain('rival');
    round({ ...steady(100), rival: 210 });
    expect(names()).toContain('rival');
  });

  it('of one prefix are limited, and its filters only take places of one another', () => {
    for (let n = 0; n < 50; n++) use(`ours-${n}`, 1);
    for (let n = 0; n < 50; n++) use(`t-${n}`, 1_000_000, 't-');
    const tenants = (): string[] => names().filter((name) => name.startsWith('t-'));
    expect(tenants()).toHaveLength(MOST_OF_PREFIX);
    for (let hours = 0; hours < 5; hours++) {
      clock.advance(HOUR_MS);
      filters.round();
      for (let n = 0; n < 900; n++) use(`t-${hours}-${n}`, 1_000_000_000 * 100 ** hours, 't-');
    }
    expect(tenants()).toHaveLength(MOST_OF_PREFIX);
    expect(tenants()).not.toContain('t-0');
    for (let n = 0; n < 50; n++) expect(names()).toContain(`ours-${n}`);
  });

  it('of one prefix are limited, even if it could have new series', () => {
    for (let days = 0; days < 3; days++) {
      for (let n = 0; n < 50; n++) use(`t-${days}-${n}`, 1, 't-');
      clock.advance(24 * HOUR_MS);
      filters.round();
      clock.advance(24 * HOUR_MS);
    }
    expect(names()).toHaveLength(MOST_OF_PREFIX);
  });

  it('are taken over by a limited number of names per hour', () => {
    const seen = new Set<string>();
    for (let minute = 0; minute < 180; minute++) {
      round(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`f-${minute}-${n}`, 10 ** minute])));
      for (const shown of names()) seen.add(shown);
    }
    expect(seen.size).toBeLessThanOrEqual(MOST_NEW_AT_ONCE + 3 * MOST_NEW_PER_HOUR);
    expect(seen.size).toBeGreaterThan(MOST_NEW_AT_ONCE + 2 * MOST_NEW_PER_HOUR);
  });

  it('are given to a limited number of names per hour, for any calls with any prefixes', () => {
    const seen = new Set<string>();
    const see = (): void => {
      for (const shown of names()) seen.add(shown);
    };
    for (let minute = 0; minute < 180; minute++) {
      for (let n = 0; n < 50; n++) {
        const [name, tenant] = [`f-${minute}-${n}`, `t-${minute}-${n}`];
        filters.offer('filter', `idle-${minute}-${n}`);
        use(name, 10 ** minute);
        use(tenant, 10 ** minute, `t-${n}-`);
        see();
        for (const gone of names()) filters.forget(gone);
      }
      clock.advance(60_000);
      filters.round();
      see();
    }
    expect(seen.size).toBeLessThanOrEqual(BUDGETS * (MOST_NEW_AT_ONCE + 3 * MOST_NEW_PER_HOUR));
    expect(seen.size).toBeGreaterThan(BUDGETS * (MOST_NEW_AT_ONCE + 2 * MOST_NEW_PER_HOUR));
  });

  /** For hours, a tenant makes, uses and deletes filters, as fast as it can. */
  function churn(prefixes: readonly string[], hours = 5): void {
    for (let minute = 0; minute < 60 * hours; minute++) {
      for (const prefix of prefixes) {
        for (let n = 0; n < 20; n++) {
          const name = `${prefix}${minute}-${n}`;
          use(name, 1_000, prefix);
          filters.offer('filter', `${name}-idle`);
          filters.forget(name);
          filters.forget(`${name}-idle`);
        }
      }
      clock.advance(60_000);
      filters.round();
    }
  }

  it('are left for other tenants by one that makes and deletes filters for hours: a prefix gets a fifth of the new series', () => {
    churn(['t-']);
    for (let n = 0; n < MOST_OF_PREFIX; n++) use(`other-${n}`, 1, 'other-');
    expect(names()).toHaveLength(MOST_OF_PREFIX);
    for (let n = 0; n < MOST_NEW_AT_ONCE; n++) use(`p${n % 10}-${n}`, 1, `p${n % 10}-`);
    expect(names().length).toBeGreaterThanOrEqual(MOST_NEW_AT_ONCE * (1 - PREFIX_SHARE));
  });

  it('are left for callers without a prefix, and for filters without calls, by any number of tenants', () => {
    churn(Array.from({ length: 10 }, (_, n) => `t${n}-`));
    expect(names()).toEqual([]);
    for (let n = 0; n < MOST_FILTERS; n++) use(`ours-${n}`);
    expect(names()).toHaveLength(MOST_FILTERS);
  });

  it('are left for tenants by callers without a prefix, and by filters without calls', () => {
    churn(['']);
    use('t-1', 1, 't-');
    expect(names()).toEqual(['t-1']);
  });

  it('are left for filters with calls by filters without calls, and the other way round', () => {
    for (let n = 0; n < 1_000; n++) {
      filters.offer('filter', `idle-${n}`);
      filters.forget(`idle-${n}`);
    }
    filters.offer('filter', 'late');
    expect(names()).toEqual([]);
    use('used');
    clock.advance(HOUR_MS);
    for (let n = 0; n < 1_000; n++) {
      use(`f${n}`);
      filters.forget(`f${n}`);
    }
    filters.offer('filter', 'idle');
    expect(names()).toEqual(['used', 'idle']);
  });

  it('go to a tenant’s busy filter, even if others have used thousands of names since the last round', () => {
    round(steady(100));
    clock.advance(HOUR_MS);
    filters.round();
    for (const prefix of ['t-', '']) for (let n = 0; n < 5_000; n++) use(`${prefix}${n}`, 1, prefix);
    use('other-1', 10_000, 'other-');
    round(steady(100));
    expect(names()).toContain('other-1');
    use('t-late', 10_000, 't-');
    round(steady(100));
    expect(names()).toContain('t-late');
  });

  it('are kept, with their counts, by filters that got them since they were noted as candidates', () => {
    round(steady(1));
    use('rival', 1_000);
    filters.forget('steady-0');
    clock.advance(HOUR_MS);
    use('rival', 5)?.tallies.set('add\nnew', 5);
    filters.round();
    expect(use('rival')?.tallies.get('add\nnew')).toBe(5);
    expect(names()).toHaveLength(MOST_FILTERS);
  });

  it('are not taken from a filter while others are free', () => {
    use('first');
    for (let n = 1; n < MOST_NEW_AT_ONCE; n++) {
      use(`f${n}`);
      filters.forget(`f${n}`);
    }
    use('late', 1_000);
    expect(names()).toEqual(['first']);
    clock.advance(HOUR_MS);
    filters.round();
    expect(names()).toEqual(['first', 'late']);
  });

  it('are not given twice to a filter that was shown before it had calls', () => {
    for (let n = 0; n < MOST_OF_PREFIX; n++) use(`t-${n}`, 1, 't-');
    filters.offer('filter', 't-idle');
    round({});
    clock.advance(HOUR_MS);
    use('t-idle', 1_000, 't-');
    filters.round();
    expect(names().filter((name) => name === 't-idle')).toHaveLength(1);
  });

  it('are freed by filters that are gone', () => {
    for (let n = 0; n < MOST_FILTERS; n++) use(`f${n}`);
    filters.forget('f0');
    clock.advance(HOUR_MS);
    expect(use('new')).toBeDefined();
    expect(names()).not.toContain('f0');
  });

  it('start anew for a filter of the other kind with the same name', () => {
    use('name', 5)?.tallies.set('add\nnew', 5);
    const place = filters.use({ kind: 'visited-set', name: 'name', prefix: '' }, 1);
    expect(place).toMatchObject({ kind: 'visited-set', items: 1 });
    expect(place?.tallies.size).toBe(0);
    expect(filters.shown).toEqual([expect.objectContaining({ kind: 'visited-set', name: 'name' })]);
  });
});
