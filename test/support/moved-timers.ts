import { jest } from '@jest/globals';
import { until } from './until.js';

/** From now on, `untilMoved` moves the time by which a client pauses. `jest.useRealTimers()` ends it. */
export function moveTime(): void {
  jest.useFakeTimers({
    doNotFake: [
      ...(['Date', 'hrtime', 'nextTick', 'queueMicrotask'] as const),
      ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
    ],
  });
}

/** Moves the time until the condition holds: slowly, so that no call to the service times out. */
export function untilMoved(what: string, holds: () => boolean): Promise<void> {
  return until(what, async () => {
    await jest.advanceTimersByTimeAsync(50);
    return holds();
  });
}

/** The outcome of `work`, while the time is moved. */
export async function moved<T>(what: string, work: Promise<T>): Promise<T> {
  let over = false;
  const noted = work.finally(() => (over = true));
  noted.catch(() => undefined);
  await untilMoved(what, () => over);
  return work;
}
