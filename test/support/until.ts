import { setTimeout as sleep } from 'node:timers/promises';

/** Asks every few milliseconds until the answer is true. Throws after `ms`, and names what it waited for. */
export async function until(what: string, ms: number, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`after ${ms} ms still not so: ${what}`);
    await sleep(10);
  }
}
