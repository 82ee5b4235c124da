import { setImmediate } from 'node:timers/promises';
import { turn } from '../event-loop/turn.js';
import type { BatchResult } from './batch.js';
import type { LineBlock } from './line-blocks.js';

/** Runs a block. The block may reach the store once `before` resolves, and never if it rejects. */
export type RunBlock = (block: LineBlock, before: Promise<unknown>) => Promise<BatchResult>;

/** A block in progress. It has no result if it has no items. */
interface BegunBlock {
  readonly block: LineBlock;
  readonly result?: Promise<BatchResult>;
}

/** Runs a stream's blocks, and prepares the next block while one is in the store. */
export class BlocksAhead {
  private stopped = false;
  /** The last block with items that has been started. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly blocks: AsyncGenerator<LineBlock, void, undefined>,
    private readonly run: RunBlock,
  ) {}

  /** The blocks in order. Call it once. */
  async *begun(): AsyncGenerator<BegunBlock, void, undefined> {
    let ahead = this.begin();
    for (;;) {
      const begun = await ahead;
      if (begun === undefined) return;
      if (!begun.block.fault) ahead = this.begin();
      // The consumer may leave before this settles.
      ahead.catch(() => undefined);
      yield begun;
      if (begun.block.fault) return;
    }
  }

  /** Sends the store no more blocks. The next reader takes over the body. */
  stop(): void {
    this.stopped = true;
    // Not awaited: it may wait for the sender.
    void this.blocks.return();
  }

  private async begin(): Promise<BegunBlock | undefined> {
    const { done, value: block } = await this.blocks.next();
    if (done || this.stopped) return undefined;
    if (block.items.length === 0) return { block };
    // Lets the call to the store go out first. Otherwise, the work on this block would delay it.
    await setImmediate();
    if (turn.isSpent()) await turn.next();
    const before = this.last.then(() => {
      if (this.stopped) throw new Error('the stream has ended');
    });
    const result = this.run(block, before);
    // These may reject after the consumer has left because of an earlier error, which has been reported.
    before.catch(() => undefined);
    result.catch(() => undefined);
    this.last = result;
    return { block, result };
  }
}
