/**
 * What calls that were begun side by side answer, in their order. If some fail, the error of the first of these, once
 * nothing of any call is under way any more: whoever sees it may give back what the call held, and repeat it.
 * `Promise.all` would throw while the others go on.
 */
export async function joinAll<T>(calls: Iterable<Promise<T>>): Promise<T[]> {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
