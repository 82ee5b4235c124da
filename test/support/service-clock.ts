import type { Clock } from '#store';
import { MovedClock } from './moved-clock.js';

/** A message that moves the time of a spawned service. The service sends it back when its time is moved. */
export interface Move {
  readonly advanceMs: number;
}

/** Set for spawned services only: a worker of Jest has a channel of its own. */
const { CLOCK_CHANNEL } = process.env;

/**
 * Replaces src/store/service-clock.ts in every service that a test starts. Each service has a clock of its own. The
 * test moves the clock of a spawned service by a message on the channel between them.
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
