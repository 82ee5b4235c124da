import { setTimeout as sleep } from 'node:timers/promises';
import { patienceMs } from './patience.js';

const FIRST_MS = 10;
const MOST_MS = 50;
/**
 * How much of the time so far a pause takes. A long wait checks less and less often, because each check takes CPU time
 * from the process under test.
 */
const PART = 0.05;

/**
 * Polls every 10 to 50 ms until `holds` returns true. Throws shortly before Jest would end the test, with the event's
 * name.
 */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const begin = performance.now();
  const end = begin + patienceMs();
  while (!(await holds())) {
    const now = performance.now();
    if (now > end) throw new Error(`timed out waiting until ${what}`);
    await sleep(Math.min(MOST_MS, Math.max(FIRST_MS, (now - begin) * PART)));
  }
}
