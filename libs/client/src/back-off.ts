const FIRST_MS = 100;
const MOST_MS = 5_000;
/** So that all who were told the same time do not come back in the same moment. */
const SPREAD_MS = 250;

/**
 * How long to wait before another try, in ms: exponential, with full jitter (Brooker, "Exponential Backoff And Jitter", AWS
 * 2015); as the service asks, if it does. `tries`: how many have failed already, less one.
 */
export function backOffMs(tries: number, retryAfterSeconds?: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1_000 + Math.random() * SPREAD_MS;
  return Math.random() * Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries, 30));
}

/** Resolves after so many ms. Rejects with the signal's reason when it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
