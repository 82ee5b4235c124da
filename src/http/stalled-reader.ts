/** Passes chunks on as they are read. Calls `cutOff` if the reader takes none for `idleMs`. */
export async function* cutOffStalled<T>(
  chunks: AsyncIterable<T>,
  idleMs: number,
  cutOff: () => void,
): AsyncGenerator<T, void, undefined> {
  for await (const chunk of chunks) {
    const stalled = setTimeout(cutOff, idleMs);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
    }
  }
}
