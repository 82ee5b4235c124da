/**
 * Waits for all calls and returns their results in order. If some fail, throws the first one's error, but only once all
 * calls have settled. The caller can then safely repeat the calls, or free resources that they use. `Promise.all` would
 * throw earlier.
 */
export async function joinAll<T>(calls: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
