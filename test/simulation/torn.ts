import type { Part } from '#store';
import { turn } from './open-store.js';

/** Thrown when the parts end before the import has read them all. */
export class Torn extends Error {
  constructor() {
    super('the parts break off');
  }
}

/** Yields the parts one by one, and throws after `count` of them. `onRead` is called for each. */
export async function* partsUntil(
  parts: readonly Part[],
  tear: number | undefined,
  onRead: () => void,
): AsyncGenerator<Part, void, undefined> {
  for (const [n, part] of parts.entries()) {
    await turn();
    onRead();
    if (n === tear) throw new Torn();
    yield part;
  }
}
