import type { Segmentation } from '#bloom';
import type { Counters } from './counters.js';
import type { Credentials } from './credentials.js';
import type { Filter, FilterKind, FilterSpec } from './filter.js';
import type { Hosts } from './hosts.js';
import type { Inspection } from './inspection.js';
import type { Operation, Quota, Usage } from './operation.js';
import type { Queue } from './queue.js';
import type { RateLimiter } from './rate-limiter.js';
import type { FilterStats } from './stats.js';
import type { Syncs } from './syncs.js';
import type { Transfer } from './transfer.js';

export interface ListPage {
  readonly filters: Filter[];
  /** The name after which the next page begins. Absent on the last page. */
  readonly next?: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why the store is not ready. Contains no host name and no secret. */
  readonly reason?: string;
  /** Shown to everyone, so they contain no host name, secret or filter name. */
  readonly warnings: readonly string[];
  /**
   * True if all data that this process knew has been lost or replaced, and is not restored. A later process can't know
   * this. Reported only by stores whose data can disappear while they are open.
   */
  readonly lost?: boolean;
}

/**
 * Where filters live. This is the service's one port, with two adapters. The interface covers names, descriptions and
 * life cycle. `Counters` and `Queue` work on the same atomic steps. `Syncs` renew a filter from an input list,
 * `Inspection` shows why a filter answers as it does, `Transfer` moves filters between stores, and `Credentials` keeps
 * callers' credentials.
 */
export interface Store {
  readonly counters: Counters;
  readonly queue: Queue;
  readonly hosts: Hosts;
  readonly syncs: Syncs;
  readonly inspection: Inspection;
  readonly transfer: Transfer;
  readonly credentials: Credentials;
  /** How this store splits filters into segments. */
  readonly segmentation: Segmentation;
  /**
   * Number of runs of segments (`Segmentation.spread`) for filters that keep a host's URLs together: one per server
   * that holds data.
   */
  readonly runs: number;

  /**
   * Creates a filter with all cells zero and all memory reserved. `created` is false if one with the same name, kind,
   * type, semantics, capacity, error rate and URL profile exists. Throws STORE_FULL if there isn't enough memory,
   * FILTER_EXISTS if another filter has the name, and FILTER_BUSY while a filter with that name is being created or
   * dropped.
   *
   * Throws QUOTA_EXCEEDED if it would exceed `quota`. The step that claims the name checks this, so parallel creations
   * can't exceed it between them. An existing filter needs no room, nor does a repeated operation.
   */
  create(
    spec: FilterSpec,
    operation: Operation,
    quota?: Quota,
  ): Promise<{ filter: Filter; created: boolean }>;

  /**
   * A filter's current generation, from a cache where possible. Calls detect a stale handle. `fresh` reads the
   * catalogue. Throws FILTER_NOT_FOUND if there is no filter of this kind with the name.
   */
  open(name: string, kind: FilterKind, options?: { fresh?: boolean }): Promise<Filter>;

  /** `hosts`: also counts hosts. In the embedded store, this takes longer, up to half a millisecond. */
  describe(filter: Filter, options?: { readonly hosts?: boolean }): Promise<FilterStats>;

  /**
   * At most `limit` filters of a kind after the name `after`, sorted by name (code units). With a `prefix`, the page
   * contains only names that begin with it, and `next` refers to no others.
   */
  list(kind: FilterKind, limit: number, after?: string, prefix?: string): Promise<ListPage>;

  /** The usage under each of these prefixes, in the same order. Each ends with one of PREFIX_ENDS. */
  usage(prefixes: readonly string[]): Promise<Usage[]>;

  /**
   * Removes a filter, and anything left by calls on it that died halfway. Returns when its memory is free and old
   * positions can no longer touch anything. Throws FILTER_BUSY while the filter is being created or cleared.
   */
  drop(name: string, kind: FilterKind, operation: Operation): Promise<void>;

  /**
   * Empties a filter and its queue by making a new generation with the same parameters and a new seed. In a set with
   * `perHost`, this also removes hosts' delays, counts and settings.
   */
  clear(name: string, kind: FilterKind, operation: Operation): Promise<Filter>;

  /** A limit on calls per second, shared by all stores on the same data. */
  rateLimiter(perSecond: number): RateLimiter;

  readiness(): Promise<Readiness>;

  /** Finishes calls in progress and releases everything. Idempotent. */
  close(): Promise<void>;
}
