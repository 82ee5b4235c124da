import { setTimeout as sleep } from 'node:timers/promises';
import { patienceMs } from './patience.js';

/** Asks every few milliseconds until the answer is true. Throws before the test is over, and names what it waited for. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs();
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`still not so when the test had to end: ${what}`);
    await sleep(10);
  }
}
