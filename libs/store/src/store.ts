import type { Geometry, Layer, Positions, Segmentation } from '#bloom';
import type { Inspection } from './inspection.js';
import type { Sync, Syncs } from './syncs.js';

/** A plain filter, or the filter of a visited set. They share one name space. */
export type FilterKind = 'filter' | 'visited-set';
export type FilterType = 'counting' | 'standard';
/** `set`: a second add changes nothing. `multiset`: every add counts, every removal takes one back. */
export type Semantics = 'set' | 'multiset';

/** The parameters of a filter. All are kept with the filter for its life. */
export interface FilterSpec {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  /** Of the first layer. Positions are those in it; the store finds those in other layers by the hashes. */
  readonly geometry: Geometry;
  /**
   * Of a filter that grows, all its layers, planned with it, the first of them with `geometry`: one comes into being when
   * the one before is nearly full. Absent: the filter does not grow.
   */
  readonly layers?: readonly Layer[];
  /** SEED_BYTES random bytes. Never shown. */
  readonly seed: Uint8Array;
  /** Visited sets: the normalised URL profile, opaque to the store (JSON). */
  readonly urlProfile?: unknown;
  /** Visited sets: an entry that has been leased so often becomes a dead letter when it comes back. Absent: never. */
  readonly maxAttempts?: number;
  /**
   * An item that was not added again for so long is absent: counting filters of the semantics "set", whose geometries have
   * cells of 8 bits. Absent: items are there until they are removed.
   */
  readonly maxAgeSeconds?: number;
}

