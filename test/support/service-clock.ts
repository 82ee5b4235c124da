import type { Clock } from '#store';
import { MovedClock } from './moved-clock.js';

/** Moves the time of a service that a test has spawned, which answers the same when its time is moved. */
export interface Move {
  readonly advanceMs: number;
}

/** Set for spawned services only: a worker of Jest has a channel of its own. */
const { CLOCK_CHANNEL } = process.env;

/**
 * In place of src/store/service-clock.ts in every service that a test starts, each of which has a clock of its own. A spawned
 * service is told to move it on the channel to the process that has spawned it.
 */
export function serviceClock(): Clock {
  const clock = new MovedClock();
  if (CLOCK_CHANNEL !== undefined) {
    process.on('message', (move: Move) => {
      clock.advance(move.advanceMs);
      process.send?.(move);
    });
    // The service ends as it would without a channel.
    process.channel?.unref();
  }
  return clock;
}
