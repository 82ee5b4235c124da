import type { Clock } from './clock.js';

/** Longest that a timer of Node's can wait. */
const MOST_MS = 2 ** 31 - 1;

/**
 * Calls `then` once `ms` of a clock's time are over, also if that time is moved. It keeps no process alive. Answers what
 * cancels it.
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

/** As `after`, again and again: once after a move over several ends. */
export function every(clock: Clock, ms: number, then: () => void): () => void {
  let cancel = after(clock, ms, again);
  function again(): void {
    cancel = after(clock, ms, again);
    then();
  }
  return () => cancel();
}
