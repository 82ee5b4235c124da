import {
  isOf,
  leasedBy,
  type Lease,
  type Leased,
  type OnUrls,
  type QueueAttempt,
  type QueueEvent,
  type Settle,
} from './queue-history.js';

/** An operation on one URL or lease, with its result. The result is undefined if it never got an answer. */
export interface Told<Op extends OnUrls | Settle = OnUrls> {
  readonly event: QueueEvent<Op>;
  readonly word: string | undefined;
}

/** A lease or an extension. It moves the lease's end to `seconds` after some time between `start` and `end`. */
export interface Term {
  readonly start: number;
  readonly end: number;
  readonly seconds: number;
}

/** One lease of one entry. */
export interface Hold extends Term {
  readonly entry: Entry;
  readonly leased: Leased;
  readonly event: QueueEvent<Lease>;
  readonly settlings: Told<Settle>[];
}

export interface HandOut {
  readonly attempt: QueueAttempt;
  readonly leased: Leased;
}

/** A host with all leases on its URLs. */
export interface HostHistory {
  readonly holds: Hold[];
  readonly entries: Entry[];
}

/** A URL with all its operations. */
export interface UrlHistory {
  readonly url: string;
  readonly host: HostHistory;
  readonly entries: Entry[];
  /** Operations that have or may have forgotten it. */
  readonly forgets: Told[];
}

/** A URL from one discovery on. A URL that is forgotten and discovered again gets a new entry. */
export interface Entry {
  readonly of: UrlHistory;
  /** Undefined if no such discovery was ever sent. */
  readonly discovery: Told | undefined;
  readonly holds: Hold[];
  /** Every answer that contains it, including repeats. */
  readonly handOuts: HandOut[];
}

/** All of a history's entries. `mayBeAnew` tells whether an operation may have been executed again after its answer. */
export function entriesOf(
  events: readonly QueueEvent[],
  mayBeAnew: (event: QueueEvent) => boolean = () => false,
): Entry[] {
  const entries = new Entries(mayBeAnew);
  for (const event of events) if (isOf(event, 'discover', 'forget')) entries.addUrls(event);
  for (const event of events) if (isOf(event, 'lease')) entries.addLease(event);
  for (const event of events) if (isOf(event, 'ack', 'release', 'extend')) entries.addSettling(event);
  return [...entries.byName.values()];
}

/** Whether an acknowledgement removes the URLs, so they don't come back. */
export const isFinal = ({ event: { operation } }: Told<Settle>): boolean =>
  operation.verb === 'ack' && operation.seconds === 0;

/** Whether an operation on a lease has this verb and was done, or may have been. */
export function mayHaveDone({ event, word }: Told<Settle>, verb: Settle['verb']): boolean {
  return event.operation.verb === verb && word !== 'expired' && word !== 'unknown';
}

class Entries {
  /** By discovery and URL. */
  readonly byName = new Map<string, Entry>();
  private readonly urls = new Map<string, UrlHistory>();
  private readonly hosts = new Map<string, HostHistory>();
  /** By lease id. A store that has lost its last writes may use an id again. */
  private readonly holds = new Map<string, Hold[]>();

  constructor(private readonly mayBeAnew: (event: QueueEvent) => boolean) {}

  addUrls(event: QueueEvent<OnUrls>): void {
    const { verb, id, urls } = event.operation;
    urls.forEach((url, i) => {
      const told = { event, word: event.results?.[i] };
      if (verb === 'discover') this.entry(url, id, told);
      else if (told.word !== 'absent') this.url(url).forgets.push(told);
      // The second execution may later have forgotten the URL, whatever the first one's result.
      if (verb === 'forget' && this.mayBeAnew(event))
        this.url(url).forgets.push({ event: { ...event, end: Infinity }, word: undefined });
    });
  }

  addLease(event: QueueEvent<Lease>): void {
    const { start, operation } = event;
    for (const attempt of event.attempts) {
      for (const leased of leasedBy(attempt)) {
        const entry = this.entry(leased.url, leased.discovery);
        entry.handOuts.push({ attempt, leased });
        const known = this.holds.get(leased.id) ?? [];
        if (known.some((hold) => hold.event === event && hold.entry === entry)) continue;
        const { seconds } = operation;
        const hold = { entry, leased, event, start, end: attempt.end, seconds, settlings: [] };
        entry.holds.push(hold);
        entry.of.host.holds.push(hold);
        this.holds.set(leased.id, [...known, hold]);
      }
    }
  }

  addSettling(event: QueueEvent<Settle>): void {
    event.operation.ids.forEach((id, i) => {
      for (const [n, hold] of (this.holds.get(id) ?? []).entries()) {
        const word = event.results?.[i];
        const refused = word === 'expired' || word === 'unknown';
        // A call that began before this lease returned is about an earlier lease with this id, and may be refused.
        const concernsEarlier = event.end < hold.start || (refused && n > 0 && event.start < hold.end);
        const mayBeAnew = this.mayBeAnew(event);
        if (concernsEarlier && !mayBeAnew) continue;
        // The second execution may have found the lease later, at an unknown time.
        hold.settlings.push(
          refused && mayBeAnew ? { event: { ...event, end: Infinity }, word: undefined } : { event, word },
        );
      }
    });
  }

  private entry(url: string, id: number, discovery?: Told): Entry {
    const name = `${id} ${url}`;
    let entry = this.byName.get(name);
    if (!entry) {
      const of = this.url(url);
      entry = { of, discovery, holds: [], handOuts: [] };
      of.entries.push(entry);
      of.host.entries.push(entry);
      this.byName.set(name, entry);
    }
    return entry;
  }

  private url(url: string): UrlHistory {
    let history = this.urls.get(url);
    if (!history)
      this.urls.set(
        url,
        (history = { url, host: this.host(url.split('/')[2] ?? ''), entries: [], forgets: [] }),
      );
    return history;
  }

  private host(name: string): HostHistory {
    const known = this.hosts.get(name);
    if (known) return known;
    const host = { holds: [], entries: [] };
    this.hosts.set(name, host);
    return host;
  }
}
