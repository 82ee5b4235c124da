import { answersTo } from './answers-ahead.js';
import { assertAhead, DEFAULT_AHEAD, gathered, type ChangeOptions } from './batches.js';
import { BadEntry } from './entries.js';
import { sendAccepted } from './refused-entries.js';
import type { ListVerb, SendListOptions, SentBlock } from './send-list-options.js';

/** A block of a list. */
export interface Block<Listed> {
  /** Number of entries in the list before the block. */
  readonly from: number;
  readonly entries: readonly Listed[];
}

type Outcome<Result> = Pick<SentBlock<unknown, Result>, 'results' | 'reasons'>;

/** Sends a list's blocks. Their Idempotency-Keys consist of `key` and the block's start. */
export async function sendBlocks<Entry, Result, B extends Block<unknown>>(
  verb: ListVerb<Entry, Result, ChangeOptions>,
  blocks: AsyncGenerator<B>,
  key: string,
  options: Omit<SendListOptions<unknown, Result>, 'onBlock' | 'maxWaitMs'>,
  onBlock: (block: B & Outcome<Result>) => unknown,
): Promise<void> {
  const { ahead = DEFAULT_AHEAD, signal, stop, onFailure = rethrow, ...own } = options;
  assertAhead(ahead);
  const send = async (block: B, _: number, leaving: AbortSignal) => {
    const ask = (entries: readonly Entry[], round: number) => {
      const idempotencyKey = `${key}-${block.from}-${round}`;
      return gathered(verb(entries.values(), { ...own, signal: leaving, idempotencyKey, ahead: 1 }));
    };
    return { ...block, ...(await sendBlock(block.entries, ask)) };
  };
  for await (const sent of answersTo(blocks, send, { ahead, signal, stop, onFailure })) await onBlock(sent);
}

function rethrow(error: Error): never {
  throw error;
}

/** Sends a block's valid entries. Calls `ask` again without entries that the service refuses. */
async function sendBlock<Entry, Result>(
  listed: readonly unknown[],
  ask: (entries: readonly Entry[], round: number) => ReturnType<typeof gathered<Entry, Result>>,
): Promise<Outcome<Result>> {
  const results: (Result | undefined)[] = listed.map(() => undefined);
  const reasons: [number, string][] = [];
  const good: number[] = [];
  for (const [place, entry] of listed.entries()) {
    if (entry instanceof BadEntry) reasons.push([place, entry.reason]);
    else good.push(place);
  }
  const { answer, places } = await sendAccepted(
    good.map((place) => listed[place] as Entry),
    ask,
    (i, { detail }) => reasons.push([good[i] as number, detail.replace(/^\w+\[\d+\] /, '')]),
  );
  for (const [i, place] of places.entries()) {
    const at = good[place] as number;
    const reason = answer?.invalid.get(i);
    results[at] = answer?.results[i];
    if (reason !== undefined) reasons.push([at, reason]);
  }
  return { results, reasons: new Map(reasons.sort(([a], [b]) => a - b)) };
}
