import { setTimeout as sleep } from 'node:timers/promises';

/** Far longer than anything takes, also on a machine that has a tenth of its time to give: only what hangs takes it. */
const PATIENCE_MS = 90_000;
const FIRST_MS = 10;
const MOST_MS = 50;
/** To ask takes time from the processes that are waited for, so a long wait asks less often. */
const PART = 0.05;

/** Asks every few milliseconds until the answer is true. Throws after PATIENCE_MS, and names what it waited for. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const begin = Date.now();
  while (!(await holds())) {
    const waited = Date.now() - begin;
    if (waited > PATIENCE_MS) throw new Error(`after ${PATIENCE_MS} ms still not so: ${what}`);
    await sleep(Math.min(MOST_MS, Math.max(FIRST_MS, waited * PART)));
  }
}
