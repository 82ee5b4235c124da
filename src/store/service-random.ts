import { SYSTEM_RANDOM, type RandomSource } from '#store';

/** The randomness of a service. Test builds replace this file. */
export const SERVICE_RANDOM: RandomSource = SYSTEM_RANDOM;
