import type { Clock } from '#store';
import { MovedClock } from './moved-clock.js';

/** A message that moves a spawned service's clock. The service echoes it once its clock has moved. */
export interface Move {
  readonly advanceMs: number;
}

/** Set for spawned services only, because Jest workers have an IPC channel for other messages. */
const { CLOCK_CHANNEL } = process.env;

/**
 * Replaces src/store/service-clock.ts in every service that a test starts. Each service has its own clock. A test moves
 * a spawned service's clock by a message on the IPC channel.
 */
export function serviceClock(): Clock {
  const clock = new MovedClock();
  if (CLOCK_CHANNEL !== undefined) {
    process.on('message', (move: Move) => {
      clock.advance(move.advanceMs);
      process.send?.(move);
    });
    // The channel must not keep the service alive.
    process.channel?.unref();
  }
  return clock;
}
