import { SYSTEM_RANDOM, type RandomSource } from '#store';

/** A service's randomness. Test builds replace this file. */
export const SERVICE_RANDOM: RandomSource = SYSTEM_RANDOM;
