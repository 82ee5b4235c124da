import type { Geometry, Positions, Segmentation } from '#bloom';

/** A filter, or the filter of a visited set: one name space for both. */
export type FilterKind = 'filter' | 'visited-set';
export type FilterType = 'counting' | 'standard';
/** `set`: a second add changes nothing. `multiset`: every add counts, every removal takes one back. */
export type Semantics = 'set' | 'multiset';

/** What a filter is made from; all of it is kept with the filter for its life. */
export interface FilterSpec {
  readonly name: string;
  readonly kind: FilterKind;
  readonly type: FilterType;
  readonly semantics: Semantics;
  readonly capacity: number;
  readonly errorRate: number;
  readonly geometry: Geometry;
  /** SEED_BYTES random bytes. Never shown. */
  readonly seed: Uint8Array;
  /** Visited sets: the normalised URL profile, opaque to the store (JSON). */
  readonly urlProfile?: unknown;
}

/** An open filter: an immutable handle on one generation of it. */
export interface Filter extends FilterSpec {
  /** Random, 16 hex digits; another one after `clear`, or after drop and create. */
  readonly generation: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Counts kept beside the cells, never found by scanning. */
export interface FilterStats {
  /** Adds answered new, less removals that left the item absent. */
  readonly items: number;
  readonly nonZeroCells: number;
  /** Counters at 15 (0 for a standard filter). */
  readonly saturatedCells: number;
  readonly added: number;
  readonly duplicate: number;
  readonly removed: number;
  /** Removals that changed nothing. */
  readonly refused: number;
  /** Visited sets only. */
  readonly queue?: { readonly waiting: number; readonly leased: number };
  /** How long ago the oldest operation record still surely kept could have been made, in seconds. */
  readonly recordWindowSeconds: { readonly caller: number; readonly made: number };
}

/**
 * Identity of a mutation. Its records (fingerprint and answers) are kept with the filter it changes, per verb.
 * `caller`: an Idempotency-Key of the caller's own, kept 24 h. `made`: an id the service made, kept 60 s.
 */
export interface Operation {
  readonly id: string;
  readonly origin: 'caller' | 'made';
  /** Digest of the request's route and body; a repeat with another one is IDEMPOTENCY_KEY_REUSED. */
  readonly fingerprint: string;
  /** The id came with the request, so it may have been executed before. Always true for a caller's. */
  readonly repeat: boolean;
  /** When a made id was made, in ms since the epoch: once older than its record it is IDEMPOTENCY_KEY_EXPIRED. */
  readonly madeAt?: number;
  /** Milliseconds since the epoch after which the caller no longer waits. */
  readonly deadline: number;
}

export interface ListPage {
  readonly filters: Filter[];
  /** Name after which the next page begins; absent on the last. */
  readonly next?: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why not, naming no host and no secret. */
  readonly reason?: string;
  readonly warnings: readonly string[];
}

/** What `add` answers per item. */
export const Added = { Present: 0, New: 1 } as const;
/** What `remove` answers per item. */
export const Removed = { Absent: 0, Removed: 1, Saturated: 2 } as const;
/** What `ack` and `release` answer per id. */
export const Settled = { Unknown: 0, Done: 1, Expired: 2 } as const;

/**
 * Cells. Every method takes the positions of a batch and answers one byte per item, in the batch's order.
 *
 * - Atomic per item, and per item in order within a segment; no order between items of different segments, and
 *   none between parallel calls.
 * - A mutation is recorded under its operation in the same atomic step as the change. A repeat answers the
 *   same and changes nothing. When a call fails half way (STORE_UNAVAILABLE), repeating it with the same
 *   operation gives every item its first answer.
 * - Every call, reads included, checks the filter's generation and that its cells are all there:
 *   STORE_DATA_LOST, FILTER_NOT_FOUND or StaleFilterError, never a wrong "absent".
 * - No answer leaves before every change it may have observed is as durable as the store promises.
 */
export interface Counters {
  /**
   * `set`: stores the items that are not present (some cell zero). `multiset`: counts every item. A counter
   * at 15 stays. Answers Added.New for items that were not present. FILTER_FULL, before any change, if the
   * filter would come to hold more than twice its capacity.
   *
   * `payloads`, for visited sets: one string per item; an item that was new is queued with it, in the same
   * atomic step.
   */
  add(
    filter: Filter,
    positions: Positions,
    operation: Operation,
    payloads?: readonly string[],
  ): Promise<Uint8Array>;

