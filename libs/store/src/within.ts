/** The longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves with the result of `work`, or throws what `late` makes after `ms`. The work itself goes on. */
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
