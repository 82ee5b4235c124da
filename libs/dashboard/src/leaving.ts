import { useEffect, useMemo } from 'preact/hooks';
import { LEFT } from './connection.js';

/** A signal that is aborted when the user leaves the screen, to cancel calls whose result is no longer needed. */
export function useLeaving(): AbortSignal {
  const leaving = useMemo(() => new AbortController(), []);
  useEffect(() => () => leaving.abort(LEFT), [leaving]);
  return leaving.signal;
}

/** While `on`, the browser asks before the user closes or leaves the page. */
export function useAskBeforeUnload(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [on]);
}
