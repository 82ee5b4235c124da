import type {
  CreateVisitedSet,
  DeadLetter,
  DeadLetters,
  ExplainedUrl,
  ExplainedUrls,
  Lease,
  LeasedUrl,
  Leases,
  LostVisitedSet,
  VisitedSet as VisitedSetDescription,
} from './api-types.js';
import type { CallOptions, ChangeOptions, Verb } from './batches.js';
import { Handle, type Service } from './handle.js';
import { Syncs } from './syncs.js';
import { verb } from './verbs.js';

/** A URL that was discovered, and what a worker is to be given with it: up to 1,024 bytes in UTF-8. */
export interface UrlWithPayload {
  readonly url: string;
  readonly payload: string;
}

/** How URLs are marked. */
export interface MarkOptions extends ChangeOptions {
  /** Of a set that ages: how long these URLs are seen, at most its `maxAgeSeconds`, which is the default. */
  readonly ttlSeconds?: number;
}

/** How leased URLs are given back. */
export interface ReleaseOptions extends ChangeOptions {
  /** How long before the URL is handed out again (0). */
  readonly delaySeconds?: number;
  /** Why, for the list of dead letters: up to 256 bytes in UTF-8. */
  readonly reason?: string;
  /** False to put the URL off: the lease does not count as an attempt (true). */
  readonly countAttempt?: boolean;
}

/** How leases are made longer. */
export interface ExtendOptions extends ChangeOptions {
  /** How long from now the leases are to last: 1 to 86,400. */
  readonly leaseSeconds: number;
}

/** How a list is read, page by page. */
export interface PageOptions extends CallOptions {
  /** How many a request asks for, 1 to 1,000. */
  readonly pageSize?: number;
}

/** A verb whose options have members that must be there. */
export interface VerbWith<Entry, Result, Options> {
  (entry: Entry, options: Options): Promise<Result>;
  (entries: readonly Entry[], options: Options): Promise<Result[]>;
}

const PAGE = 100;

/** Which URLs a crawler has seen, and which of them are still to be fetched. `invalid`: what is no http or https URL. */
export class VisitedSet extends Handle<
  Omit<CreateVisitedSet, 'name'>,
  VisitedSetDescription | LostVisitedSet
> {
  /** Marks URLs, and puts the new ones into the queue in the same step. */
  readonly discover: Verb<string | UrlWithPayload, 'new' | 'seen' | 'invalid', MarkOptions>;
  /** Marks URLs. */
  readonly visit: Verb<string, 'new' | 'seen' | 'invalid', MarkOptions>;
  /** Asks, and marks nothing. */
  readonly check: Verb<string, 'seen' | 'unseen' | 'invalid', CallOptions>;
  /** Makes URLs unseen, and takes them out of the queue. */
  readonly forget: Verb<string, 'forgotten' | 'absent' | 'saturated' | 'invalid', ChangeOptions>;
  /** Takes fetched URLs off the queue, by the ids of their leases. */
  readonly ack: Verb<string, 'acked' | 'expired' | 'unknown', ChangeOptions>;
  /** Gives leased URLs back, by the ids of their leases. */
  readonly release: Verb<string, 'released' | 'expired' | 'unknown', ReleaseOptions>;
  /** Keeps leased URLs for longer, by the ids of their leases. */
  readonly extend: VerbWith<string, 'extended' | 'expired' | 'unknown', ExtendOptions>;
  /** Puts dead letters into the queue again, by their ids. */
  readonly putBack: Verb<string, 'put back' | 'unknown', ChangeOptions>;
  /** Deletes dead letters, by their ids. Their URLs stay visited. */
  readonly purge: Verb<string, 'purged' | 'unknown', ChangeOptions>;
  /** Keeping what is on a list, and forgetting the rest. */
  readonly syncs: Syncs<'kept' | 'new' | 'forgotten' | 'invalid'>;

  constructor(service: Service, name: string) {
    super(service, 'visited-sets', name);
    const { batches } = service;
    const urls = (path: string, mutates = true) =>
      ({ path: `${this.path}/urls/${path}`, member: 'urls', mutates }) as const;
    const ids = (path: string) =>
      ({ path: `${this.path}/queue/${path}`, member: 'ids', mutates: true }) as const;
    const ttl = ({ ttlSeconds }: MarkOptions) => ({ ttlSeconds });
    this.discover = verb(batches, urls('discover'), ttl);
    this.visit = verb(batches, urls('visit'), ttl);
    this.check = verb(batches, urls('check', false));
    this.forget = verb(batches, urls('forget'));
    this.ack = verb(batches, ids('ack'));
    this.release = verb(
      batches,
      ids('release'),
      ({ delaySeconds, reason, countAttempt }: ReleaseOptions) => ({
        delaySeconds,
        reason,
        countAttempt,
      }),
    );
    this.extend = verb(batches, ids('extend'), ({ leaseSeconds }: ExtendOptions) => ({ leaseSeconds }));
    this.putBack = verb(batches, ids('dead-letters/put-back'));
    this.purge = verb(batches, ids('dead-letters/purge'));
    this.syncs = new Syncs(service, this.path, 'urls');
  }

  /** Takes URLs to fetch, hidden from others until the lease ends. `waitSeconds`: how long to wait for the first. */
  async lease(asked: Lease, call: ChangeOptions = {}): Promise<LeasedUrl[]> {
    const { urls } = await this.change<Leases>(call, {
      method: 'POST',
      path: `${this.path}/queue/lease`,
      json: asked,
      waitMs: (asked.waitSeconds ?? 0) * 1_000,
    });
    return urls;
  }

  /**
   * Why URLs are seen or not: their keys, the rules that made them, and what their counters have. At most 100. Throws NotFoundError.
   */
  async explain(urls: readonly string[], { signal }: CallOptions = {}): Promise<ExplainedUrl[]> {
    const { urls: explained } = await this.service.requests.json<ExplainedUrls>({
      method: 'POST',
      path: `${this.path}/urls/explain`,
      json: { urls },
      repeatable: true,
      signal,
    });
    return explained;
  }

  /** URLs that were leased as often as the set allows. */
  async *deadLetters({ pageSize = PAGE, signal }: PageOptions = {}): AsyncGenerator<DeadLetter> {
    let cursor: string | undefined;
    do {
      const page: DeadLetters = await this.service.requests.json({
        method: 'GET',
        path: `${this.path}/queue/dead-letters`,
        query: { limit: pageSize, cursor },
        repeatable: true,
        signal,
      });
      yield* page.urls;
      cursor = page.next;
    } while (cursor !== undefined);
  }
}
