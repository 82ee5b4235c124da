import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from './http.js';

const LONGEST_MS = 60_000;

/**
 * Sends an idempotent request until it succeeds, and returns the body. Throws after LONGEST_MS. A request may take
 * seconds on a busy machine.
 */
export async function untilAnswered(what: string, send: () => Promise<Reply>): Promise<string> {
  for (const end = performance.now() + LONGEST_MS; ;) {
    const reply = await send();
    if (reply.kind === 'answered' && (reply.status === 200 || reply.status === 201)) return reply.text;
    if (performance.now() > end) throw new Error(`${what}: ${JSON.stringify(reply)}`);
    await sleep(50);
  }
}
