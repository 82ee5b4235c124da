import type { Random } from '../../support/random.js';
import {
  levelOf,
  type HostLimits,
  type Leased,
  type OnUrls,
  type QueueAnswers,
  type QueueOperation,
  type Settle,
} from '../queue-history.js';

/** A queue's defects, constant or occasional, and the violations that each may cause. */
export const QUEUE_DEFECTS = {
  'queues seen URLs': ['was new twice without being forgotten in between'],
  'loses discovered entries': ['is gone without being acknowledged or forgotten'],
  'loses released entries': ['is gone without being acknowledged or forgotten'],
  'loses the entries of an ended lease': ['is gone without being acknowledged or forgotten'],
  'forgets an entry that was discovered later': ['is gone without being acknowledged or forgotten'],
  'brings back acknowledged entries': ['was handed out after it had been acknowledged'],
  'acknowledges with any lease': ['was acknowledged twice'],
  'hands out forgotten entries': ['was handed out after it had been forgotten'],
  'hands out leased entries': ['was held by two leases at the same time'],
  'ends leases too early': ['was held by two leases at the same time'],
  'extends nothing': [
    'could not be settled by the lease that held it',
    'was held by two leases at the same time',
  ],
  'does not count attempts': ['was leased again without counting the attempt'],
  'hands out entries with another discovery’s payload': [
    'was handed out for a discovery that did not queue it',
  ],
  'settles with a lease that has ended': ['was settled by a lease that had ended'],
  'settles forgotten entries': ['was settled by a lease that had ended'],
  'refuses a lease that is not over': ['could not be settled by the lease that held it'],
  'does not know a lease that has ended': ['was unknown under its lease without being forgotten'],
  'repeats a lease that has ended': ['was handed out by the repeat of a lease that had ended'],
  'omits entries that a lease holds': ['was omitted by the repeat of a lease that held it'],
  'hands out scheduled entries': ['was handed out before its time'],
  'leases from hosts that wait': ['was leased before its host was due'],
  'ignores the delay of a release for its hosts': ['was leased before its host was due'],
  'leases too many entries of a host': ['was leased beyond the limit of its host'],
  'hands out low priorities first': ['was handed out after an entry of its host with a lower priority'],
  'leases again for a repeat': ['a repeat of lease'],
  'settles again for a repeat': ['was answered differently'],
} as const;

export type QueueDefect = keyof typeof QUEUE_DEFECTS;

interface Entry {
  readonly url: string;
  readonly discovery: number;
  readonly level: number;
  attempt: number;
  /** The time until which no caller gets it, in ms since the epoch. */
  hiddenUntil: number;
  /** The lease that may settle it. */
  lease: string | undefined;
}

const hostOf = ({ url }: Pick<Entry, 'url'>): string => new URL(url).host;

/** How often an occasional defect shows, in percent. */
const MISTAKES = 25;

/** A queue in memory, with its operations' records and at most one defect. */
export class FaultyQueue {
  private entries: Entry[] = [];
  /** Entries that were forgotten while a lease held them. */
  private ghosts: Entry[] = [];
  private readonly acked: Entry[] = [];
  private readonly visited = new Set<string>();
  private readonly forgotten = new Set<string>();
  private readonly given = new Set<string>();
  private readonly records = new Map<string, QueueAnswers>();
  private leases = 0;
  private limits: HostLimits | undefined;
  /** When each host is due, in ms since the epoch. */
  private readonly hosts = new Map<string, number>();

  constructor(
    private readonly random: Random,
    private readonly defect: QueueDefect | undefined,
  ) {}

  limit(perHost: HostLimits | undefined): void {
    this.limits ??= perHost;
  }

  /** Lifts all hosts' limits. */
  lift(): void {
    this.limits &&= { delaySeconds: 0, maxLeased: Infinity };
    this.hosts.clear();
  }

  execute(operation: QueueOperation, key: string): QueueAnswers {
    const name = `${operation.verb} ${key}`;
    const record = this.records.get(name);
    const anew = operation.verb === 'lease' ? 'leases again for a repeat' : 'settles again for a repeat';
    if (record && this.defect !== anew) return 'leased' in record ? this.stillHeld(record.leased) : record;
    const answers = this.change(operation);
    if (!('leased' in answers) || answers.leased.length > 0) this.records.set(name, answers);
    return answers;
  }

  private change(operation: QueueOperation): QueueAnswers {
    switch (operation.verb) {
      case 'discover':
        return { results: operation.urls.map((url) => this.discover(url, operation)) };
      case 'forget':
        return { results: operation.urls.map((url) => this.forget(url)) };
      case 'lease':
        return { leased: this.lease(operation.max, operation.seconds) };
      default: {
        return { results: operation.ids.map((id) => this.settle(operation, id)) };
      }
    }
  }

  private discover(url: string, operation: OnUrls): string {
    if (this.visited.has(url) && !this.isNow('queues seen URLs')) return 'seen';
    this.visited.add(url);
    const again = this.forgotten.has(url) && this.isNow('forgets an entry that was discovered later');
    if (again || this.isNow('loses discovered entries')) return 'new';
    const { id: discovery, delaySeconds = 0 } = operation;
    const hiddenUntil = this.isNow('hands out scheduled entries') ? 0 : Date.now() + delaySeconds * 1_000;
    this.entries.push({
      ...{ url, discovery, level: levelOf(operation), attempt: 0 },
      hiddenUntil,
      lease: undefined,
    });
    return 'new';
  }

