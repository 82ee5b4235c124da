import type { Random } from '../../support/random.js';
import type { Leased, QueueOperation, QueueAnswers } from '../queue-history.js';

/** The defects of a queue, constant or occasional, and the violations that each may cause. */
export const QUEUE_DEFECTS = {
  'queues what is seen': ['was new twice, but not forgotten between'],
  'loses what is discovered': ['was neither acknowledged nor forgotten, and is gone'],
  'loses what is released': ['was neither acknowledged nor forgotten, and is gone'],
  'loses what a lease held that ended': ['was neither acknowledged nor forgotten, and is gone'],
  'forgets an entry that was discovered since': ['was neither acknowledged nor forgotten, and is gone'],
  'brings back what was acknowledged': ['was handed out after it had been acknowledged'],
  'acknowledges by every lease': ['was acknowledged twice'],
  'hands out what was forgotten': ['was handed out after it had been forgotten'],
  'hands out what is leased': ['was held by two leases at once'],
  'ends leases too soon': ['was held by two leases at once'],
  'extends nothing': ['could not be settled by the lease that held it', 'was held by two leases at once'],
  'counts no attempts': ['was leased again, but its attempts were not counted'],
  'hands out under another discovery': ['was handed out, but that discovery did not queue it'],
  'settles by a lease that is over': ['was settled by a lease that was over'],
  'settles what was forgotten': ['was settled by a lease that was over'],
  'refuses a lease that holds': ['could not be settled by the lease that held it'],
  'does not know a lease that is over': ['was unknown under its lease, but never forgotten'],
  'repeats a lease that is over': ['was handed out by the repeat of a lease that was over'],
  'leaves out what a lease holds': ['was left out by the repeat of a lease that held it'],
  'leases anew for a repeat': ['a repeat of lease'],
  'settles anew for a repeat': ['was answered differently'],
} as const;

export type QueueDefect = keyof typeof QUEUE_DEFECTS;

interface Entry {
  readonly url: string;
  readonly discovery: number;
  attempt: number;
  /** The time until which no caller gets it, in ms since the epoch. */
  hiddenUntil: number;
  /** The lease that may settle it. */
  lease: string | undefined;
}

/** The percentage of occasions on which an occasional defect shows. */
const MISTAKES = 25;

/** A queue in memory, with the records of its operations and at most one defect. */
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

  constructor(
    private readonly random: Random,
    private readonly defect: QueueDefect | undefined,
  ) {}

  execute(operation: QueueOperation, key: string): QueueAnswers {
    const name = `${operation.verb} ${key}`;
    const record = this.records.get(name);
    const anew = operation.verb === 'lease' ? 'leases anew for a repeat' : 'settles anew for a repeat';
    if (record && this.defect !== anew) return 'leased' in record ? this.stillHeld(record.leased) : record;
    const answers = this.change(operation);
    if (!('leased' in answers) || answers.leased.length > 0) this.records.set(name, answers);
    return answers;
  }

  private change(operation: QueueOperation): QueueAnswers {
    switch (operation.verb) {
      case 'discover':
        return { results: operation.urls.map((url) => this.discover(url, operation.id)) };
      case 'forget':
        return { results: operation.urls.map((url) => this.forget(url)) };
      case 'lease':
        return { leased: this.lease(operation.max, operation.seconds) };
      default: {
        const { verb, seconds, ids } = operation;
        return { results: ids.map((id) => this.settle(verb, id, seconds)) };
      }
    }
  }

  private discover(url: string, discovery: number): string {
    if (this.visited.has(url) && !this.isNow('queues what is seen')) return 'seen';
    this.visited.add(url);
    const again = this.forgotten.has(url) && this.isNow('forgets an entry that was discovered since');
    if (again || this.isNow('loses what is discovered')) return 'new';
    this.entries.push({ url, discovery, attempt: 0, hiddenUntil: 0, lease: undefined });
    return 'new';
  }

  private forget(url: string): string {
    const found = this.visited.delete(url);
    if (!this.isNow('hands out what was forgotten'))
      this.ghosts.push(...this.drop((entry) => entry.url === url));
    if (found) this.forgotten.add(url);
    return found ? 'forgotten' : 'absent';
  }

  private lease(max: number, seconds: number): Leased[] {
    const now = Date.now();
    const ended = (entry: Entry) => entry.lease !== undefined && entry.hiddenUntil <= now;
    if (this.isNow('loses what a lease held that ended')) this.drop(ended);
    const free = this.entries.filter(
      ({ hiddenUntil }) => hiddenUntil <= now || this.isNow('hands out what is leased'),
    );
    return free.slice(0, max).map((entry) => {
      if (this.defect !== 'counts no attempts') entry.attempt++;
      // Some defects need the URL of a lease that is over.
      entry.lease = `${++this.leases} ${entry.url}`;
      this.given.add(entry.lease);
      entry.hiddenUntil = now + seconds * (this.defect === 'ends leases too soon' ? 500 : 1_000);
      this.drop((one) => one === entry);
      this.entries.push(entry);
      const { url, attempt, lease } = entry;
      const discovery = entry.discovery + (this.isNow('hands out under another discovery') ? 1 : 0);
      return { id: lease, url, discovery, attempt };
    });
  }

  private settle(verb: 'ack' | 'release' | 'extend', id: string, seconds: number): string {
    const entry = this.known(verb).find((one) => this.settles(id, one));
    if (!entry || this.isNow('refuses a lease that holds')) {
      const known = this.given.has(id) && !this.isNow('does not know a lease that is over');
      return known ? 'expired' : 'unknown';
    }
    const now = Date.now();
    if (verb === 'extend') {
      if (this.defect !== 'extends nothing') entry.hiddenUntil = now + seconds * 1_000;
      return 'extended';
    }
    entry.lease = undefined;
    entry.hiddenUntil = verb === 'release' ? now + seconds * 1_000 : now;
    const gone =
      verb === 'ack'
        ? !this.isNow('brings back what was acknowledged')
        : this.isNow('loses what is released');
    if (gone) this.drop((one) => one === entry);
    if (verb === 'ack') this.acked.push(entry);
    return verb === 'ack' ? 'acked' : 'released';
  }

  private known(verb: string): Entry[] {
    if (this.defect === 'settles what was forgotten') return [...this.entries, ...this.ghosts];
    if (this.defect === 'acknowledges by every lease' && verb === 'ack')
      return [...this.entries, ...this.acked];
    return this.entries;
  }

  private settles(id: string, entry: Entry): boolean {
    if (this.defect === 'settles by a lease that is over') return id.endsWith(` ${entry.url}`);
    if (this.defect === 'acknowledges by every lease' && this.acked.includes(entry)) {
      return id.endsWith(` ${entry.url}`);
    }
    return entry.lease === id && entry.hiddenUntil > Date.now();
  }

  private stillHeld(leased: readonly Leased[]): QueueAnswers {
    const held = (one: Leased) =>
      this.isNow('repeats a lease that is over') ||
      (!this.isNow('leaves out what a lease holds') &&
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
