import { useState } from 'preact/hooks';

/** Something that is asked for by a button. */
export interface Act {
  readonly working: boolean;
  /** Why it did not work the last time. */
  readonly error: Error | undefined;
  readonly act: (what: () => Promise<void>) => Promise<void>;
}

/** For what is done once it is asked for, and not twice at once. */
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
