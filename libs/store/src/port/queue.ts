import type { Filter } from './filter.js';
import type { Operation } from './operation.js';

/** What `ack`, `release`, `extend` and the calls on dead letters answer per id. */
export const Settled = { Unknown: 0, Done: 1, Expired: 2 } as const;

/** Longest lease and longest delay, in ms. */
export const MAX_LEASE_MS = 86_400_000;

/** Bytes of payloads, in UTF-8, that the answer of one lease holds at most, unless its first entry alone has more. */
export const MAX_LEASED_BYTES = 2 ** 20;

/** Entries that one lease hands out at most. */
export const MAX_LEASED_ENTRIES = 1_000;

/** Longest reason of a release, in bytes of UTF-8. */
export const MAX_REASON_BYTES = 256;

/** Reasons of dead letters: the last lease ended by itself, or a release gave none. */
export const LEASE_ENDED = 'the lease ended';
export const RELEASED = 'released';

/** A queue entry, hidden from others until its lease ends. */
export interface LeasedEntry {
  /** Opaque; names this lease of this entry, so a later lease of the same item has another. */
  readonly id: string;
  readonly payload: string;
  /** 1 on the first lease. */
  readonly attempt: number;
}

/** How entries are given back. */
export interface Release {
  /** For so long nobody gets them; MAX_LEASE_MS at most. */
  readonly delayMs: number;
  /** Kept with an entry that becomes a dead letter: MAX_REASON_BYTES at most; empty is RELEASED. */
  readonly reason: string;
  /** False: the lease was no attempt, so that `attempt` is as before it, and no entry becomes a dead letter by it. */
  readonly countAttempt: boolean;
}

/** An entry that was leased as often as its visited set allows. */
export interface DeadLetter {
  /** Opaque; names this dead letter, also after a restart. */
  readonly id: string;
  readonly payload: string;
  /** How often it was leased. */
  readonly attempt: number;
  /** Of its last release, or LEASE_ENDED. Never empty. */
  readonly reason: string;
}

export interface DeadLetterPage {
  readonly entries: DeadLetter[];
  /** After which the next page begins; absent on the last. */
  readonly next?: string;
}

/**
 * The to-do queue of a visited set, a log: what is new is written at its end, what is leased is taken from its head. About
 * first in, first out: within a segment entries are handed out in the order in which they came into line; there is no order
 * between segments. An entry whose lease has ended, that was released, whose delay is over or that was put back comes to the end
 * of the line as it then is, behind what waits and before what is still to come.
 *
 * An entry is held by at most one lease. An entry that was forgotten is handed out no more, wherever it was when its item
 * was removed; one that was discovered again since is another entry.
 */
export interface Queue {
  /**
   * At most `max` entries (MAX_LEASED_ENTRIES at most), and no more than MAX_LEASED_BYTES hold, each hidden for `leaseMs`
   * (MAX_LEASE_MS at most). Leases end by themselves. An exception from "a repeat answers the same": it answers those of the
   * entries that this lease still holds. A call that finds nothing is not recorded: a repeat may find something. Tries of one
   * operation that overlap may hold more than `max` together: what is beyond is not answered, and comes back when the lease ends.
   */
  lease(filter: Filter, max: number, leaseMs: number, operation: Operation): Promise<LeasedEntry[]>;

  /**
   * Takes leased entries off the queue for good. Per id: Settled.Done; Settled.Expired if the lease of the entry is over,
   * since it ended or has been settled; Settled.Unknown if the entry has been forgotten, or no such id was ever given.
   */
  ack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;

  /**
   * Gives leased entries back: to the end of the line at once or after a delay, or to the dead letters if they were leased
   * as often as the visited set allows. Answers as `ack`.
   */
  release(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    release?: Partial<Release>,
  ): Promise<Uint8Array>;

  /** The leases of these entries end `leaseMs` from now (MAX_LEASE_MS at most). Answers as `ack`. */
  extend(filter: Filter, ids: readonly string[], leaseMs: number, operation: Operation): Promise<Uint8Array>;

  /**
   * Calls `wake` whenever there may be something to lease that was not there before, whoever brought it, and sometimes also
   * when there is not. Goes on after a sync is committed, after the set is cleared, and with a new set of the same name. Ends with
   * the function that it answers.
   */
  watch(filter: Filter, wake: () => void): () => void;

  /** Dead letters, at most `limit`, those after `after`; of each segment the oldest first. */
  deadLetters(filter: Filter, limit: number, after?: string): Promise<DeadLetterPage>;

  /** Puts dead letters into line again, as if they had never been leased. Settled.Done or Settled.Unknown per id. */
  putBack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;

  /** Deletes dead letters; their items stay visited. Settled.Done or Settled.Unknown per id. */
  purge(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;
}
