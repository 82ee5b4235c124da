/** Callers that ask for the work of the same name while it runs share that work. `running` has the work that runs. */
export function shared<T>(
  running: Map<string, Promise<T>>,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const known = running.get(name);
  if (known) return known;
  const begun = work().finally(() => running.delete(name));
  running.set(name, begun);
  // Waiting callers get the error.
  begun.catch(() => undefined);
  return begun;
}
