import { describe, expect, it } from '@jest/globals';
import { Random, SEED } from '../../../../../test/support/random.js';
import { Hidden } from './hidden.js';
import { DEFAULT_SIZES } from '../database/sizes.js';

const COUNT = 5_000;
const words = (n: number): Uint32Array => Uint32Array.of(n * 0x9e3779b1, n, n ^ 0x5bd1e995, n * 3);

describe('hidden items', () => {
  it(`agree with a map: hidden, shown, hidden until another epoch, expired; SEED=${SEED}`, () => {
    const random = new Random(SEED);
    const hidden = new Hidden(DEFAULT_SIZES.shownPerTable);
    const model = new Map<number, number>();
    let epoch = 100;
    hidden.advance(epoch);
    for (let step = 0; step < 200_000; step++) {
      const n = random.below(COUNT);
      const chance = random.below(1_000);
      if (chance < 450 && !model.has(n)) {
        const epochs = random.below(14);
        hidden.hide(words(n), 0, epochs);
        model.set(n, epoch + epochs);
      } else if (chance < 998) {
        if (hidden.show(words(n), 0) !== model.delete(n)) throw new Error(`item ${n} is wrong`);
      } else {
        epoch += random.below(3);
        hidden.advance(epoch);
        for (const [item, until] of model) if (until < epoch) model.delete(item);
      }
    }
    expect(hidden.size).toBe(model.size);
    expect(model.size).toBeGreaterThan(100);
    for (let n = 0; n < COUNT; n++) expect([n, hidden.has(words(n), 0)]).toEqual([n, model.has(n)]);
    const found = new Map<string, number>();
    hidden.forEach((some, at, until) => found.set(some.slice(at, at + 4).join(), until));
    expect(found).toEqual(new Map(Array.from(model, ([n, until]) => [words(n).join(), until])));
  });
});
