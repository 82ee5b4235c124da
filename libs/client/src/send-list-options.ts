import type { Sending } from './answers-ahead.js';
import type { Answers, ListOptions } from './batches.js';
import type { BadEntry } from './entries.js';

/** A step of a source: an entry, or several at once. */
export type Given<Entry> = Entry | BadEntry | readonly (Entry | BadEntry)[];

/** The entries in such a step. */
export type ListedIn<G> = G extends readonly (infer Listed)[] ? Listed : G;

/** A block of a list that was answered. `Listed`: an entry as the source gave it. */
export interface SentBlock<Listed, Result> {
  /** The number of entries before it. */
  readonly from: number;
  readonly entries: readonly Listed[];
  /** A result per entry, in order; undefined for one that was refused. */
  readonly results: readonly (Result | undefined)[];
  /** Why entries were refused or are invalid, by their places in the block, in order. */
  readonly reasons: ReadonlyMap<number, string>;
}

/** A verb of a set, a filter or a sync for lists, such as `set.visit`. */
export type ListVerb<Entry, Result, Options> = (
  entries: Iterable<Entry>,
  options?: Options & ListOptions,
) => Answers<Entry, Result>;

/** How a list is sent. */
export interface SendListOptions<Listed, Result> extends Pick<Sending, 'signal' | 'stop'> {
  /**
   * How many blocks of up to 1,000 entries are in flight at once, 1 to 16 (4). Of an entry that is on the list twice,
   * either may be the one that is new, unless it is 1.
   */
  readonly ahead?: number | undefined;
  /** Called with each answered block, in the order of the list, which waits for it. */
  readonly onBlock?: ((block: SentBlock<Listed, Result>) => unknown) | undefined;
  /**
   * Called when a block has failed for longer than the client repeats a call, or was refused, once no call is in flight
   * any more. It returns in how many ms the block is sent again, or throws, which ends the list. Absent: it ends.
   */
  readonly onFailure?: Sending['onFailure'];
  /** How long the first entry of a block waits for others, ms. Absent: until the block is full, or the source ends. */
  readonly maxWaitMs?: number | undefined;
}
