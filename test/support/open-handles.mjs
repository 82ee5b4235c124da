import { setTimeout as sleep } from 'node:timers/promises';

/** Handles that keep a process alive. A test file must close all its handles. */
const KINDS = ['Timeout', 'TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'ProcessWrap', 'MessagePort'];
const LOOK_MS = 20;
/** Connections and processes need some time to end, especially on a busy machine. */
const PATIENCE_MS = 20_000;

/** How many open handles of each kind there are. */
export function openHandles() {
  const names = process.getActiveResourcesInfo();
  return KINDS.map((kind) => names.filter((name) => name === kind).length);
}

/**
 * Describes the handles that are open now but were not in `before`, waiting a while for them to close. '' if none
 * remain.
 */
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
