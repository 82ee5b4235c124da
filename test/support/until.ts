import { setTimeout as sleep } from 'node:timers/promises';

/** Far longer than anything takes, also on a machine that has a tenth of its time to give: only what hangs takes it. */
const PATIENCE_MS = 90_000;

/** Asks every few milliseconds until the answer is true. Throws after PATIENCE_MS, and names what it waited for. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`after ${PATIENCE_MS} ms still not so: ${what}`);
    await sleep(10);
  }
}
