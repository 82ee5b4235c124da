import { jest } from '@jest/globals';
import { until } from './until.js';

/** Fakes the timers for a client's pauses, which `untilMoved` then advances, until `jest.useRealTimers()`. */
export function moveTime(): void {
  jest.useFakeTimers({
    doNotFake: [
      ...(['Date', 'hrtime', 'nextTick', 'queueMicrotask'] as const),
      ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
    ],
  });
}

/** Advances the time until the condition is true, slowly enough that no call to the service times out. */
export function untilMoved(what: string, holds: () => boolean): Promise<void> {
  return until(what, async () => {
    await jest.advanceTimersByTimeAsync(50);
    return holds();
  });
}

/** Awaits `work` while it advances the time. */
export async function moved<T>(what: string, work: Promise<T>): Promise<T> {
  let over = false;
  const noted = work.finally(() => (over = true));
  noted.catch(() => undefined);
  await untilMoved(what, () => over);
  return work;
}