/** An open filter: an immutable handle on one generation of it, as it is until a sync is committed. */
export interface Filter extends FilterSpec {
  /** Random, 16 hex digits; another one after `clear`, or after drop and create. */
  readonly generation: string;
  /**
   * Number of the first layer of its list. Numbers of layers are never reused within a generation, so it is another one after
   * each sync that was committed. 0 at first.
   */
  readonly base: number;
  /** Segments that its first geometry had. Those of each layer that it ever has are a whole multiple of it. */
  readonly spread: number;
  /** What the filter was made with, if a sync has changed it since: a repeated creation asks for that. */
  readonly original?: Pick<FilterSpec, 'capacity' | 'errorRate'>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Counts that are kept beside the cells, never found by scanning. */
export interface FilterStats {
  /** Adds answered new, less removals that left the item absent. If the filter ages, estimated from the cells that are live. */
  readonly items: number;
  readonly nonZeroCells: number;
  /** Counters at 15 (0 for a standard filter). */
  readonly saturatedCells: number;
  /** These three of each layer there is, oldest first: one if the filter does not grow. */
  readonly layers: readonly LayerStats[];
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  /** Removals that changed nothing. */
  readonly refused: number;
  /** Visited sets only. */
  readonly queue?: QueueStats;
  /** The one that is open or committing. */
  readonly sync?: Sync;
  /** If the filter ages. */
  readonly age?: AgeStats;
  /**
   * How far back records of operations surely reach, in whole seconds. That is 86,400 and 60, even for a new filter,
   * unless the limit on their memory made the store forget some sooner.
   */
  readonly recordWindowSeconds: { readonly caller: number; readonly made: number };
}

/** The time of a filter that ages: see age.ts. */
export interface AgeStats {
  /** Number of the present epoch, and the length of each. */
  readonly epoch: number;
  readonly epochMs: number;
  /** Items by the last epoch in which they are live: the present one first, estimated as `items` is. */
  readonly items: readonly number[];
  /** Items that were removed while others keep all their cells live. */
  readonly hidden: number;
}

export type LayerStats = Pick<FilterStats, 'items' | 'nonZeroCells' | 'saturatedCells'>;

/** Entries of a queue by where they are. Entries that were forgotten count until the queue comes to them. */
export interface QueueStats {
  /** In line, to be leased now. */
  readonly waiting: number;
  readonly leased: number;
  /** Released with a delay that is not over. */
  readonly delayed: number;
  /** Dead letters. */
  readonly dead: number;
  /** How many of all these may have been forgotten, at most. */
  readonly forgotten: number;
  /** Seconds since the entry at the head of the line was discovered; absent if none waits. */
  readonly oldestSeconds?: number;
}

/**
 * The identity of a mutation. Records (fingerprint and answers) are kept with the filter that it changes, per verb.
 * `caller`: an Idempotency-Key of the caller's own, kept 24 h. `made`: an id that the service made, kept 60 s.
 */
export interface Operation {
  readonly id: string;
  readonly origin: 'caller' | 'made';
  /** Digest of the request's route and body. A repeat with another one is IDEMPOTENCY_KEY_REUSED. */
  readonly fingerprint: string;
  /** Whether the id came with the request, so that it may have been executed before. Always true for a caller's id. */
  readonly repeat: boolean;
  /**
   * When a made id was made, in ms since the epoch. An id older than the records that are kept is
   * IDEMPOTENCY_KEY_EXPIRED.
   */
  readonly madeAt?: number;
  /** Milliseconds since the epoch. After it the caller no longer waits. */
  readonly deadline: number;
  /** The caller's: for layers that a filter grows by. */
  readonly quota?: Quota | undefined;
}

export interface ListPage {
  readonly filters: Filter[];
  /** The name after which the next page begins; absent on the last page. */
  readonly next?: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why the store is not ready. It names no host and no secret. */
  readonly reason?: string;
  /** Shown to everyone, so they name no host, secret or filter. */
  readonly warnings: readonly string[];
}

/** What `add` answers per item. */
export const Added = { Present: 0, New: 1 } as const;
/** What `remove` answers per item. */
export const Removed = { Absent: 0, Removed: 1, Saturated: 2 } as const;
/** What `ack`, `release`, `extend` and the calls on dead letters answer per id. */
export const Settled = { Unknown: 0, Done: 1, Expired: 2 } as const;

/**
 * Cells. Every method takes the positions of a batch and answers one byte per item, in the batch's order.
 *
 * - Each item is changed atomically, and the items of a segment in order. There is no order between items of different
 *   segments, and none between parallel calls.
 * - A mutation is recorded under its operation in the same atomic step as the change. A repeat answers the same and
 *   changes nothing. When a call fails half way (STORE_UNAVAILABLE), repeating it with the same operation gives every
 *   item its first answer.
 * - Every call, reads included, checks the filter's generation and that all its cells are there. It throws
 *   STORE_DATA_LOST, FILTER_NOT_FOUND or StaleFilterError, and never answers a wrong "absent".
 * - No answer leaves before every change it may have observed is as durable as the store promises.
 * - A call that no caller may make throws TypeError: counters of a standard filter, payloads where there is no queue.
 *
 * A filter that grows has layers, of which only the newest is open to what is new. An item is in the oldest layer that
 * claims it, all k cells of it there being non-zero, and stays there. That is what makes removals exact. In a layer that
 * is closed a cell at zero stays zero, since only items that the layer claims are added to it. No layer older than an
 * item's own claimed it when it was stored, so each of those has a cell at zero for it, for ever.
 */
export interface Counters {
  /**
   * `set`: stores the items that are not present (some cell zero). `multiset`: counts every item. A counter at 15
   * stays. Answers Added.New for items that were not present. Throws FILTER_FULL, before any change, if the filter
   * would hold more than twice its capacity; if it grows, more than the capacity of its last layer there.
   *
   * In a filter that grows, an item is counted in the oldest layer that claims it, and is stored in the newest if none
   * does. A layer is closed at its capacity, or its share of it in a segment, also in the midst of a batch. If the next
   * one has to be made and cannot be, it throws STORE_FULL for lack of memory, and QUOTA_EXCEEDED if the layer would exceed
   * the operation's quota. Then nothing more is added to the segment, and a repeat of the operation goes on where it stopped.
   *
   * `payloads`, for visited sets: one string per item. A new item is queued with its string in the same atomic step.
   *
   * In a filter that ages the items are live for `ttlMs` from now, or if that is absent for its whole age, and for up to a
   * thirteenth of that age more. An item that is present is live for the longer of what it had left and that.
   */
  add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
    ttlMs?: number,
  ): Promise<Uint8Array>;

