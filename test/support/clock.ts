import { MovedClock } from './moved-clock.js';

/** The time that the stores of a test file go by. */
export const clock = new MovedClock();
