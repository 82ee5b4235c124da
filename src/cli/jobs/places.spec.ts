import { describe, expect, it } from '@jest/globals';
import { BadEntry } from '#client';
import type { Run } from '../sources/runs.js';
import { Places } from './places.js';

const linesOf = (name: string, items: readonly string[], fault?: string): Run => ({
  items,
  ...(fault !== undefined && { fault }),
  placeOf: (i) => `${name}, line ${i + 1}`,
});

async function* runs(): AsyncGenerator<Run> {
  yield linesOf('one', ['a', 'b'], 'one, line 3: damaged');
  yield { items: [] };
  yield linesOf('two', ['c', 'd']);
  yield { items: ['e'] };
}

describe('places for entries', () => {
  it('count faults as entries', async () => {
    const places = new Places();
    const given: unknown[] = [];
    for await (const some of places.entriesOf(runs(), 0)) given.push(some);
    expect(given).toEqual([['a', 'b'], new BadEntry('one, line 3: damaged'), [], ['c', 'd'], ['e']]);
    expect([0, 1, 2, 3, 4, 5, 6].map((entry) => places.of(entry))).toEqual([
      ...['one, line 1', 'one, line 2', undefined, 'two, line 1', 'two, line 2', undefined, undefined],
    ]);
  });

  it('are not kept for entries that are done', async () => {
    const places = new Places();
    // Skips the places of the first three entries, then forgets the fourth.
    for await (const _ of places.entriesOf(runs(), 3)) places.forget(4);
    expect([0, 1, 3, 4].map((entry) => places.of(entry))).toEqual([
      ...[undefined, undefined, 'two, line 1', 'two, line 2'],
    ]);
    places.forget(5);
    expect(places.of(4)).toBeUndefined();
  });
});