  /** 1: probably present (all k cells non-zero). 0: surely absent. */
  check(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;

  /**
   * Takes one from each of the item's counters in the oldest layer that claims it, that is, where all are above zero. Otherwise it changes nothing and answers
   * Removed.Absent. Counters at 15 stay; if all are at 15, nothing changes and the answer is Removed.Saturated. An item
   * that is removed from a visited set leaves the queue in the same step, wherever its entry is: it is never handed out or
   * settled again. Counting filters only.
   *
   * In a filter that ages it answers Removed.Removed for every item that is there. One whose cells others keep live is noted until
   * its own time is over: so it is absent as well, whatever its cells say. The notes are bounded: STORE_FULL, before any change.
   */
  remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array>;

  /**
   * The smallest of the item's counters in the oldest layer that claims it, else 0: an upper bound of its multiplicity. 15 means 15 or more. Counting filters
   * only: throws TypeError for a standard one, which has bits.
   */
  count(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;
}

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

/** Limits the calls of each caller in each second. */
export interface RateLimiter {
  /**
   * Counts a call. Answers 0, or, if it is one too many, the milliseconds until the caller may come again. Also answers
   * 0 while the counts cannot be read: they are where the filters are, so the call itself will report that.
   */
  take(caller: string): Promise<number>;
}

/** A credential as it is stored. The value's meaning is the caller's own; it never contains a secret itself. */
export interface Credential {
  readonly id: string;
  readonly value: string;
}

/**
 * The credentials for using the service: some hundreds, which callers keep in memory. They are stored as durably as
 * filters, and every store on the same data sees them.
 */
export interface Credentials {
  /** Stores a credential. It replaces one with the same id. */
  put(credential: Credential): Promise<void>;

  /** As `put`, in place of one with the same id only. Answers false, and stores nothing, if there is none. */
  replace(credential: Credential): Promise<boolean>;

  /** All credentials, sorted by id. */
  list(): Promise<Credential[]>;

  /** Answers false if there was none. */
  delete(id: string): Promise<boolean>;
}

/** Number and size of filters and visited sets. */
export interface Usage {
  readonly filters: number;
  /** Bytes of their cells. */
  readonly bytes: number;
}

/**
 * Limits on how many filters and visited sets, and how many bytes, there may be under names that begin with `prefix`,
 * whoever made them. A filter counts from the moment its creation or import begins until it is gone. Clearing it makes
 * no difference. Filters made without a quota count, too, but are not refused.
 */
export interface Quota {
  /** Ends with ".", "_" or "-". */
  readonly prefix: string;
  /** If absent, any number. */
  readonly maxFilters?: number | undefined;
  /** If absent, any number. */
  readonly maxBytes?: number | undefined;
}

/** A queue entry on its way between stores. */
export interface QueuedItem {
  /** The item's hash: four big-endian words, the first of which tells its segment. */
  readonly hash: Uint8Array;
  /** Leases so far, up to MAX_ATTEMPT. */
  readonly attempt: number;
  /** When it was discovered, in whole seconds since the epoch. */
  readonly discoveredAt: number;
  /** UTF-8. */
  readonly payload: Uint8Array;
  /** Of a dead letter; absent for all others. */
  readonly reason?: string;
}

/** An item of a filter that ages which was removed while others keep its cells live. */
export interface HiddenItem {
  /** As of a QueuedItem. */
  readonly hash: Uint8Array;
  /** The last epoch in which that has to be known. */
  readonly until: number;
}

/** Leases that an entry may come with: stores and files count on from there in 32 bits. */
export const MAX_ATTEMPT = 2 ** 31;

/** The counts of a filter that cannot be computed from its cells. */
export type CallCounts = Pick<FilterStats, 'items' | 'added' | 'duplicate' | 'removed' | 'refused'>;

/**
 * A piece of a filter's contents, small enough to be held in memory. The pieces come segment by segment: first the
 * queue of a segment, then what is hidden in it, then its cells from first to last without a gap, those of the oldest layer first. The counts come
 * last of all.
 */
export type Part =
  | { readonly type: 'queue'; readonly segment: number; readonly entries: readonly QueuedItem[] }
  | { readonly type: 'hidden'; readonly segment: number; readonly items: readonly HiddenItem[] }
  | {
      readonly type: 'cells';
      /** Number of the layer, from 0. */
      readonly layer: number;
      /** Of the layer, which may have several for each of the filter's. */
      readonly segment: number;
      readonly cells: Uint8Array;
      /** How many of these cells are not zero, and how many are counters at 15. */
      readonly nonZero: number;
      readonly saturated: number;
    }
  | {
      readonly type: 'counts';
      readonly counts: CallCounts;
      /** Items of each layer, oldest first; `counts` has their sum. */
      readonly layerItems: readonly number[];
    };

/** Moves whole filters out of a store and into another. */
export interface Transfer {
  /**
   * Everything of a filter except its operation records, while the filter is in use. The cells of a segment are those
   * of one moment, and segments are read one after the other; of a filter that grows that is so of each layer, the open one of a
   * segment first. An item lives in one segment and layer. So the export has
   * everything that was answered before it began, less what was removed since. Each change of an item that happens
   * meanwhile is in it whole or not at all. An entry of the queue, dead letters included, is missing only if it
   * was acknowledged or purged (but see exportParts), and may appear twice. Throws as `Counters` does; StaleFilterError also if the filter is cleared or
   * dropped half way.
   */
  export(filter: Filter): AsyncGenerator<Part, void, undefined>;

  /**
   * Makes a filter with these contents, under a generation of its own, with all queued entries in line,
   * in the order in which they come, and its dead letters. `parts` must be
   * complete and fit the spec. A caller that reads them from elsewhere checks that, and throws out of the iteration if
   * they are not. The filter becomes visible when the parts have ended. If anything throws before that, there is no
   * filter and its reserved memory is freed. After a crash the next start or call frees it.
   *
   * Before the parts are read it throws FILTER_EXISTS if the name is taken, FILTER_BUSY if another call makes or drops
   * a filter of that name, and QUOTA_EXCEEDED as `create` does. A repeated operation answers the same filter without
   * reading the parts.
   */
  import(spec: FilterSpec, parts: AsyncIterable<Part>, operation: Operation, quota?: Quota): Promise<Filter>;
}

/**
 * Where filters live: the one port of the service, with two adapters. This interface has the names, descriptions and
 * life cycle. Cells and queue are two facets over the same atomic steps. Syncs renew a filter from a list. Inspection shows why it answers as it does. Transfer moves it from store to store.
 * Credentials are a facet of their own.
 */
export interface Store {
  readonly counters: Counters;
  readonly queue: Queue;
  readonly syncs: Syncs;
  readonly inspection: Inspection;
  readonly transfer: Transfer;
  readonly credentials: Credentials;
  /** How this store wants filters split into segments. */
  readonly segmentation: Segmentation;

  /**
   * Makes a filter with all cells zero and all memory reserved. `created` is false if one with the same name, kind,
   * type, semantics, capacity, error rate and URL profile exists. Throws STORE_FULL if there is not enough memory,
   * FILTER_EXISTS if another filter has the name, and FILTER_BUSY while one of that name is being made or dropped.
   *
   * Throws QUOTA_EXCEEDED if it would exceed `quota`. The step that claims the name checks this, so filters that are
   * made at once do not exceed it together. A filter that exists already needs no room, nor does a repeated operation.
   */
  create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }>;

  /**
   * The current generation of a filter, from a cache where possible. It may be outdated; its use will show that.
   * `fresh` asks the catalogue. Throws FILTER_NOT_FOUND if there is no filter of this kind under the name.
   */
  open(name: string, kind: FilterKind, options?: { fresh?: boolean }): Promise<Filter>;

  describe(filter: Filter): Promise<FilterStats>;

  /**
   * Filters of a kind sorted by name (code units): at most `limit`, those after `after`. With a `prefix`, the page has
   * only filters whose names begin with it, and `next` refers to no others.
   */
  list(kind: FilterKind, limit: number, after?: string, prefix?: string): Promise<ListPage>;

  /** The usage under each of these prefixes, which end with ".", "_" or "-", in the order given. */
  usage(prefixes: readonly string[]): Promise<Usage[]>;

  /**
   * Removes a filter. Answers when its memory is free and no old position can touch anything. Throws FILTER_BUSY while
   * the filter is being made or cleared. It also removes what a call that died half way has left.
   */
  drop(name: string, kind: FilterKind, operation: Operation): Promise<void>;

  /** Empties a filter and its queue: makes a new generation with the same parameters and a new seed. */
  clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter>;

  /** A limit on the calls per second, counted for all stores on the same data together. */
  rateLimiter(perSecond: number): RateLimiter;

  readiness(): Promise<Readiness>;

  /** Finishes what is under way and releases everything. Idempotent. */
  close(): Promise<void>;
}
