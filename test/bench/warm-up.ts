import type { BenchOptions } from './row.js';

/**
 * Does `work`, whose figures are not wanted, until the processes that do it are warm; once at least. V8 compiles what is
 * hot, throws that away where it had guessed wrong, and compiles anew: over the first 4,000 batches of a service their
 * CPU time falls to a half or less.
 */
export async function warmUp(
  { warmUpSeconds }: Pick<BenchOptions, 'warmUpSeconds'>,
  work: () => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + warmUpSeconds * 1_000;
  do await work();
  while (performance.now() < end);
}
