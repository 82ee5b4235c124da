import type { Filter } from './filter.js';
import type { Operation } from './operation.js';

/** Results of `ack`, `release`, `extend` and the calls on dead letters, one per id. */
export const Settled = { Unknown: 0, Done: 1, Expired: 2 } as const;

/** Maximum length of a lease or delay, in ms. */
export const MAX_LEASE_MS = 86_400_000;

/** How far ahead an entry can be scheduled, in ms: ten years. */
export const MAX_SCHEDULE_MS = 315_360_000_000;

/** Entry priorities, highest first. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Maximum size of the payloads in one lease, in bytes of UTF-8, unless the first entry alone is larger. */
export const MAX_LEASED_BYTES = 2 ** 20;

/** Maximum number of entries in one lease. */
export const MAX_LEASED_ENTRIES = 1_000;

/** Maximum length of a release's reason, in bytes of UTF-8. */
export const MAX_REASON_BYTES = 256;

/** Default reasons for dead letters: the last lease ended by itself, or a release gave no reason. */
export const LEASE_ENDED = 'the lease ended';
export const RELEASED = 'released';

/** A queue entry that no other caller can lease until its lease ends. */
export interface LeasedEntry {
  /** Opaque. Identifies one lease of the entry. A later lease of the same item has a different id. */
  readonly id: string;
  readonly payload: string;
  /** 1 on the first lease. */
  readonly attempt: number;
}

/** Where entries can be. */
export const ENTRY_STATES = ['waiting', 'leased', 'delayed', 'scheduled', 'dead'] as const;
export type EntryState = (typeof ENTRY_STATES)[number];

/** Maximum number of entries on one page. */
export const MAX_LISTED_ENTRIES = 1_000;

/** A queue entry in any state. */
export interface QueueEntry {
  /** Opaque. Encodes where the entry is, so an entry that moves gets a new id. See Queue.drop. */
  readonly id: string;
  readonly payload: string;
  /**
   * The state in which the next lease would find the entry. So if a lease, a delay or a schedule has ended, the entry
   * is waiting or, if it has used up its attempts, dead. QueueStats counts both as waiting.
   */
  readonly state: EntryState;
  /** Number of leases so far. */
  readonly attempt: number;
  /**
   * When the item was discovered or, if it was ever scheduled, its last scheduled time, in whole seconds since the
   * epoch.
   */
  readonly discoveredAt: number;
  /** When a leased, delayed or scheduled entry comes back, in ms since the epoch. Absent for all other entries. */
  readonly dueAt?: number;
  /** A dead letter's reason. Absent for all other entries. */
  readonly reason?: string;
  /** In sets with `perHost`: the item's host name. */
  readonly host?: string;
}

/** Which entries to list. An absent member selects all. */
export interface EntryQuery {
  readonly state?: EntryState;
  /** A host's name. Only in sets with `perHost`. */
  readonly host?: string;
}

export interface EntryPage {
  readonly entries: QueueEntry[];
  /** Cursor for the next page. Absent on the last page. */
  readonly next?: string;
}

/** How `release` gives entries back. */
export interface Release {
  /** Delay before the entry can be leased again, at most MAX_LEASE_MS. */
  readonly delayMs: number;
  /** Kept with an entry that becomes a dead letter. At most MAX_REASON_BYTES. An empty reason is stored as RELEASED. */
  readonly reason: string;
  /** False: the lease doesn't count as an attempt, so `attempt` goes back by one and no entry becomes a dead letter. */
  readonly countAttempt: boolean;
  /**
   * In sets with `perHost`: how long to lease no entries from the released entries' hosts, at most MAX_LEASE_MS. This
   * never shortens a host's current delay. A forgotten or dropped entry also delays its host, unless the queue has
   * already removed the entry. The first `ack` or `release` of such an entry removes it, so later calls don't delay the
   * host again. An expired id doesn't delay its host, because it doesn't name the host.
   */
  readonly hostDelayMs: number;
}

/** Limits for a lease in a set with `perHost`. */
export interface LeaseLimits {
  /** Maximum number of entries per host. Default: 1 if hosts have a delay, otherwise no limit. */
  readonly maxPerHost?: number;
}

/** An entry that came back after its last permitted lease. See FilterSpec.maxAttempts. */
export interface DeadLetter {
  /** Opaque. Identifies this dead letter, even after a restart. */
  readonly id: string;
  readonly payload: string;
  /** Number of leases. */
  readonly attempt: number;
  /** The last release's reason, or LEASE_ENDED. Never empty. */
  readonly reason: string;
}

export interface DeadLetterPage {
  readonly entries: DeadLetter[];
  /** Cursor for the next page. Absent on the last page. */
  readonly next?: string;
}

/**
 * A visited set's queue. It has a log for each priority. New entries go to the end of their log, and leases take
 * entries from its head. Entries with a higher priority go first.
 *
 * Within a priority, order is roughly first in, first out. Each segment hands out its entries in the order in which
 * they were queued, but segments have no order among themselves.
 *
 * An entry comes back when its lease ends, it is released, its time comes, or it is put back. It keeps its priority and
 * goes to the end: behind all waiting entries with its priority, and before later ones. Entries that come due between
 * two changes come back in the order of their times. Entries that one change releases have no order among themselves.
 *
 * A scheduled entry comes back at a fixed time, as if never leased. It counts as discovered at that time. If the clock
 * is set back, scheduled entries wait longer.
 *
 * A set with `perHost` has a lane for each host, with this order within each lane. A segment's lanes take turns, and
 * the lane that has been due longest comes first.
 *
 * A host's next entries may be leased `delayMs` after a lease. At `maxLeased`, its lane waits until one of its leases
 * ends or an entry is settled. If that limit is 1, the delay also counts from then. Leases that find only forgotten
 * entries of a host don't delay it. A host's pace survives a restart. If the clock is set back, a host waits no longer
 * than its delay.
 *
 * At most one lease holds an entry. An entry that was forgotten is never leased again, wherever it was when its item
 * was removed. If its item is discovered again, it gets a new entry.
 */
