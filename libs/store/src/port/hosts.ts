import type { Filter, PerHost } from './filter.js';
import type { Operation } from './operation.js';

/** Maximum number of hosts in a page. */
export const MAX_LISTED_HOSTS = 1_000;

/** The latest time until which a host can be blocked, in ms since the epoch: about the year 10,000. */
export const MAX_BLOCKED_UNTIL = 253_402_300_799_999;

/** The settings that a caller gives one host. */
export interface HostSettings {
  /**
   * Limits that replace those of the set for this host. `delayMs` may be 0: no delay. `maxUrls` needs a set with
   * `maxUrls`.
   */
  readonly own?: PerHost;
  /**
   * Nothing is leased from the host before this time, in ms since the epoch, by the clock. Absent: it is not blocked.
   */
  readonly blockedUntil?: number;
}

/** A host of a per-host queue. */
export interface HostView extends HostSettings {
  readonly name: string;
  /**
   * Entries by state. As in QueueStats, forgotten entries count until the queue reaches them. Unlike in QueueStats,
   * entries whose lease or delay has ended may still count as leased or delayed.
   */
  readonly waiting: number;
  readonly leased: number;
  readonly delayed: number;
  readonly scheduled: number;
  readonly dead: number;
  /** In sets with `maxUrls`: the number of URLs that count towards this limit. */
  readonly found?: number;
  /**
   * When the next entry may be leased, in ms since the epoch. If that time has passed, the host has been due since
   * then. Absent if no entry waits, or if the host has reached `maxLeased`.
   */
  readonly nextAt?: number;
}

export interface HostPage {
  readonly hosts: HostView[];
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/**
 * The hosts of a per-host queue. Every call throws TypeError for a set without `perHost`, and the errors of `Counters`.
 * Calls on one host cost the same for any size of the queue, except that `drop` deletes the waiting entries, in steps
 * between which other calls run.
 */
export interface Hosts {
  /**
   * At most `limit` hosts after the cursor `after`, and no more than MAX_LISTED_HOSTS. Lists the hosts with entries,
   * with URLs that count towards `maxUrls`, or with settings. A page may be shorter although more hosts follow, but it
   * lists each host at most once. Together, the pages list each host that qualifies throughout. A host may be on two
   * pages if other hosts come and go between the calls, or after a failover.
   */
  list(filter: Filter, limit: number, after?: string): Promise<HostPage>;

  /** One host. Undefined if `list` would not list it. */
  get(filter: Filter, host: string): Promise<HostView | undefined>;

  /**
   * Replaces the settings of a host, even if it is not listed. For absent members, the set's limits apply. If a release
   * has made the host wait longer than its delay, it now waits for the delay only. Throws STORE_FULL if the queue
   * already has the maximum number of hosts.
   */
  set(filter: Filter, host: string, settings: HostSettings, operation: Operation): Promise<HostView>;

  /**
   * Drops the entries of a host, wherever they are: they are never leased again, and settling them or putting them back
   * answers Settled.Unknown, or Settled.Expired once the queue has removed them. Their URLs stay visited, even after
   * the commit of an open sync. So the drop may need to wait until that sync has kept these entries (embedded: all
   * entries of the queue). The host keeps its pace and settings. Returns the number of entries that it dropped. As in
   * HostView, this may include entries that were forgotten or dropped one by one, until the queue has removed them;
   * each store removes them at different times.
   */
  drop(filter: Filter, host: string, operation: Operation): Promise<number>;
}
