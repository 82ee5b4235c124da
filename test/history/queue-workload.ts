import type { Random } from '../support/random.js';
import { planFor, type Planned } from './plan.js';
import { PRIORITIES } from '#store';
import type { Leased, QueueOperation } from './queue-history.js';

/** Longest lease and longest delay, in seconds. All of them end before the queue is drained. */
export const MAX_SECONDS = 3;
/** URLs in use at a time. They are few, so that they are often forgotten and discovered again while queued. */
const LIVE_URLS = 24;
/** The URLs' hosts, whose limits a drain lifts. */
export const HOSTS = Array.from({ length: 12 }, (_, n) => `h${n}.example`);
/** The percentage of a URL's uses after which another URL replaces it, while its entry stays in the queue. */
const RETIRED = 5;
/** How many of the last leases may be settled again, too late, or for the first time. */
const KNOWN_IDS = 24;
const MAX_BATCH = 5;

const VERBS = [
  ...['discover', 'discover', 'discover', 'discover', 'lease', 'lease', 'lease', 'lease'],
  ...['ack', 'ack', 'release', 'release', 'extend', 'forget', 'forget'],
] as readonly QueueOperation['verb'][];

/**
 * Random operations on a queue. The ids to settle depend on the leases, so a seed repeats the choices but not the
 * operations.
 */
export class QueueWorkload {
  private readonly live: string[] = [];
  /** Ids of the last leased entries. */
  private readonly ids: string[] = [];
  private urls = 0;
  /** Operations made so far. */
  made = 0;

  /** `byHost` means that the set has `perHost`. Then URLs also have priorities, and may be scheduled. */
  constructor(
    private readonly random: Random,
    private readonly byHost: boolean,
  ) {}

  next(): Planned<QueueOperation> {
    return { operation: this.operation(), plan: planFor(this.random, true) };
  }

  /** Records leased entries. */
  leased(entries: readonly Leased[]): void {
    this.ids.push(...entries.map(({ id }) => id).filter((id) => !this.ids.includes(id)));
    this.ids.splice(0, Math.max(0, this.ids.length - KNOWN_IDS));
  }

  discover(urls: readonly string[]): QueueOperation {
    return { id: ++this.made, verb: 'discover', urls };
  }

  /** A lease of everything that outlasts the run. */
  drain(): QueueOperation {
    return { id: ++this.made, verb: 'lease', max: 1_000, seconds: 3_600, waitSeconds: 0 };
  }

  private operation(): QueueOperation {
    const verb = this.random.pick(VERBS);
    const id = ++this.made;
    const seconds = 1 + this.random.below(MAX_SECONDS);
    const count = 1 + this.random.below(MAX_BATCH);
    if (verb === 'discover' || verb === 'forget') {
      const urls = [...new Set(Array.from({ length: count }, () => this.url()))];
      if (verb === 'forget' || !this.byHost) return { id, verb, urls };
      const delaySeconds = this.isOneIn(4) ? seconds : 0;
      return { id, verb, urls, priority: this.random.pick(PRIORITIES), delaySeconds };
    }
    if (verb === 'lease' || this.ids.length === 0) {
      return { id, verb: 'lease', max: count, seconds, waitSeconds: this.isOneIn(4) ? 1 : 0 };
    }
    const ids = [...new Set(Array.from({ length: count }, () => this.random.pick(this.ids)))];
    if (verb === 'ack') return { id, verb, ids, seconds: this.byHost && this.isOneIn(4) ? seconds : 0 };
    if (verb === 'extend') return { id, verb, ids, seconds };
    const release = { id, verb, ids, seconds: this.random.below(MAX_SECONDS + 1) };
    if (!this.byHost) return release;
    return { ...release, isUncounted: this.isOneIn(4), hostSeconds: this.isOneIn(2) ? seconds : 0 };
  }

  private url(): string {
    const place = this.random.below(LIVE_URLS);
    let url = this.live[place];
    if (url === undefined || this.random.below(100) < RETIRED) {
      this.urls++;
      this.live[place] = url = `https://${HOSTS[this.urls % HOSTS.length]}/${this.urls}`;
    }
    return url;
  }

  private isOneIn(times: number): boolean {
    return this.random.below(times) === 0;
  }
}
