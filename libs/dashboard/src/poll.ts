import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { away, LEFT } from './connection.js';

/** A polled value. */
export interface Polled<T> {
  /** The latest answer. Stays while the next request is pending, and if that request fails. */
  readonly data: T | undefined;
  /** Why the last request failed. */
  readonly error: Error | undefined;
  /** Polls now. */
  readonly refresh: () => void;
}

/** Maximum share of the time that polls may spend waiting for answers. */
const SHARE = 1 / 10;
/** Maximum delay after a failure, so that the page recovers soon after the service does. */
const FAILED_MS = 5_000;

/**
 * Polls now, every `everyMs`, and when the page becomes visible. A hidden page doesn't poll, and slow answers make
 * polls less frequent. `of` names the subject. If it changes, the state is reset.
 */
export function usePoll<T>(
  of: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs = 5_000,
): Polled<T> {
  const [state, setState] = useState<State<T>>({ of });
  const latest = useRef(load);
  latest.current = load;
  const wake = useRef<() => void>(() => undefined);
  const refresh = useCallback(() => wake.current(), []);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const isLeft = (): boolean => signal.aborted;
    /** Returns the delay before the next request. */
    const ask = async (): Promise<number> => {
      const begun = performance.now();
      try {
        const data = await latest.current(signal);
        if (!isLeft()) setState({ of, data });
        // If the service was unavailable, the elapsed time says nothing about the cost of a request.
        return Math.max(everyMs, wasAway() ? 0 : (performance.now() - begun) / SHARE);
      } catch (error) {
        if (!isLeft()) setState((old) => ({ ...kept(old, of), error: error as Error }));
        return Math.min(everyMs, FAILED_MS);
      }
    };
    const run = async (): Promise<void> => {
      while (!isLeft()) {
        // Created before the request: a wake-up during the request must cause another poll, since the answer may
        // already be stale.
        const pause = wakeable(wake);
        await pause(await ask());
        if (document.hidden && !isLeft()) await shown();
      }
    };
    void run();
    const look = (): void => {
      if (!document.hidden) wake.current();
    };
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      leaving.abort(LEFT);
      wake.current();
    };
  }, [of, everyMs]);
  const { data, error } = kept(state, of);
  return { data, error, refresh };
}

interface State<T> {
  readonly of: string;
  readonly data?: T;
  readonly error?: Error;
}

function kept<T>(state: State<T>, of: string): State<T> {
  return state.of === of ? state : { of };
}

function wasAway(): boolean {
  const now = away.peek();
  return now === 'service' || now === 'store' || now === 'back';
}

/** Returns a function that waits for `ms`, or until `wake` is called. A wake-up before the wait also counts. */
function wakeable(wake: { current: () => void }): (ms: number) => Promise<void> {
  const woken = new Promise<void>((resolve) => (wake.current = resolve));
  return async (ms) => {
    const timer = setTimeout(wake.current, ms);
    await woken;
    clearTimeout(timer);
  };
}

async function shown(): Promise<void> {
  await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
