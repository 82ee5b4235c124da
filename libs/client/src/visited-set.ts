import type {
  CreateVisitedSet,
  DeadLetter,
  DeadLetters,
  Discoveries,
  DropQueued,
  DroppedQueued,
  ExplainedUrl,
  ExplainedUrls,
  Lease,
  LeasedUrl,
  Leases,
  LostVisitedSet,
  QueuedUrl,
  QueuedUrls,
  VisitedSet as VisitedSetDescription,
} from './api-types.js';
import type { CallOptions, ChangeOptions, Verb } from './batches.js';
import { Handle, type Service } from './handle.js';
import { Hosts } from './hosts.js';
import { pagesOf, type PageOptions } from './pages.js';
import { randomKey } from './random-key.js';
import { Syncs } from './syncs.js';
import { verb } from './verbs.js';

/** The order of URLs in the queue. */
export type Priority = NonNullable<Discoveries['priority']>;

/** A URL to discover, with a payload of up to 1,024 bytes in UTF-8 for the worker that leases it. */
export interface UrlWithPayload {
  readonly url: string;
  readonly payload: string;
}

/** Options for `visit` and `discover`. */
export interface VisitOptions extends ChangeOptions {
  /** In a set that ages: how long these URLs stay visited. Default and maximum: the set's `maxAgeSeconds`. */
  readonly ttlSeconds?: number;
}

/** Options for `discover`. */
export interface DiscoverOptions extends VisitOptions {
  /** The queue hands out URLs with a higher priority first. Default: `normal`. */
  readonly priority?: Priority;
  /** Delay before these URLs can be leased for the first time, up to 315,360,000 (ten years). Default: 0. */
  readonly delaySeconds?: number;
}

/** Options for `ack`. */
export interface AckOptions extends ChangeOptions {
  /**
   * The URLs come back to the queue after this many seconds, as if they had never been leased: 1 to 315,360,000. Not
   * for sets that age. Default: they leave the queue.
   */
  readonly againAfterSeconds?: number;
}

/** Options for `release`. */
export interface ReleaseOptions extends ChangeOptions {
  /** Delay before the URL can be leased again. Default: 0. */
  readonly delaySeconds?: number;
  /**
   * In a set with `perHost`: delay before any URL from the same host can be leased, for example from `Retry-After`. It
   * never shortens the host's delay. Default: 0.
   */
  readonly hostDelaySeconds?: number;
  /** The reason that a dead letter shows, up to 256 bytes in UTF-8. */
  readonly reason?: string;
  /** With `false`, postpones the URL: the lease doesn't count as an attempt. Default: true. */
  readonly countAttempt?: boolean;
}

/** Options for `extend`. */
export interface ExtendOptions extends ChangeOptions {
  /** The leases end this many seconds from now: 1 to 86,400. */
  readonly leaseSeconds: number;
}

/** Options for `queuedUrls`. Lists only URLs that match all of them. */
export interface QueuedUrlsOptions extends PageOptions {
  readonly state?: QueuedUrl['state'];
  /** In a set with `perHost`. */
  readonly host?: string;
  /** How the URLs begin, including `http://` or `https://`. */
  readonly prefix?: string;
}

/** A verb with required options. */
export interface VerbWith<Entry, Result, Options> {
  (entry: Entry, options: Options): Promise<Result>;
  (entries: readonly Entry[], options: Options): Promise<Result[]>;
}

/**
 * A visited set: the URLs that a crawler has seen, and the queue of URLs that it still has to fetch. The result
 * `invalid` means that a text isn't an http or https URL.
 */
export class VisitedSet extends Handle<
  Omit<CreateVisitedSet, 'name'>,
  VisitedSetDescription | LostVisitedSet
