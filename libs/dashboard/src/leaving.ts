import { useEffect, useMemo } from 'preact/hooks';
import { LEFT } from './connection.js';

/** Aborted when the screen is left: for what nobody waits for then. */
export function useLeaving(): AbortSignal {
  const leaving = useMemo(() => new AbortController(), []);
  useEffect(() => () => leaving.abort(LEFT), [leaving]);
  return leaving.signal;
}

/** While `on`, the browser asks before it closes the page or goes elsewhere. */
export function useAskBeforeUnload(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [on]);
}
