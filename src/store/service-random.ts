import { SYSTEM_RANDOM, type RandomSource } from '#store';

/** The randomness of a service. The builds that tests run have another file in place of this one. */
export const SERVICE_RANDOM: RandomSource = SYSTEM_RANDOM;
