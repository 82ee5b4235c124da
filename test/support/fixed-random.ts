import { SEED_BYTES } from '#bloom';
import { SYSTEM_RANDOM, type RandomSource } from '#store';

/** `FILTER_SEED=… npm test` tries another seed, and so other collisions. */
const { FILTER_SEED = 'unseen' } = process.env;

/** Every filter's seed in tests, except in tests about seeds. */
export const TEST_SEED: Uint8Array = Buffer.alloc(SEED_BYTES, FILTER_SEED);

/**
 * Replaces src/store/service-random.ts in every service that a test starts. The same items have the same false
 * positives in each run, so tests of exact counts are deterministic. Ids stay random, because services share data.
 */
export const SERVICE_RANDOM: RandomSource = { ...SYSTEM_RANDOM, seed: () => TEST_SEED };
