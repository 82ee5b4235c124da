import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { StoreError, type LeasedEntry } from '#store';
import { notFound } from '../errors/not-found.js';
import { LeaseWaiters } from './lease-waiters.js';

/** Time stands still, so only a wake-up causes another attempt. */
const STILL = { now: () => 0, monotonic: () => 0 };

/** Two waiting callers. `first` came first. `outcome` is the outcome of further attempts. */
async function twoWaiting() {
  let wake = (): void => undefined;
  const waiters = new LeaseWaiters({
    watch: (woken) => {
      wake = woken;
      return () => undefined;
    },
    ...{ timeoutMs: 1_000, clock: STILL, onEmpty: () => undefined },
  });
  const state = { outcome: async (): Promise<LeasedEntry[]> => [] };
  const ended: string[] = [];
  for (const caller of ['first', 'second']) {
    const waiting = waiters.wait(() => state.outcome(), new AbortController().signal);
    void waiting.then(
      () => ended.push(`${caller}: answered`),
      (error: unknown) => ended.push(`${caller}: ${(error as Error).message}`),
    );
  }
  await setImmediate();
  const wakeWith = async (outcome: typeof state.outcome): Promise<string[]> => {
    state.outcome = outcome;
    wake();
    await setImmediate();
    return ended;
  };
  return { wakeWith, dismiss: () => waiters.dismiss() };
}

describe('callers that wait to lease', () => {
  it('all fail with the first attempt that finds their set gone, even if its name is created again', async () => {
    const { wakeWith } = await twoWaiting();
    let attempts = 0;
    const goneOnce = () =>
      attempts++ === 0 ? Promise.reject(notFound('visited-set', 'pages')) : Promise.resolve([]);
    const gone = 'visited set "pages" does not exist; check the name, or create the visited set';
    expect(await wakeWith(goneOnce)).toEqual([`first: ${gone}`, `second: ${gone}`]);
    expect(attempts).toBe(1);
  });

  it('are next if the attempt of the caller before them fails', async () => {
    const { wakeWith } = await twoWaiting();
    const entry = { id: 'a', payload: 'b', attempt: 1 };
    let attempts = 0;
    const refusedOnce = () =>
      attempts++ === 0 ? Promise.reject(new Error('refused')) : Promise.resolve([entry]);
    expect(await wakeWith(refusedOnce)).toEqual(['first: refused', 'second: answered']);
  });

  it.each(['STORE_UNAVAILABLE', 'STORE_FULL', 'STORE_DATA_LOST'] as const)(
    'go on waiting after %s, apart from the first one',
    async (code) => {
      const { wakeWith, dismiss } = await twoWaiting();
      const refuse = () => Promise.reject(new StoreError(code, 'refused'));
      expect(await wakeWith(refuse)).toEqual(['first: refused']);
      dismiss();
    },
  );
});
