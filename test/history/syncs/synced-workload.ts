import type { Random } from '../../support/random.js';
import type { Leased } from '../queue-history.js';
import type { SyncedOperation, SyncedSet } from './synced-history.js';

/** URLs that all of a set's clients use at a time. */
const LIVE_URLS = 60;
/** How often a URL is used before another replaces it. More uses would overlap so much that they prove little. */
const USES = 8;
/** How many of the last leases may be settled. */
const KNOWN_IDS = 40;
const MAX_BATCH = 5;
const MOST_TTL_SECONDS = 4;
const MOST_LEASED = 12;
const LEASE_SECONDS = 6;

const VERBS = [
  ...['visit', 'visit', 'visit', 'visit', 'discover', 'discover', 'forget', 'check', 'check', 'check'],
  ...['lease', 'lease', 'ack', 'ack', 'release', 'list'],
] as readonly SyncedOperation['verb'][];

type Draft = SyncedOperation extends infer Op ? (Op extends unknown ? Omit<Op, 'id' | 'set'> : never) : never;

/** Random operations on one synced set. The ids to settle depend on the leases, so a seed repeats only the choices. */
export class SyncedWorkload {
  /** The sync that accepts lists, as far as its conductor knows. */
  sync: string | undefined;
  private readonly live: { readonly url: string; uses: number }[] = [];
  private readonly ids: string[] = [];
  private urls = 0;

  /** `nextId` numbers all sets' operations. */
  constructor(
    readonly set: SyncedSet,
    private readonly random: Random,
    private readonly nextId: () => number,
  ) {}

  operation(draft: Draft): SyncedOperation {
    return { ...draft, id: this.nextId(), set: this.set.name };
  }

  /** URLs that no other client uses. */
  fresh(count: number): string[] {
    return Array.from({ length: count }, () => `https://example.org/${this.set.name}/${++this.urls}`);
  }

  /** Lets all clients use these URLs. */
  share(urls: readonly string[]): void {
    for (const url of urls) this.live[this.random.below(LIVE_URLS)] = { url, uses: 0 };
  }

  /** Records leased entries. */
  leased(entries: readonly Leased[]): void {
    this.ids.push(...entries.map(({ id }) => id));
    this.ids.splice(0, Math.max(0, this.ids.length - KNOWN_IDS));
  }

  next(): SyncedOperation {
    const verb = this.random.pick(VERBS);
    if (verb === 'lease' || ((verb === 'ack' || verb === 'release') && this.ids.length === 0)) {
      return this.lease();
    }
    if (verb === 'ack' || verb === 'release') return this.settle(verb);
    const urls = [...new Set(Array.from({ length: 1 + this.random.below(MAX_BATCH) }, () => this.url()))];
    if (verb === 'list') {
      const stream = this.random.below(2) === 0;
      return this.sync === undefined
        ? this.operation({ verb: 'check', urls })
        : this.operation({ verb, sync: this.sync, urls, stream });
    }
    return this.operation({
      verb,
      urls,
      ...(verb === 'forget' || verb === 'check' ? {} : this.ttl()),
    } as Draft);
  }

  lease(): SyncedOperation {
    const max = 1 + this.random.below(MOST_LEASED);
    return this.operation({ verb: 'lease', max, seconds: LEASE_SECONDS, waitSeconds: 0 });
  }

  /** Settles some of the last leases. Acknowledges each at most once. */
  settle(verb: 'ack' | 'release'): SyncedOperation {
    const count = Math.min(this.ids.length, 1 + this.random.below(MOST_LEASED));
    const ids = verb === 'ack' ? this.ids.splice(-count) : this.ids.slice(0, count);
    const seconds = this.random.below(2);
    // Some sets age, and these schedule no URLs.
    return this.operation({ verb, ids: [...new Set(ids)], seconds: verb === 'ack' ? 0 : seconds });
  }

  /** In a set that ages, some URLs get a shorter life. */
  ttl(): { readonly ttlSeconds?: number } {
    if (this.set.maxAgeSeconds === undefined || this.random.below(2) === 0) return {};
    return { ttlSeconds: 1 + this.random.below(MOST_TTL_SECONDS) };
  }

  private url(): string {
    const place = this.random.below(LIVE_URLS);
    let entry = this.live[place];
    if (entry === undefined || entry.uses >= USES) {
      this.live[place] = entry = { url: this.fresh(1)[0] as string, uses: 0 };
    }
    entry.uses++;
    return entry.url;
  }
}