  private forget(url: string): string {
    const found = this.visited.delete(url);
    if (!this.isNow('hands out forgotten entries'))
      this.ghosts.push(...this.drop((entry) => entry.url === url));
    if (found) this.forgotten.add(url);
    return found ? 'forgotten' : 'absent';
  }

  private lease(max: number, seconds: number): Leased[] {
    const now = Date.now();
    const ended = (entry: Entry) => entry.lease !== undefined && entry.hiddenUntil <= now;
    if (this.isNow('loses the entries of an ended lease')) this.drop(ended);
    const free = this.entries.filter(
      ({ hiddenUntil }) => hiddenUntil <= now || this.isNow('hands out leased entries'),
    );
    const first = this.defect === 'hands out low priorities first' ? -1 : 1;
    free.sort((a, b) => first * (a.level - b.level));
    return this.withinLimits(free, now)
      .slice(0, max)
      .map((entry) => {
        const host = hostOf(entry);
        this.hosts.set(host, Math.max(this.dueAt(host), now + (this.limits?.delaySeconds ?? 0) * 1_000));
        if (this.defect !== 'does not count attempts') entry.attempt++;
        // Some defects need the URL of a lease that has ended.
        entry.lease = `${++this.leases} ${entry.url}`;
        this.given.add(entry.lease);
        entry.hiddenUntil = now + seconds * (this.defect === 'ends leases too early' ? 500 : 1_000);
        this.drop((one) => one === entry);
        this.entries.push(entry);
        const { url, attempt, lease } = entry;
        const discovery =
          entry.discovery + (this.isNow('hands out entries with another discovery’s payload') ? 1 : 0);
        return { id: lease, url, discovery, attempt };
      });
  }

  /** The free entries that may be leased together. */
  private withinLimits(free: readonly Entry[], now: number): Entry[] {
    const { limits } = this;
    if (!limits || this.defect === 'leases too many entries of a host') return [...free];
    const taken = new Map<string, number>();
    const leased = (host: string) =>
      this.entries.filter((one) => one.lease !== undefined && one.hiddenUntil > now && hostOf(one) === host)
        .length;
    return free.filter((entry) => {
      const host = hostOf(entry);
      const count = taken.get(host) ?? 0;
      const waits = this.dueAt(host) > now && !this.isNow('leases from hosts that wait');
      const most = limits.delaySeconds > 0 ? 1 : Infinity;
      const isFull = leased(host) + count >= limits.maxLeased;
      if (waits || count >= most || isFull) return false;
      taken.set(host, count + 1);
      return true;
    });
  }

  private dueAt(host: string): number {
    return this.hosts.get(host) ?? 0;
  }

  private settle({ verb, seconds, isUncounted = false, hostSeconds = 0 }: Settle, id: string): string {
    const entry = this.known(verb).find((one) => this.settles(id, one));
    if (!entry || this.isNow('refuses a lease that is not over')) {
      const known = this.given.has(id) && !this.isNow('does not know a lease that has ended');
      return known ? 'expired' : 'unknown';
    }
    const now = Date.now();
    if (verb === 'extend') {
      if (this.defect !== 'extends nothing') entry.hiddenUntil = now + seconds * 1_000;
      return 'extended';
    }
    entry.lease = undefined;
    entry.hiddenUntil = this.isNow('hands out scheduled entries') ? now : now + seconds * 1_000;
    if (verb === 'ack') entry.attempt = 0;
    if (isUncounted) entry.attempt--;
    if (hostSeconds > 0 && this.limits && this.defect !== 'ignores the delay of a release for its hosts')
      this.hosts.set(hostOf(entry), Math.max(this.dueAt(hostOf(entry)), now + hostSeconds * 1_000));
    if (verb === 'ack' && seconds > 0) return 'acked';
    const gone =
      verb === 'ack' ? !this.isNow('brings back acknowledged entries') : this.isNow('loses released entries');
    if (gone) this.drop((one) => one === entry);
    if (verb === 'ack') this.acked.push(entry);
    return verb === 'ack' ? 'acked' : 'released';
  }

  private known(verb: string): Entry[] {
    if (this.defect === 'settles forgotten entries') return [...this.entries, ...this.ghosts];
    if (this.defect === 'acknowledges with any lease' && verb === 'ack')
      return [...this.entries, ...this.acked];
    return this.entries;
  }

  private settles(id: string, entry: Entry): boolean {
    if (this.defect === 'settles with a lease that has ended') return id.endsWith(` ${entry.url}`);
    if (this.defect === 'acknowledges with any lease' && this.acked.includes(entry)) {
      return id.endsWith(` ${entry.url}`);
    }
    return entry.lease === id && entry.hiddenUntil > Date.now();
  }

  private stillHeld(leased: readonly Leased[]): QueueAnswers {
    const held = (one: Leased) =>
      this.isNow('repeats a lease that has ended') ||
      (!this.isNow('omits entries that a lease holds') &&
        this.entries.some(({ lease, hiddenUntil }) => lease === one.id && hiddenUntil > Date.now()));
    return { leased: leased.filter(held) };
  }

  /** Removes matching entries, and returns them. */
  private drop(goes: (entry: Entry) => boolean): Entry[] {
    const gone = this.entries.filter(goes);
    this.entries = this.entries.filter((entry) => !gone.includes(entry));
    return gone;
  }

  private isNow(defect: QueueDefect): boolean {
    return this.defect === defect && this.random.below(100) < MISTAKES;
  }
}
