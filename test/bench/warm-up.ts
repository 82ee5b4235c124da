import type { BenchOptions } from './row.js';

/** The limit, even on a slow machine. */
const MOST_SECONDS = 60;

/**
 * Repeats `work`, at least once, until the processes that do it are warm. V8 compiles hot code, discards it where it
 * guessed wrong, and compiles it again. Over a service's first 4,000 batches, the CPU time per batch falls by half or
 * more. On a slow machine, 4,000 batches take longer than the warm-up time, so `least` sets the minimum number of
 * repetitions.
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
