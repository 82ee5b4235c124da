/** If work with the same name is already running, callers share it. `running` has all work in progress. */
export function shared<T>(
  running: Map<string, Promise<T>>,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const known = running.get(name);
  if (known) return known;
  const begun = work().finally(() => running.delete(name));
  running.set(name, begun);
  // Callers that wait get the error. Without a handler here, Node would end the process if there are no such callers.
  begun.catch(() => undefined);
  return begun;
}
