import { describe, expect, it } from '@jest/globals';
import { RateMeter } from './rates.js';
import { conditionsOf, severityOf, type Whole } from './sets.js';

const FILTER: Whole = {
  name: 'names',
  type: 'counting',
  semantics: 'set',
  capacity: 1_000,
  errorRate: 0.01,
  growth: 'none',
  geometry: { segments: 1, pageSize: 256, hashes: 7, hashScheme: 2, counters: 10_240 },
  memoryBytes: 5_120,
  generation: 'a',
  createdAt: '2026-01-01T00:00:00Z',
  items: 500,
  fill: 0.3,
  estimatedErrorRate: 0.001,
  saturatedCounters: 0,
  overCapacity: false,
  layers: [{ capacity: 1_000, items: 500, fill: 0.3, estimatedErrorRate: 0.001, memoryBytes: 5_120 }],
  added: 600,
  duplicate: 50,
  removed: 100,
  refused: 0,
};

describe('rates', () => {
  it('are known after two polls, averaged over the time between them', () => {
    const meter = new RateMeter();
    meter.look([FILTER], 1_000);
    expect(meter.of('names')).toBeUndefined();
    meter.look([{ ...FILTER, added: 650, duplicate: 50, removed: 105 }], 6_000);
    expect(meter.of('names')).toEqual({ fresh: 10, seen: 0, forgotten: 1 });
  });

  it('are never negative, and start again with a new generation', () => {
    const meter = new RateMeter();
    meter.look([FILTER], 0);
    meter.look([{ ...FILTER, added: 590 }], 1_000);
    expect(meter.of('names')).toEqual({ fresh: 0, seen: 0, forgotten: 0 });
    meter.look([{ ...FILTER, generation: 'b', added: 5 }], 2_000);
    expect(meter.of('names')).toBeUndefined();
  });
});

describe('a filter’s condition', () => {
  const words = (changes: Partial<Whole>): string[] =>
    conditionsOf({ ...FILTER, ...changes }).map(({ text }) => text);

  it('is described in words', () => {
    expect(words({})).toEqual([]);
    expect(words({ items: 900 })).toEqual(['nearly full']);
    expect(words({ items: 900, growth: 'auto' })).toEqual([]);
    expect(words({ items: 1_100, overCapacity: true })).toEqual(['over capacity']);
  });

  it('is ranked by severity', () => {
    const { geometry, memoryBytes } = FILTER;
    const lost = { ...FILTER, geometry, memoryBytes, state: 'lost' } as const;
    expect(severityOf(lost)).toBeGreaterThan(severityOf({ ...FILTER, items: 950 }));
    expect(severityOf({ ...FILTER, items: 950 })).toBeGreaterThan(severityOf(FILTER));
  });
});
