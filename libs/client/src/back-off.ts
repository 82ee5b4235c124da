const FIRST_MS = 100;
const MOST_MS = 5_000;
/** Spreads the retries of clients that got the same delay from the service. */
const SPREAD_MS = 250;

/**
 * Delay before the next attempt, in ms. Exponential with full jitter (Brooker, "Exponential Backoff And Jitter", AWS
 * 2015), or as long as the service requests. `tries`: number of failed attempts minus one.
 */
export function backOffMs(tries: number, retryAfterSeconds?: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1_000 + Math.random() * SPREAD_MS;
  return Math.random() * Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries, 30));
}

/** Resolves after `ms`. If the signal aborts, rejects with its reason. */
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
