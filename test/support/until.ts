import { setTimeout as sleep } from 'node:timers/promises';
import { patienceMs } from './patience.js';

const FIRST_MS = 10;
const MOST_MS = 50;
/** Each question takes CPU time from the process that it waits for, so a long wait asks less often. */
const PART = 0.05;

/** Asks every few milliseconds until the answer is true. Throws before Jest ends the test, and names the event. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const begin = performance.now();
  const end = begin + patienceMs();
  while (!(await holds())) {
    const now = performance.now();
    if (now > end) throw new Error(`still not so when the test had to end: ${what}`);
    await sleep(Math.min(MOST_MS, Math.max(FIRST_MS, (now - begin) * PART)));
  }
}
