import type { Sending } from './answers-ahead.js';
import type { Answers, ListOptions } from './batches.js';
import type { BadEntry } from './entries.js';

/** One step of a source: an entry, or several. */
export type Given<Entry> = Entry | BadEntry | readonly (Entry | BadEntry)[];

/** The type of a step's entries. */
export type ListedIn<G> = G extends readonly (infer Listed)[] ? Listed : G;

/** A block of a list, with its results. `Listed`: an entry as the source yielded it. */
export interface SentBlock<Listed, Result> {
  /** Number of entries before the block. */
  readonly from: number;
  readonly entries: readonly Listed[];
  /** One result per entry, in order. Undefined for a refused entry. */
  readonly results: readonly (Result | undefined)[];
  /** Why entries were refused or are invalid, by their index in the block, in order. */
  readonly reasons: ReadonlyMap<number, string>;
}

/** A verb for lists, from a set, a filter, or a sync, such as `set.visit`. */
export type ListVerb<Entry, Result, Options> = (
  entries: Iterable<Entry>,
  options?: Options & ListOptions,
) => Answers<Entry, Result>;

/** Options for a list. */
export interface SendListOptions<Listed, Result> extends Pick<Sending, 'signal' | 'stop'> {
  /**
   * How many blocks of up to 1,000 entries are in flight, 1 to 16. Default: 4. If an entry is on the list twice, either
   * may get `new`. With 1, the first one does.
   */
  readonly ahead?: number | undefined;
  /** Called with each block once it has its results, in order. The list waits for the call. */
  readonly onBlock?: ((block: SentBlock<Listed, Result>) => unknown) | undefined;
  /**
   * Called when a block was refused or its retries have failed, once no call is in flight. Returns the delay in ms
   * before the block is resent, or throws to end the list. Default: the list ends.
   */
  readonly onFailure?: Sending['onFailure'];
  /** How long a block's first entry waits for more, in ms. Default: until the block is full or the source ends. */
  readonly maxWaitMs?: number | undefined;
}
