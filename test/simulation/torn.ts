import type { Part } from '#store';
import { turn } from './open-store.js';

/** What an import reads breaks off. */
export class Torn extends Error {
  constructor() {
    super('the parts break off');
  }
}

/** Parts that come one by one, and break off after so many. `onRead` is told of each. */
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