export interface Queue {
  /**
   * Leases at most `max` entries (limit MAX_LEASED_ENTRIES), up to MAX_LEASED_BYTES of payloads, each hidden for
   * `leaseMs` (at most MAX_LEASE_MS). Leases end by themselves. A repeat returns only the entries that this lease still
   * holds, which is an exception to the rule that a repeat returns the same result. An empty result is not recorded, so
   * a repeat may return entries. Overlapping attempts of one operation may lease more than `max` entries in total. The
   * surplus is not returned, and comes back when its lease ends.
   */
  lease(
    filter: Filter,
    max: number,
    leaseMs: number,
    operation: Operation,
    limits?: LeaseLimits,
  ): Promise<LeasedEntry[]>;

  /**
   * Permanently removes leased entries from the queue. Per id: Settled.Done; Settled.Expired if the entry's lease has
   * ended or the entry was settled under it; Settled.Unknown if the entry was forgotten, or no such id was ever issued.
   * Once the queue has removed a forgotten entry, its id may return Settled.Expired.
   *
   * With `againAfterMs` (1 to MAX_SCHEDULE_MS), schedules the entries instead, so they come back after this time.
   * Forgetting their items still removes them. Throws TypeError for a set that ages, because the item would expire,
   * could be discovered again, and would then have two entries.
   */
  ack(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    againAfterMs?: number,
  ): Promise<Uint8Array>;

  /**
   * Gives leased entries back. They go to the end of the queue, immediately or after a delay. If they were leased as
   * often as the visited set allows, they become dead letters. Returns the same results as `ack`.
   */
  release(
    filter: Filter,
    ids: readonly string[],
    operation: Operation,
    release?: Partial<Release>,
  ): Promise<Uint8Array>;

  /**
   * Sets the end of these entries' leases to `leaseMs` from now (at most MAX_LEASE_MS). Returns the same results as
   * `ack`. Does not change the lease of a forgotten or dropped entry. Its worker may still fetch the URL, so the entry
   * counts towards `maxLeased` until that lease ends.
   */
  extend(filter: Filter, ids: readonly string[], leaseMs: number, operation: Operation): Promise<Uint8Array>;

  /**
   * Calls `wake` whenever an entry may have become available, through any instance, and sometimes spuriously. Also
   * calls it when the set is dropped: before `drop` returns or, if another instance drops it, at the next check. Keeps
   * working after a commit, after `clear`, and for a new set with the same name. Call the returned function to stop
   * watching.
   */
  watch(filter: Filter, wake: () => void): () => void;

  /**
   * At most `limit` entries (and MAX_LISTED_ENTRIES) after the cursor `after`, as the query selects them. Throws
   * TypeError for a `host` in a set without `perHost`. With a cursor that this set did not issue, the list starts with
   * the first page, as in other calls.
   *
   * A call does a bounded amount of work, so a page may have fewer entries, or none, even if more follow. The pages
   * list each entry that stays in its place and its state from the first page to the last. In Redis, if many other
   * hosts leave the queue in the meantime, an entry of a set with `perHost` may be on two pages. An entry that had
   * already come back when the listing began is listed, perhaps twice, even if the queue notices only later. Any other
   * entry that moves, changes its state or has its lease extended may be listed twice or not at all. The pages omit
   * forgotten and dropped entries.
   */
  entries(filter: Filter, query: EntryQuery, limit: number, after?: string): Promise<EntryPage>;

  /**
   * Drops the entries with these ids from `entries`. They are never leased again, and settling them or putting them
   * back returns Settled.Unknown, as for forgotten entries. Their items stay visited and count towards `maxUrls`, even
   * after a sync that was open then. The exception is a scheduled entry: such a sync doesn't keep its item. As with
   * forgotten entries, the queue removes dropped ones within minutes, and counts them until then.
   *
   * Per id: Settled.Done, or Settled.Unknown if `entries` no longer lists the entry with this id. In that case, the
   * entry was settled, forgotten or dropped, or it moved because it was leased or came back to the queue. Extending a
   * lease doesn't move an entry. After a lease or delay ends, the entry moves only when the queue notices. In a short
   * queue, an entry that was leased and released may have its old id again. If `ids` has the same id twice, the second
   * one is Settled.Unknown.
   *
   * In a set that ages, an item that expired and was discovered again has two entries. Dropping the later one also
   * drops the earlier one, in any state. If `ids` has both, the earlier one may then be Settled.Unknown.
   */
  drop(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;

  /**
   * Stores `answer` for an operation that makes several calls, unless an answer is already stored. Returns the stored
   * answer.
   */
  record(filter: Filter, operation: Operation, answer: string): Promise<string>;

  /** The answer that `record` has stored for this operation, or undefined if there is none. */
  recall(filter: Filter, operation: Operation): Promise<string | undefined>;

  /** At most `limit` dead letters after the cursor `after`, by segment, oldest first. */
  deadLetters(filter: Filter, limit: number, after?: string): Promise<DeadLetterPage>;

  /** Requeues dead letters as if they had never been leased. Per id: Settled.Done or Settled.Unknown. */
  putBack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;

  /** Deletes dead letters. Their items stay visited. Per id: Settled.Done or Settled.Unknown. */
  purge(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;
}
