import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again every few milliseconds until the answer is true; throws, naming what it waited for, after `ms`. */
export async function until(what: string, ms: number, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`after ${ms} ms still not so: ${what}`);
    await sleep(10);
  }
}
