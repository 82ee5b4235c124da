import type { Sending } from './answers-ahead.js';
import type { Answers, ListOptions } from './batches.js';
import type { BadEntry } from './entries.js';

/** One step of a source: an entry, or several. */
export type Given<Entry> = Entry | BadEntry | readonly (Entry | BadEntry)[];

/** The type of the entries in a step. */
export type ListedIn<G> = G extends readonly (infer Listed)[] ? Listed : G;

/** An answered block of a list. `Listed`: an entry as the source yielded it. */
export interface SentBlock<Listed, Result> {
  /** Number of entries before the block. */
  readonly from: number;
  readonly entries: readonly Listed[];
  /** One result per entry, in order; undefined for a refused entry. */
  readonly results: readonly (Result | undefined)[];
  /** Why entries were refused or are invalid, by their index in the block, in order. */
  readonly reasons: ReadonlyMap<number, string>;
}

/** A verb of a set, a filter, or a sync for lists, such as `set.visit`. */
export type ListVerb<Entry, Result, Options> = (
  entries: Iterable<Entry>,
  options?: Options & ListOptions,
) => Answers<Entry, Result>;

/** Options of a list. */
export interface SendListOptions<Listed, Result> extends Pick<Sending, 'signal' | 'stop'> {
  /**
   * Number of blocks of up to 1,000 entries in flight, 1 to 16. Default: 4. If an entry is on the list twice, either
   * may get `new`; with 1, the first one does.
   */
  readonly ahead?: number | undefined;
  /** Called with each answered block, in order. The list waits for the call. */
  readonly onBlock?: ((block: SentBlock<Listed, Result>) => unknown) | undefined;
  /**
   * Called when a block was refused or its retries have failed, once no call is in flight. Returns the delay in ms
   * before the block is sent again, or throws to end the list. Default: the list ends.
   */
  readonly onFailure?: Sending['onFailure'];
  /**
   * How long the first entry of a block waits for others, in ms. Default: until the block is full or the source ends.
   */
  readonly maxWaitMs?: number | undefined;
}
