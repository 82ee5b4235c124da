import { randomUUID } from 'node:crypto';
import { ConflictError, NotFoundError, type VisitedSet } from 'unseen-client';
import type { Articles, Listed } from './articles.js';
import type { Outbox } from './outbox.js';
import { Turns } from './turns.js';

/** The result of a sync or its preview. */
export interface SyncReport {
  readonly done: boolean;
  /** Estimated number of forgotten items. */
  readonly forgotten: number;
  readonly items: number;
  /** The stale articles whose URLs are forgotten, at most MOST_NAMED of them. */
  readonly articles: readonly Pick<Listed, 'id' | 'url' | 'title'>[];
  readonly staleArticles: number;
  /** The service refuses the sync, because it would forget more than `maxForgetShare`. */
  readonly refused: boolean;
  readonly maxForgetShare?: number;
}

type ArticleSync = ReturnType<VisitedSet['syncs']['get']>;

const MOST_NAMED = 100;

/** Makes the visited set forget all URLs that don't belong to live articles. */
export class Nightly {
  /** A set can have one open sync. */
  private readonly turns = new Turns();

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    private readonly outbox: Outbox,
    /** Cancels the sync in progress. The next sync abandons it. */
    private readonly signal: AbortSignal,
    private readonly log: (text: string) => void,
  ) {}

  /** Shows what a sync would do and changes nothing. */
  preview(): Promise<SyncReport> {
    return this.turns.take(() => this.sync({ dryRun: true }));
  }

  /** Forgets the URLs that aren't live. With `force`, even if the service would refuse. */
  run(force = false): Promise<SyncReport> {
    return this.turns.take(() => this.sync({ force }));
  }

  private async sync(asked: { readonly dryRun: true } | { readonly force: boolean }): Promise<SyncReport> {
    const { signal } = this;
    // First, all messages are sent. A late message could forget a URL that the crawler has found again after the sync
    // forgot it. Each upload that was visited earlier is now an article, so the list contains it.
    const sync = await this.outbox.whenTold(() => this.open());
    const now = Date.now();
    try {
      // The service itself keeps URLs that are visited from now on, and URLs in the queue.
      for await (const { invalid } of sync.keep(this.articles.liveUrls(now), { signal }).blocks())
        if (invalid.size > 0) this.log(`sync: ${invalid.size} article URLs are not valid`);
      const stale = await this.staleButSeen(now);
      const {
        wouldForget,
        items,
        refused = false,
        maxForgetShare,
      } = await sync.commit({ dryRun: true }, { signal });
      const report = {
        forgotten: wouldForget,
        items,
        staleArticles: stale.length,
        articles: stale.slice(0, MOST_NAMED),
        ...(maxForgetShare !== undefined && { maxForgetShare }),
      };
      if ('dryRun' in asked) return { done: false, refused, ...report };
      if (refused && !asked.force) return { done: false, refused, ...report };
      const done = await sync.commit(asked, { signal });
      this.articles.staleForgotten(now);
      // The set may have room now.
      this.outbox.wake();
      return { ...report, done: true, refused: false, forgotten: done.wouldForget };
    } finally {
      await this.abandon(sync).catch((error: unknown) => this.log(`sync ${sync.id}: ${String(error)}`));
    }
  }

  private async staleButSeen(now: number): Promise<SyncReport['articles']> {
    const stale = [...this.articles.stale(now)];
    const words = await this.set.check(
      stale.map(({ url }) => url),
      { signal: this.signal },
    );
    return stale.filter((_, i) => words[i] === 'seen').map(({ id, url, title }) => ({ id, url, title }));
  }

  /** Opens a sync. If the CMS was killed during a sync, first finds that sync by its key and abandons it. */
  private async open(): Promise<ArticleSync> {
    const { signal } = this;
    const left = this.articles.note('sync');
    if (left !== undefined)
      await this.abandon(await this.set.syncs.open({}, { idempotencyKey: left, signal }));
    const key = randomUUID();
    this.articles.setNote('sync', key);
    return this.set.syncs.open({}, { idempotencyKey: key, signal });
  }

  /** Abandons a sync that is still open. If the service is unavailable, throws and keeps the key for the next sync. */
  private async abandon(sync: ArticleSync): Promise<void> {
    try {
      await sync.abandon({ signal: this.signal });
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
    }
    this.articles.setNote('sync', undefined);
  }
}
