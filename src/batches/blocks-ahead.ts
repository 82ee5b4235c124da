import { setImmediate } from 'node:timers/promises';
import { turn } from '../event-loop/turn.js';
import type { BatchResult } from './batch.js';
import type { LineBlock } from './line-blocks.js';

/** Runs a block. The store may be told of it when `before` resolves, and never if that rejects. */
export type RunBlock = (block: LineBlock, before: Promise<unknown>) => Promise<BatchResult>;

/** A block that is being run; without a result if it has no items. */
interface BegunBlock {
  readonly block: LineBlock;
  readonly result?: Promise<BatchResult>;
}

/** The blocks of a stream, of which one more is begun while one is waited for. */
export class BlocksAhead {
  private stopped = false;
  /** The last block with items that was begun. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly blocks: AsyncGenerator<LineBlock, void, undefined>,
    private readonly run: RunBlock,
  ) {}

  /** In order. Read it once. */
  async *begun(): AsyncGenerator<BegunBlock, void, undefined> {
    let ahead = this.begin();
    for (;;) {
      const begun = await ahead;
      if (begun === undefined) return;
      if (!begun.block.fault) ahead = this.begin();
      // Whoever takes the blocks may leave before.
      ahead.catch(() => undefined);
      yield begun;
      if (begun.block.fault) return;
    }
  }

  /** The store is told of no block that it has not been told of yet. Leaves the body to whoever takes it next. */
  stop(): void {
    this.stopped = true;
    // Not awaited: it may be waiting for the sender.
    void this.blocks.return();
  }

  private async begin(): Promise<BegunBlock | undefined> {
    const { done, value: block } = await this.blocks.next();
    if (done || this.stopped) return undefined;
    if (block.items.length === 0) return { block };
    // What the store has just been told of leaves first: the work on this block would hold it up.
    await setImmediate();
    if (turn.isSpent()) await turn.next();
    const before = this.last.then(() => {
      if (this.stopped) throw new Error('the stream has ended');
    });
    const result = this.run(block, before);
    // Of an error that nobody waits for any more, the one before it has been told.
    before.catch(() => undefined);
    result.catch(() => undefined);
    this.last = result;
    return { block, result };
  }
}
