import { setTimeout as sleep } from 'node:timers/promises';

/** What keeps a process alive; a test file is to leave none of it behind. */
const KINDS = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'ProcessWrap', 'MessagePort'];
const LOOK_MS = 20;
/** Connections and processes that were told to end take a while to do so, most of all on a busy machine. */
const PATIENCE_MS = 10_000;

/** How many there are of each kind. */
export function openHandles() {
  const names = process.getActiveResourcesInfo();
  return KINDS.map((kind) => names.filter((name) => name === kind).length);
}

/** Resolves when no more is open than was `before`; rejects, naming what is, if that is not so in time. */
export async function untilClosed(before) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const left = openHandles().map((count, i) => count - before[i]);
    if (left.every((count) => count <= 0)) return;
    if (Date.now() > end) {
      const words = KINDS.flatMap((kind, i) => (left[i] > 0 ? [`${left[i]} ${kind}`] : []));
      throw new Error(`this file left open what keeps a process from ending: ${words.join(', ')}`);
    }
    await sleep(LOOK_MS, undefined, { ref: false });
  }
}
