import { SEED_BYTES } from '#bloom';
import { SYSTEM_RANDOM, type RandomSource } from '#store';

/** FILTER_SEED=… npm test tries other collisions. */
const { FILTER_SEED = 'unseen' } = process.env;

/** SEED_BYTES of every filter that tests make, unless a test is about seeds. */
export const TEST_SEED: Uint8Array = Buffer.alloc(SEED_BYTES, FILTER_SEED);

/**
 * In place of src/store/service-random.ts in every service that a test starts: the same items have the same false positives in
 * each run, and a test of an exact count passes in each run or in none. Ids stay random, for services share their data.
 */
export const SERVICE_RANDOM: RandomSource = { ...SYSTEM_RANDOM, seed: () => TEST_SEED };
