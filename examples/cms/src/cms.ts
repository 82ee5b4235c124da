import { ConflictError, UnseenClient, type VisitedSet } from 'unseen-client';
import { Articles, type Draft, type Upload } from './articles.js';
import { Collector, type Round } from './collector.js';
import { Database } from './database.js';
import { Loop } from './loop.js';
import { Nightly, type SyncReport } from './nightly.js';
import type { Options } from './options.js';
import { Outbox } from './outbox.js';

/** Number of attempts to fetch an entry in the queue before it becomes a dead letter. */
const MOST_ATTEMPTS = 8;
/** How often the CMS checks that the set exists, because an operator may drop it. */
const LOOK_AGAIN_MS = 60_000;

/** Connects the CMS's parts. */
export class Cms {
  readonly articles: Articles;
  private readonly outbox: Outbox;
  private readonly collector: Collector;
  private readonly nightly: Nightly;
  private readonly nights: Loop;
  private readonly set: VisitedSet;
  private readonly stopping = new AbortController();
  private preparing: Promise<void> | undefined;
  private preparedAt = 0;
  /** When the next nightly sync starts. */
  private nextNight: number;

  private constructor(
    private readonly database: Database,
    private readonly options: Options,
    private readonly log: (text: string) => void,
  ) {
    const { unseen, set, nightlyMinute } = options;
    const client = new UnseenClient({ url: unseen, apiKey: process.env['UNSEEN_API_KEY'] });
    this.set = client.visitedSet(set);
    this.articles = new Articles(database);
    const ready = (): Promise<void> => this.ready();
    this.outbox = new Outbox(this.set, this.articles, ready, log);
    this.collector = new Collector(this.set, this.articles, options, ready, log);
    this.nightly = new Nightly(this.set, this.articles, this.outbox, this.stopping.signal, log);
    this.nextNight = nextAt(nightlyMinute, new Date());
    this.nights = new Loop({
      name: 'nightly',
      round: () => this.syncIfDue(),
      restMs: () => this.nextNight - Date.now(),
      log,
    });
  }

  /** Opens the database and starts to work. Unseen may still be unavailable. */
  static start(options: Options, log: (text: string) => void): Cms {
    return new Cms(Database.open(options.dataFolder), options, log);
  }

  /** Stores a person's article, unless its URL was seen. While Unseen is unavailable, the upload waits. */
  upload(draft: Draft, force: boolean): Promise<Upload> {
    return this.outbox.outcome(this.articles.upload(draft, force), this.options.patienceMs);
  }

  /** Returns whether the article existed. Its URL is forgotten as soon as Unseen is available. */
  delete(id: number): boolean {
    const url = this.articles.delete(id);
    if (url === undefined) return false;
    this.collector.drop(url);
    this.outbox.wake();
    return true;
  }

  /** Checks the sources now. */
  look(): Promise<Round> {
    return this.collector.look();
  }

  async preview(): Promise<SyncReport> {
    await this.ready();
    return this.nightly.preview();
  }

  async sync(force: boolean): Promise<SyncReport> {
    await this.ready();
    return this.nightly.run(force);
  }

  /** Finishes the fetches in progress. The next start repeats the message that is being sent. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.collector.stop(), this.outbox.stop(), this.nights.stop()]);
    this.database.close();
  }

  private async syncIfDue(): Promise<void> {
    if (Date.now() < this.nextNight) return;
    await this.ready();
    const { done, forgotten, staleArticles, items } = await this.nightly.run();
    this.log(
      `nightly sync: ${done ? 'forgot' : 'refused to forget'} ${forgotten} of ${items} URLs, including ${staleArticles} stale articles`,
    );
    this.nextNight = nextAt(this.options.nightlyMinute, new Date());
  }

  /** Resolves when the set exists. Rejects while Unseen is unavailable. */
  private ready(): Promise<void> {
    if (Date.now() - this.preparedAt > LOOK_AGAIN_MS)
      this.preparing ??= this.prepare(this.stopping.signal)
        .then(() => void (this.preparedAt = Date.now()))
        .finally(() => (this.preparing = undefined));
    return this.preparing ?? Promise.resolve();
  }

  /** Creates the set if it doesn't exist. If the set is new or was cleared, adds the stored articles' URLs. */
  private async prepare(signal: AbortSignal): Promise<void> {
    const { capacity, maxAgeSeconds } = this.options;
    const made = {
      capacity,
      maxAttempts: MOST_ATTEMPTS,
      ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    };
    await this.set.create(made, { signal }).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
      this.log(`the set ${this.set.name} was created with different options; the CMS uses it as it is`);
    });
    const { generation } = await this.set.describe({ signal });
    if (generation === this.articles.note('generation')) return;
    let told = 0;
    for await (const { entries, results } of this.set
      .visit(this.articles.heldUrls(Date.now()), { signal })
      .blocks()) {
      this.articles.told(entries.filter((_, i) => results[i] === 'new'));
      told += entries.length;
    }
    if (told > 0) this.log(`the set ${this.set.name} is new: added ${told} articles`);
    this.articles.setNote('generation', generation);
  }
}

/** The next time that is this many minutes after midnight. */
function nextAt(minute: number, now: Date): number {
  const next = new Date(now);
  next.setHours(Math.floor(minute / 60), minute % 60, 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  return next.getTime();
}
