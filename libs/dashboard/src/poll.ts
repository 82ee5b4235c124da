import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { away, LEFT } from './connection.js';

/** What is asked for again and again. */
export interface Polled<T> {
  /** The latest answer; it stays while the next one is asked for, and when that fails. */
  readonly data: T | undefined;
  /** Why the last time failed. */
  readonly error: Error | undefined;
  /** Asks now. */
  readonly refresh: () => void;
}

/** Asking takes at most so much of the time. */
const SHARE = 1 / 10;
/** What has failed is asked for again after so long at most, so that all is back soon after the service is. */
const FAILED_MS = 5_000;

/**
 * Asks now, every `everyMs`, and when the page is looked at again. A page that nobody looks at asks nothing, and an answer that takes
 * long is asked for less often. `of`: what it is about; of another, everything begins anew.
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
    /** Answers how long to wait then. */
    const ask = async (): Promise<number> => {
      const begun = performance.now();
      try {
        const data = await latest.current(signal);
        if (!isLeft()) setState({ of, data });
        // Time in which nobody answered is not what asking takes.
        return Math.max(everyMs, wasAway() ? 0 : (performance.now() - begun) / SHARE);
      } catch (error) {
        if (!isLeft()) setState((old) => ({ ...kept(old, of), error: error as Error }));
        return Math.min(everyMs, FAILED_MS);
      }
    };
    const run = async (): Promise<void> => {
      while (!isLeft()) {
        // Woken while an answer is under way, too: that may be of before.
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

/** What waits so many ms, or until it is woken from now on. */
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
