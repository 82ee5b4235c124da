import type { Filter, PerHost } from './filter.js';
import type { Operation } from './operation.js';

/** Maximum number of hosts on a page. */
export const MAX_LISTED_HOSTS = 1_000;

/** The latest time until which a host can be blocked, in ms since the epoch. About the year 10,000. */
export const MAX_BLOCKED_UNTIL = 253_402_300_799_999;

/** The settings that a caller gives one host. */
export interface HostSettings {
  /**
   * Limits that replace the set's for this host. `delayMs` may be 0: no delay. `maxUrls` needs a set with `maxUrls`.
   */
  readonly own?: PerHost;
  /** No entry may be leased from the host before this clock time, in ms since the epoch. Absent: it isn't blocked. */
  readonly blockedUntil?: number;
}

/** A host of a per-host queue. */
export interface HostView extends HostSettings {
  readonly name: string;
  /**
   * Entries by state. As in QueueStats, forgotten entries count until the queue reaches them, and entries whose lease,
   * delay or schedule has ended count as waiting. If very many entries have come due since the last lease, some still
   * count in their former states.
   */
  readonly waiting: number;
  readonly leased: number;
  readonly delayed: number;
  readonly scheduled: number;
  readonly dead: number;
  /** In sets with `maxUrls`: how many URLs count towards this limit. */
  readonly found?: number;
  /**
   * When the next entry may be leased, in ms since the epoch. If that time has passed, the host has been due since
   * then. Absent if no entry is waiting, or if the host has reached `maxLeased`.
   */
  readonly nextAt?: number;
}

export interface HostPage {
  readonly hosts: HostView[];
  /** Cursor for the next page. Absent on the last page. */
  readonly next?: string;
}

/**
 * The hosts of a per-host queue. Every call throws TypeError for a set without `perHost`, and the errors that
 * `Counters` lists. A call on one host costs the same for any size of the queue. The exception is `drop`, which deletes
 * the waiting entries in steps and lets other calls run in between.
 */
export interface Hosts {
  /**
   * At most `limit` hosts after the cursor `after`, and no more than MAX_LISTED_HOSTS. Lists the hosts with entries,
   * with URLs that count towards `maxUrls`, or with settings. A page may be shorter even if more hosts follow, and
   * lists each host at most once. The pages list every host that qualifies throughout. A host may be on two pages if
   * other hosts come and go between the calls, or after a failover.
   */
  list(filter: Filter, limit: number, after?: string): Promise<HostPage>;

  /** One host, or undefined if `list` would not list it. */
  get(filter: Filter, host: string): Promise<HostView | undefined>;

  /**
   * Replaces a host's settings, even if the host is not listed. For absent members, the set's limits apply. If a
   * release has made the host wait longer than its delay, it now waits only for the delay. Throws STORE_FULL if the
   * queue already has the maximum number of hosts.
   */
  set(filter: Filter, host: string, settings: HostSettings, operation: Operation): Promise<HostView>;

  /**
   * Drops a host's entries, wherever they are. They are never leased again, and settling them or putting them back
   * returns Settled.Unknown, or Settled.Expired once the queue has removed them. Their URLs stay visited, even after an
   * open sync is committed. So the drop may have to wait until that sync has kept these entries (embedded: all entries
   * in the queue). The host keeps its pace and settings.
   *
   * Workers may still process dropped entries. So these count towards `maxLeased` until they leave their leases: when a
   * worker acknowledges or releases them, when their leases end, or when a sweep removes them about a minute later.
   *
   * Returns how many entries it dropped. As in HostView, this may include entries that were forgotten or dropped one by
   * one, until the queue has removed them. When that happens differs between stores.
   */
  drop(filter: Filter, host: string, operation: Operation): Promise<number>;
}
