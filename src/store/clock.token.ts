import type { Clock as ClockPort } from '#store';

/** The time that the store and the service decide by, and its Nest token under the same name. */
export type Clock = ClockPort;
export const Clock = Symbol('Clock');
