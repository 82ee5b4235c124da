/**
 * The answers of calls that were begun side by side, in their order. If some fail, it throws the error of the first of
 * these, but only once no call is under way any more. Then the caller can free what the calls held, and repeat them.
 * `Promise.all` would throw while the others go on.
 */
export async function joinAll<T>(calls: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
