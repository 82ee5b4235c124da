import type { Run } from '../sources/runs.js';

const PAUSE_MS = 100;
const PAUSE = Symbol('pause');

/** The same runs, and one that says so whenever the next one takes long: for what is typed, or comes from a crawl. */
export async function* withPauses(runs: AsyncIterable<Run>): AsyncGenerator<Run, void, undefined> {
  const iterator = runs[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      const first = await orPause(next);
      if (first === PAUSE) yield { items: [], pause: true };
      const found = await next;
      if (found.done === true) return;
      yield found.value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function orPause<T>(next: Promise<T>): Promise<T | typeof PAUSE> {
  let timer: NodeJS.Timeout | undefined;
  const pause = new Promise<typeof PAUSE>((resolve) => {
    timer = setTimeout(() => resolve(PAUSE), PAUSE_MS);
  });
  return Promise.race([next, pause]).finally(() => clearTimeout(timer));
}
