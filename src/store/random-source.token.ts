import type { RandomSource as RandomSourcePort } from '#store';

/** The source of randomness for the store and for new filters, and its Nest token with the same name. */
export type RandomSource = RandomSourcePort;
export const RandomSource = Symbol('RandomSource');
