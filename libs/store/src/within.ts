/** Maximum delay of a Node.js timer, in ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Resolves with the result of `work`, or throws the error that `late` returns after `ms`. The work itself continues.
 */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  if (ms > MAX_TIMER_MS) return work;
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, passed]);
  } finally {
    clearTimeout(timer);
  }
}
