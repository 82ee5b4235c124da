import type { Clock } from './clock.js';

/** Maximum delay of a Node.js timer, in ms. */
const MOST_MS = 2 ** 31 - 1;

/**
 * Calls `then` after `ms` of the clock's time, which tests may move. Doesn't keep the process alive. Returns a function
 * that cancels the timer.
 */
export function after(clock: Clock, ms: number, then: () => void): () => void {
  const end = clock.monotonic() + ms;
  let timer: NodeJS.Timeout;
  const look = (): void => {
    clearTimeout(timer);
    const left = end - clock.monotonic();
    timer = setTimeout(left > 0 ? look : ring, Math.min(Math.max(0, left), MOST_MS)).unref();
  };
  const forget = clock.shift?.onMove(look);
  const cancel = (): void => {
    clearTimeout(timer);
    forget?.();
  };
  const ring = (): void => {
    cancel();
    then();
  };
  look();
  return cancel;
}

/** Like `after`, but repeats. If the clock moves by several intervals at once, calls `then` once. */
export function every(clock: Clock, ms: number, then: () => void): () => void {
  let cancel = after(clock, ms, again);
  function again(): void {
    cancel = after(clock, ms, again);
    then();
  }
  return () => cancel();
}
