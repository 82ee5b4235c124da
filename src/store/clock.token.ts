import type { Clock as ClockPort } from '#store';

/** The clock of the store and the service, and its Nest token with the same name. */
export type Clock = ClockPort;
export const Clock = Symbol('Clock');
