import { ConflictError, UnseenClient, type VisitedSet } from 'unseen-client';
import { Articles, type Draft, type Upload } from './articles.js';
import { Collector, type Round } from './collector.js';
import { Database } from './database.js';
import { Loop } from './loop.js';
import { Nightly, type SyncReport } from './nightly.js';
import type { Options } from './options.js';
import { Outbox } from './outbox.js';

/** An entry in the queue is fetched so often before it is given up. */
const MOST_ATTEMPTS = 8;
/** How often a set that is there is looked for again: an operator may drop it. */
const LOOK_AGAIN_MS = 60_000;

/** The parts of the CMS, and how they work together. */
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
  /** Until then nothing is synced by the clock. */
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

  /** Opens the database, and begins to work. Unseen need not be there yet. */
  static start(options: Options, log: (text: string) => void): Cms {
    return new Cms(Database.open(options.dataFolder), options, log);
  }

  /** Takes in an article of a person, unless its URL was seen. While Unseen is away the upload waits. */
  upload(draft: Draft, force: boolean): Promise<Upload> {
    return this.outbox.outcome(this.articles.upload(draft, force), this.options.patienceMs);
  }

  /** Answers whether there was one. Its URL is forgotten as soon as Unseen can be told. */
  delete(id: number): boolean {
    const url = this.articles.delete(id);
    if (url === undefined) return false;
    this.collector.drop(url);
    this.outbox.wake();
    return true;
  }

  /** Looks at the sources now. */
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

  /** What is being fetched is brought to its end. What Unseen is being told is told again by the next start. */
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
      `nightly sync: ${done ? 'forgot' : 'refused to forget'} ${forgotten} of ${items} URLs, ${staleArticles} stale articles among them`,
    );
    this.nextNight = nextAt(this.options.nightlyMinute, new Date());
  }

  /** Resolves when there is a set. Rejects while Unseen is away. */
  private ready(): Promise<void> {
    if (Date.now() - this.preparedAt > LOOK_AGAIN_MS)
      this.preparing ??= this.prepare(this.stopping.signal)
        .then(() => void (this.preparedAt = Date.now()))
        .finally(() => (this.preparing = undefined));
    return this.preparing ?? Promise.resolve();
  }

  /** Makes the set unless it is there. One that is new, or was emptied, is told of the articles that there are. */
  private async prepare(signal: AbortSignal): Promise<void> {
    const { capacity, maxAgeSeconds } = this.options;
    const made = {
      capacity,
      maxAttempts: MOST_ATTEMPTS,
      ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    };
    await this.set.create(made, { signal }).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
      this.log(`the set ${this.set.name} was made with other options, and is used as it is`);
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
    if (told > 0) this.log(`the set ${this.set.name} is new: it was told of ${told} articles`);
    this.articles.setNote('generation', generation);
  }
}

/** The next time that it is so many minutes after midnight. */
function nextAt(minute: number, now: Date): number {
  const next = new Date(now);
  next.setHours(Math.floor(minute / 60), minute % 60, 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  return next.getTime();
}
