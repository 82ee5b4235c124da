import type { BenchOptions } from './row.js';

/** However slow the machine is. */
const MOST_SECONDS = 60;

/**
 * Does `work`, at least once, until the processes that do it are warm. V8 compiles hot code, discards it where it had
 * guessed wrong, and compiles it again. Over the first 4,000 batches of a service the CPU time per batch falls to a
 * half or less. On a slow machine these take longer than the time for warming up: `least` is how often the work must
 * be done for that.
 */
export async function warmUp(
  { warmUpSeconds }: Pick<BenchOptions, 'warmUpSeconds'>,
  work: () => Promise<unknown>,
  least = 1,
): Promise<void> {
  const from = performance.now();
  const most = Math.min(warmUpSeconds * 1_000 * least, MOST_SECONDS * 1_000);
  for (let done = 1; ; done++) {
    await work();
    const passed = performance.now() - from;
    if (passed >= warmUpSeconds * 1_000 && (done >= least || passed >= most)) return;
  }
}
