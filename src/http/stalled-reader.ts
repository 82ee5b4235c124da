/** Passes chunks on as they are taken. A reader that takes none for `idleMs` is cut off. */
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
