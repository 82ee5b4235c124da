import { randomUUID } from 'node:crypto';
import { ConflictError, NotFoundError, type VisitedSet } from 'unseen-client';
import type { Articles, Listed } from './articles.js';
import type { Outbox } from './outbox.js';
import { Turns } from './turns.js';

/** What a sync has forgotten, or would forget. */
export interface SyncReport {
  readonly done: boolean;
  /** Items of the set that are forgotten: an estimate of the service. */
  readonly forgotten: number;
  readonly items: number;
  /** The articles among them: those that are stale. At most MOST_NAMED are named. */
  readonly articles: readonly Pick<Listed, 'id' | 'url' | 'title'>[];
  readonly staleArticles: number;
  /** The service refused, or would refuse, since more than this share would be forgotten. */
  readonly refused: boolean;
  readonly maxForgetShare?: number;
}

type ArticleSync = ReturnType<VisitedSet['syncs']['get']>;

const MOST_NAMED = 100;

/** Brings the visited set in line with the articles that are live. */
export class Nightly {
  /** The set has one sync at a time. */
  private readonly turns = new Turns();

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    private readonly outbox: Outbox,
    /** Ends what is under way: the next sync gives it up. */
    private readonly signal: AbortSignal,
    private readonly log: (text: string) => void,
  ) {}

  /** What a sync would forget. Changes nothing. */
  preview(): Promise<SyncReport> {
    return this.turns.take(() => this.sync({ dryRun: true }));
  }

  /** Forgets what is not live. `force`: however much that is. */
  run(force = false): Promise<SyncReport> {
    return this.turns.take(() => this.sync({ force }));
  }

  private async sync(asked: { readonly dryRun: true } | { readonly force: boolean }): Promise<SyncReport> {
    const { signal } = this;
    // First all is told. A late message would forget what the sync has forgotten, and the crawler has found again; and an upload that
    // was visited before is an article by now, which is listed.
    const sync = await this.outbox.whenTold(() => this.open());
    const now = Date.now();
    try {
      // What is visited from now on, and what is in the queue, the set keeps by itself.
      for await (const { invalid } of sync.keep(this.articles.liveUrls(now), { signal }).blocks())
        if (invalid.size > 0) this.log(`sync: ${invalid.size} URLs of articles are not valid`);
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
      // There may be room now.
      this.outbox.wake();
      return { ...report, done: true, refused: false, forgotten: done.wouldForget };
    } finally {
      await this.giveUp(sync).catch((error: unknown) => this.log(`sync ${sync.id}: ${String(error)}`));
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

  /** A sync that was under way when this program died is opened once more by its key, which answers the same one, and given up. */
  private async open(): Promise<ArticleSync> {
    const { signal } = this;
    const left = this.articles.note('sync');
    if (left !== undefined)
      await this.giveUp(await this.set.syncs.open({}, { idempotencyKey: left, signal }));
    const key = randomUUID();
    this.articles.setNote('sync', key);
    return this.set.syncs.open({}, { idempotencyKey: key, signal });
  }

  /** Unless it is over. Throws if that cannot be said to the service now: its key is kept, and the next sync does it. */
  private async giveUp(sync: ArticleSync): Promise<void> {
    try {
      await sync.abandon({ signal: this.signal });
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
    }
    this.articles.setNote('sync', undefined);
  }
}
