import { describe, expect, it } from '@jest/globals';
import { SEED_BYTES } from '#bloom';
import type * as Module from './service-random.js';

/** Imports the source itself, because the compiled module would give tests a source with equal seeds. */
const SOURCE = './service-random.ts';

describe('a service’s randomness', () => {
  it('differs for each seed and each id', async () => {
    const { SERVICE_RANDOM } = (await import(SOURCE)) as typeof Module;
    const seeds = [SERVICE_RANDOM.seed(), SERVICE_RANDOM.seed()];
    for (const seed of seeds) expect(seed).toHaveLength(SEED_BYTES);
    expect(seeds[0]).not.toEqual(seeds[1]);
    const ids = [SERVICE_RANDOM.id(8), SERVICE_RANDOM.id(8)];
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });
});
