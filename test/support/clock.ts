import { MovedClock } from './moved-clock.js';

/** The clock that all stores in a test file share. */
export const clock = new MovedClock();
