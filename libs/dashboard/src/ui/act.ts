import { useState } from 'preact/hooks';

/** State of an action started by a button. */
export interface Act {
  readonly working: boolean;
  /** Why the last attempt failed. */
  readonly error: Error | undefined;
  readonly act: (what: () => Promise<void>) => Promise<void>;
}

/** Tracks one action at a time: whether it is in progress, and its last error. */
export function useAct(): Act {
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error>();
  const act = async (what: () => Promise<void>): Promise<void> => {
    setWorking(true);
    setError(undefined);
    try {
      await what();
    } catch (thrown) {
      setError(thrown as Error);
    }
    setWorking(false);
  };
  return { working, error, act };
}
