import type { BenchOptions } from './row.js';

/**
 * Until V8 has settled: it compiles what is hot, throws that away where it had guessed wrong, and compiles anew. Over the
 * first 4,000 batches of a service their CPU time falls to a half or less.
 */
const SECONDS = 4;

/** Does `work`, whose figures are not wanted, until the processes that do it are warm; once if `quick`. */
export async function warmUp({ quick }: BenchOptions, work: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + SECONDS * 1_000;
  do await work();
  while (!quick && performance.now() < end);
}
