export interface Guards {
  /** A reader that takes nothing for so long is cut off. */
  readonly idleMs: number;
  readonly cutOff: () => void;
  readonly onError: (error: unknown) => void;
}

/** Passes chunks on as they are taken. */
export async function* guarded<T>(
  chunks: AsyncIterable<T>,
  { idleMs, cutOff, onError }: Guards,
): AsyncGenerator<T, void, undefined> {
  try {
    for await (const chunk of chunks) {
      const stalled = setTimeout(cutOff, idleMs);
      try {
        yield chunk;
      } finally {
        clearTimeout(stalled);
      }
    }
  } catch (error) {
    onError(error);
    throw error;
  }
}