  /** 1: probably present (all k cells non-zero). 0: surely absent. */
  check(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;

  /**
   * Takes one from each of the item's counters, if all are above zero; else changes nothing: Removed.Absent.
   * Counters at 15 stay; if all are at 15 nothing changes: Removed.Saturated. In a visited set an item that was
   * removed leaves the queue in the same step, leased or not. Counting filters only.
   */
  remove(filter: Filter, positions: Positions, operation: Operation): Promise<Uint8Array>;

  /** Smallest of the item's counters, an upper bound of its multiplicity; 15 means 15 or more. */
  count(filter: Filter, positions: Positions, deadline: number): Promise<Uint8Array>;
}

/** A queue entry, hidden from others until its lease ends. */
export interface LeasedEntry {
  /** Opaque; names this lease of this entry, so a later lease of the same item has another. */
  readonly id: string;
  readonly payload: string;
  /** 1 on the first lease. */
  readonly attempt: number;
}

/** The to-do queue of a visited set: about first in, first out; no order between segments. */
export interface Queue {
  /** At most `max` visible entries, each hidden for `leaseMs`. Leases end by themselves. */
  lease(filter: Filter, max: number, leaseMs: number, operation: Operation): Promise<LeasedEntry[]>;

  /**
   * Takes leased entries off the queue for good. Per id: Settled.Done; Settled.Expired if the lease has ended
   * (the entry is, or will be, handed out again); Settled.Unknown if there is no such entry, or no such id.
   */
  ack(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;

  /** Makes leased entries visible again at once. Answers as `ack`. */
  release(filter: Filter, ids: readonly string[], operation: Operation): Promise<Uint8Array>;
}

/**
 * Where filters live: the one port of the service, with two adapters. The names, descriptions and life cycle
 * are here, cells and queue are its two facets over the same atomic steps.
 */
export interface Store {
  readonly counters: Counters;
  readonly queue: Queue;
  /** How this store wants filters cut. */
  readonly segmentation: Segmentation;

  /**
   * Makes a filter, all cells zero, all memory claimed (STORE_FULL if there is not enough). `created` is false if
   * one with the same name, kind, type, semantics, capacity, error rate and URL profile exists; FILTER_EXISTS if
   * another one does; FILTER_BUSY while it is being made or dropped.
   */
  create(spec: FilterSpec, operation: Operation): Promise<{ filter: Filter; created: boolean }>;

  /**
   * The current generation of a filter, from a cache where possible: it may be outdated, which its use will show.
   * `fresh` asks the catalogue. FILTER_NOT_FOUND if there is none of this kind under the name.
   */
  open(name: string, kind: FilterKind, options?: { fresh?: boolean }): Promise<Filter>;

  describe(filter: Filter): Promise<FilterStats>;

  /** Filters of a kind sorted by name (code units), at most `limit`, those after `after`. */
  list(kind: FilterKind, limit: number, after?: string): Promise<ListPage>;

  /** Removes a filter; answers when its memory is free and no old position can touch anything. */
  drop(name: string, kind: FilterKind, operation: Operation): Promise<void>;

  /** Empties a filter (and its queue): a new generation with the same parameters and a new seed. */
  clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter>;

  readiness(): Promise<Readiness>;

  /** Finishes what is under way and lets go of everything. Idempotent. */
  close(): Promise<void>;
}
