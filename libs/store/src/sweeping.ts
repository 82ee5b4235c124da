/*
 * A sweep removes forgotten items' entries from a queue, so that they don't count for much longer than a minute. It
 * begins a minute after the first mark, or earlier if there are too many marks. A sweep reads the whole queue. After
 * it, the queue rests, so sweeping takes at most 2 % of the time, even if items are forgotten all the time.
 */

/** Time from the first mark to the sweep, and the shortest rest between two sweeps, in ms. */
export const SWEEP_AFTER_MS = 60_000;
/** Rest between two sweeps, as a multiple of the last one's duration. */
export const REST_FACTOR = 50;
