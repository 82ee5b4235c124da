import { MOST_ENTRIES, MOST_SIZE, sizeOf } from '#client';
import type { Line } from '../lines/lines.js';

/** Lines that go to the service in one call. */
export interface Block {
  readonly lines: readonly Line[];
  /** The Idempotency-Key of its calls. */
  readonly key: string;
}

/** Cuts lines into blocks. A block stays as it is however often it is sent, so that its key holds for it. */
export async function* blocksOf(lines: AsyncIterable<Line>, key: string): AsyncGenerator<Block, undefined> {
  let block: Line[] = [];
  let size = 0;
  let cut = 0;
  const take = (): Block => {
    const taken = { lines: block, key: `${key}.${cut++}` };
    [block, size] = [[], 0];
    return taken;
  };
  for await (const line of lines) {
    const more = sizeOf(line);
    if (block.length > 0 && size + more > MOST_SIZE) yield take();
    block.push(line);
    size += more;
    if (block.length === MOST_ENTRIES) yield take();
  }
  if (block.length > 0) yield take();
  return undefined;
}