> {
  /**
   * Visits URLs and adds the new ones to the queue, in one step. `limited`, in sets with `perHost`: a limit kept the
   * URL out of both.
   */
  readonly discover: Verb<string | UrlWithPayload, 'new' | 'seen' | 'limited' | 'invalid', DiscoverOptions>;
  /** Marks URLs as visited. From then on, they are seen. */
  readonly visit: Verb<string, 'new' | 'seen' | 'invalid', VisitOptions>;
  /** Checks URLs without changing anything. */
  readonly check: Verb<string, 'seen' | 'unseen' | 'invalid', CallOptions>;
  /** Forgets URLs and removes them from the queue. */
  readonly forget: Verb<string, 'forgotten' | 'absent' | 'saturated' | 'invalid', ChangeOptions>;
  /** Removes fetched URLs from the queue, permanently or for a set time, by the ids of their leases. */
  readonly ack: Verb<string, 'acked' | 'expired' | 'unknown', AckOptions>;
  /** Returns leased URLs to the queue, by the ids of their leases. */
  readonly release: Verb<string, 'released' | 'expired' | 'unknown', ReleaseOptions>;
  /** Extends leases, by their ids. */
  readonly extend: VerbWith<string, 'extended' | 'expired' | 'unknown', ExtendOptions>;
  /** Returns dead letters to the queue, by their ids. */
  readonly putBack: Verb<string, 'put back' | 'unknown', ChangeOptions>;
  /** Deletes dead letters, by their ids. Their URLs stay visited. */
  readonly purge: Verb<string, 'purged' | 'unknown', ChangeOptions>;
  /** The hosts of a set with `perHost`. */
  readonly hosts: Hosts;
  /** Syncs: keep the URLs of an input list and forget all others. */
  readonly syncs: Syncs<'kept' | 'new' | 'forgotten' | 'invalid'>;

  constructor(service: Service, name: string) {
    super(service, 'visited-sets', name);
    const { batches } = service;
    const urls = (path: string, mutates = true) =>
      ({ path: `${this.path}/urls/${path}`, member: 'urls', mutates }) as const;
    const ids = (path: string) =>
      ({ path: `${this.path}/queue/${path}`, member: 'ids', mutates: true }) as const;
    this.discover = verb(
      batches,
      urls('discover'),
      ({ ttlSeconds, priority, delaySeconds }: DiscoverOptions) => ({ ttlSeconds, priority, delaySeconds }),
    );
    this.visit = verb(batches, urls('visit'), ({ ttlSeconds }: VisitOptions) => ({ ttlSeconds }));
    this.check = verb(batches, urls('check', false));
    this.forget = verb(batches, urls('forget'));
    this.ack = verb(batches, ids('ack'), ({ againAfterSeconds }: AckOptions) => ({ againAfterSeconds }));
    this.release = verb(
      batches,
      ids('release'),
      ({ delaySeconds, hostDelaySeconds, reason, countAttempt }: ReleaseOptions) => ({
        delaySeconds,
        hostDelaySeconds,
        reason,
        countAttempt,
      }),
    );
    this.extend = verb(batches, ids('extend'), ({ leaseSeconds }: ExtendOptions) => ({ leaseSeconds }));
    this.putBack = verb(batches, ids('dead-letters/put-back'));
    this.purge = verb(batches, ids('dead-letters/purge'));
    this.hosts = new Hosts(service, this.path);
    this.syncs = new Syncs(service, this.path, 'urls');
  }

  /**
   * Leases URLs to fetch. No other worker gets them until the lease ends. `waitSeconds`: how long to wait for the first
   * URL.
   */
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
   * Explains the results for at most 100 URLs: their URL keys, the rules that produced the keys, and their counters'
   * values. Throws NotFoundError.
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

  /** Lists the dead letters: URLs that have used up the set's `maxAttempts`. */
  async *deadLetters(options: PageOptions = {}): AsyncGenerator<DeadLetter> {
    const path = `${this.path}/queue/dead-letters`;
    for await (const { urls } of pagesOf<DeadLetters>(this.service.requests, path, options)) yield* urls;
  }

  /**
   * Lists the URLs in the queue, in every state. A URL whose state changes between two pages may be listed twice or not
   * at all.
   */
  async *queuedUrls(options: QueuedUrlsOptions = {}): AsyncGenerator<QueuedUrl> {
    const path = `${this.path}/queue/urls`;
    const { state, host, prefix } = options;
    const pages = pagesOf<QueuedUrls>(this.service.requests, path, options, { state, host, prefix });
    for await (const { urls } of pages) yield* urls;
  }

  /**
   * Drops the URLs that match `state`, `host` and `prefix` from the queue, or all URLs with `all`. They stay visited,
   * unless `forget` is true. With `dryRun`, only counts them. Makes as many calls as the queue needs, and adds up their
   * counts.
   */
  async dropQueued(
    asked: Omit<DropQueued, 'limit' | 'cursor'>,
    { idempotencyKey = randomKey(), signal }: ChangeOptions = {},
  ): Promise<Omit<DroppedQueued, 'next'>> {
    let [matched, dropped, forgotten] = [0, 0, 0];
    let cursor: string | undefined;
    for (let part = 0; part === 0 || cursor !== undefined; part++) {
      const answer = await this.change<DroppedQueued>(
        { idempotencyKey: `${idempotencyKey}.${part}`, ...(signal && { signal }) },
        { method: 'POST', path: `${this.path}/queue/drop`, json: { ...asked, cursor } },
      );
      matched += answer.matched;
      dropped += answer.dropped;
      forgotten += answer.forgotten ?? 0;
      cursor = answer.next;
    }
    return { matched, dropped, ...(asked.forget && { forgotten }) };
  }
}
