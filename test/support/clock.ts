import { MovedClock } from './moved-clock.js';

/** The clock of all stores in a test file. */
export const clock = new MovedClock();
