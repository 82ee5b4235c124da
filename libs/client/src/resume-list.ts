import type { CallOptions, ChangeOptions } from './batches.js';
import { blocksOf, type Source } from './blocks.js';
import { Checkpoints, type Checkpoint, type Save } from './checkpoints.js';
import { Digest, sizeOf } from './entries.js';
import { ChangedListError, ServiceError } from './errors.js';
import { MOST_ENTRIES } from './joined-calls.js';
import { sendBlocks, type Block } from './send-blocks.js';
import type { Given, ListedIn, ListVerb, SendListOptions } from './send-list-options.js';

/** Options for a list that can be resumed. */
export interface ResumeListOptions<Listed, Result> extends SendListOptions<Listed, Result> {
  /** The list's last saved checkpoint. Default: start at the beginning. */
  readonly from?: Checkpoint | undefined;
  /**
   * Saves a checkpoint, which replaces the previous one. Called before the first block, before a block that isn't full
   * (with `maxWaitMs`: before each block), and after `onBlock`. The list waits for each call, one at a time. If a call
   * throws, the list ends.
   */
  readonly save?: Save | undefined;
}

/**
 * Sends a list like `sendList`, starting at its last saved checkpoint. Executes each entry once, even if earlier calls
 * were killed. Reads the source from the beginning, so it must yield the same entries, but may have more at the end.
 * For 24 hours, the service recognizes blocks that were in flight. Returns the last checkpoint.
 *
 * Throws like `sendList`, and ChangedListError if the source starts with different entries.
 */
export async function resumeList<
  Entry,
  Result extends string | number | boolean,
  Options extends CallOptions,
  G extends Given<Entry>,
>(
  verb: ListVerb<Entry, Result, Options>,
  source: Source<G>,
  options: Omit<Options, keyof ChangeOptions> & ResumeListOptions<ListedIn<G>, Result> = {} as never,
): Promise<Checkpoint> {
  const { from, save, maxWaitMs, onBlock, ...others } = options;
  const checkpoints = new Checkpoints(from, save);
  const blocks = digestedBlocks<ListedIn<G>>(source, maxWaitMs, checkpoints);
  const call = verb as ListVerb<Entry, Result, ChangeOptions>;
  try {
    await sendBlocks(call, blocks, checkpoints.last.key, others, async (block) => {
      await onBlock?.(block);
      await checkpoints.took(block, block.digest);
    });
    return checkpoints.last;
  } catch (error) {
    const isReused = error instanceof ServiceError && error.code === 'IDEMPOTENCY_KEY_REUSED';
    if (!isReused || !from) throw error;
    // An earlier call was killed before it got the answer for a different block with this key.
    const { entries } = checkpoints.last;
    throw new ChangedListError(`the entries after the first ${entries} differ`, { cause: error });
  } finally {
    await checkpoints.end();
  }
}

/** A block, with a digest of all entries up to its end. */
type DigestedBlock<Listed> = Block<Listed> & { readonly digest: string };

/** Yields the blocks after a checkpoint. If a retry couldn't find a block's end again, saves that end first. */
async function* digestedBlocks<Listed>(
  source: Source<unknown>,
  maxWaitMs: number | undefined,
  checkpoints: Checkpoints,
): AsyncGenerator<DigestedBlock<Listed>> {
  const { entries: skip, digest: expected, cuts } = checkpoints.last;
  const digest = new Digest();
  let end = 0;
  const skipped = (entry: Listed): void => {
    digest.add(entry);
    if (++end === skip && digest.text() !== expected)
      throw new ChangedListError(`the first ${skip} entries differ`);
  };
  const cutting = { sizeOf, maxWaitMs, keepsRest: false, skip, skipped, cuts };
  for await (const entries of blocksOf(source as Source<Listed>, cutting)) {
    // If the source is slow, it may yield entries after the list has ended.
    if (checkpoints.isOver) return;
    const from = end;
    end += entries.length;
    for (const entry of entries) digest.add(entry);
    // Next time, the last block may be longer if the list has grown. With `maxWaitMs`, any block may be shorter if the
    // source is slower.
    const isFull = maxWaitMs === undefined && entries.length === MOST_ENTRIES;
    const isSame = isFull || cuts.includes(end);
    if (!isSame) await checkpoints.keep({ cuts: [...checkpoints.last.cuts, end] });
    else if (!checkpoints.isSaved) await checkpoints.keep({});
    yield { from, entries, digest: digest.text() };
  }
  if (end < skip)
    throw new ChangedListError(`it now has only ${end} entries, but ${skip} were already processed`);
}
