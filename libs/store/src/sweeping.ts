/*
 * A sweep removes the entries of forgotten items from a queue, so that they count for at most a minute. It begins a
 * minute after the first mark, or earlier if there are too many marks. It reads the whole queue, so a queue whose items
 * are forgotten all the time rests between two sweeps: sweeping takes at most 2 % of the time.
 */

/** Time from the first mark to the sweep, and shortest rest between two sweeps, in ms. */
export const SWEEP_AFTER_MS = 60_000;
/** Rest between two sweeps, as a multiple of the time that the last one took. */
export const REST_FACTOR = 50;
