import type { CallOptions, ChangeOptions } from './batches.js';
import { blocksOf, type Source } from './blocks.js';
import { sizeOf } from './entries.js';
import { randomKey } from './random-key.js';
import { sendBlocks, type Block } from './send-blocks.js';
import type { Given, ListedIn, ListVerb, SendListOptions } from './send-list-options.js';

/**
 * Sends a list of any length, each entry once even if calls are repeated: each block has an Idempotency-Key. An
 * entry that the service refuses is reported, and the others are sent. The source may also give arrays of entries,
 * which is faster, and a BadEntry. It holds up to `ahead` blocks in memory, and the one that it reads.
 *
 * Throws the error of a block that failed once no call is in flight, the error of the source once all blocks before it
 * are answered, or the reason of a signal: `signal` aborts the calls in flight, `stop` first takes their answers. To go
 * on after that, or after the end of the process, see `resumeList`.
 */
export async function sendList<
  Entry,
  Result extends string | number | boolean,
  Options extends CallOptions,
  G extends Given<Entry>,
>(
  verb: ListVerb<Entry, Result, Options>,
  source: Source<G>,
  options: Omit<Options, keyof ChangeOptions> & SendListOptions<ListedIn<G>, Result> = {} as never,
): Promise<void> {
  const { maxWaitMs, onBlock, ...others } = options;
  const blocks = placedBlocks<ListedIn<G>>(source, maxWaitMs);
  const call = verb as ListVerb<Entry, Result, ChangeOptions>;
  await sendBlocks(call, blocks, randomKey(), others, (block) => onBlock?.(block));
}

async function* placedBlocks<Listed>(
  source: Source<unknown>,
  maxWaitMs: number | undefined,
): AsyncGenerator<Block<Listed>> {
  let from = 0;
  for await (const entries of blocksOf(source as Source<Listed>, { sizeOf, maxWaitMs, keepsRest: false })) {
    yield { from, entries };
    from += entries.length;
  }
}
