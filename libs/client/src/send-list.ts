import type { CallOptions, ChangeOptions } from './batches.js';
import { blocksOf, type Source } from './blocks.js';
import { sizeOf } from './entries.js';
import { randomKey } from './random-key.js';
import { sendBlocks, type Block } from './send-blocks.js';
import type { Given, ListedIn, ListVerb, SendListOptions } from './send-list-options.js';

/**
 * Sends a list of any length. Executes each entry once, even if calls are retried, because each block has its own
 * Idempotency-Key. If the service refuses an entry, reports it and sends all others. The source may also yield arrays
 * of entries, which is faster, and BadEntry objects. Up to `ahead` blocks are in memory, plus the block being read.
 *
 * Throws a failed block's error once no call is in flight, or the source's error once all earlier blocks have their
 * results. If a signal aborts, throws its reason. `signal` aborts calls in flight, and `stop` waits for their answers.
 * To continue a list after that, or after a kill, use `resumeList`.
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
