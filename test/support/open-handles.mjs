import { setTimeout as sleep } from 'node:timers/promises';

/** What keeps a process alive; a test file is to leave none of it behind. */
const KINDS = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'ProcessWrap', 'MessagePort'];
const LOOK_MS = 20;
/** Connections and processes that were told to end take a while to do so, most of all on a busy machine. */
const PATIENCE_MS = 3_000;

/** How many there are of each kind. */
export function openHandles() {
  const names = process.getActiveResourcesInfo();
  return KINDS.map((kind) => names.filter((name) => name === kind).length);
}

/** Answers what is open beyond what was `before`, in words, once none is or after a while; '' for none. */
export async function leftOpen(before) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const left = openHandles().map((count, i) => count - before[i]);
    if (left.every((count) => count <= 0)) return '';
    if (Date.now() > end)
      return KINDS.flatMap((kind, i) => (left[i] > 0 ? [`${left[i]} ${kind}`] : [])).join(', ');
    await sleep(LOOK_MS);
  }
}
