import type { Segmentation } from '#bloom';
import type { Counters } from './counters.js';
import type { Credentials } from './credentials.js';
import type { Filter, FilterKind, FilterSpec } from './filter.js';
import type { Inspection } from './inspection.js';
import type { Operation, Quota, Usage } from './operation.js';
import type { Queue } from './queue.js';
import type { RateLimiter } from './rate-limiter.js';
import type { FilterStats } from './stats.js';
import type { Syncs } from './syncs.js';
import type { Transfer } from './transfer.js';

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
