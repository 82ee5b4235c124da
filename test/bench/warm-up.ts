import type { BenchOptions } from './row.js';

/**
 * Does `work`, at least once, until the processes that do it are warm. V8 compiles hot code, discards it where it had
 * guessed wrong, and compiles it again. Over the first 4,000 batches of a service the CPU time per batch falls to a
 * half or less.
 */
export async function warmUp(
  { warmUpSeconds }: Pick<BenchOptions, 'warmUpSeconds'>,
  work: () => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + warmUpSeconds * 1_000;
  do await work();
  while (performance.now() < end);
}
