import { Worker, type Task, type VisitedSet } from 'unseen-client';
import { normalUrl, type Articles } from './articles.js';
import { Loop } from './loop.js';
import { fetchPage } from './page.js';

/** The collector's options. */
export interface CollectorOptions {
  /** Pages that link to articles. */
  readonly sources: readonly string[];
  /** How long to pause between checking the sources. */
  readonly everyMs: number;
  /** How long a collected article is live. */
  readonly liveMs: number;
  readonly concurrency: number;
}

/** What a check of the sources found. */
export interface Round {
  readonly links: number;
  readonly new: number;
  /** Why sources could not be read. */
  readonly failed: Readonly<Record<string, string>>;
}

/** The article was deleted while its page was being fetched. */
const DELETED = new Error('the article was deleted');

/**
 * Checks the sources at intervals and discovers their links. Fetches new pages from the visited set's queue. Stores an
 * article before it acknowledges its URL, so a page is fetched again if the CMS is killed in between.
 */
export class Collector {
  private readonly rounds: Loop;
  private readonly work: Loop;
  private readonly fetching = new Map<string, AbortController>();

  constructor(
    private readonly set: VisitedSet,
    private readonly articles: Articles,
    private readonly options: CollectorOptions,
    /** Resolves when the set exists. */
    private readonly ready: () => Promise<void>,
    private readonly log: (text: string) => void,
  ) {
    this.rounds = new Loop({
      name: 'sources',
      round: async (signal) => void (await this.look(signal)),
      restMs: () => options.everyMs,
      log,
    });
    this.work = new Loop({
      name: 'collector',
      round: (signal) => this.fetchAll(signal),
      restMs: () => 0,
      log,
    });
  }

  /** Checks the sources once. Throws if the service doesn't answer. */
  async look(signal: AbortSignal = new AbortController().signal): Promise<Round> {
    await this.ready();
    const failed: Record<string, string> = {};
    const links = new Set<string>();
    for (const source of this.options.sources) {
      try {
        const page = await fetchPage(source, signal);
        for (const link of page.links) if (this.isOurs(link) && link !== source) links.add(link);
      } catch (error) {
        signal.throwIfAborted();
        failed[source] = error instanceof Error ? error.message : String(error);
        this.log(`${source}: ${failed[source]}`);
      }
    }
    return { links: links.size, new: await this.discover([...links], signal), failed };
  }

  /** Discards a fetch of this URL that is in progress, because its article was deleted. */
  drop(url: string): void {
    this.fetching.get(url)?.abort(DELETED);
  }

  async stop(): Promise<void> {
    await Promise.all([this.rounds.stop(), this.work.stop()]);
  }

  /**
   * Returns how many URLs were new. Checks first, because `discover` restarts a seen URL's age, so an article that
   * stays linked would never be collected again.
   */
  private async discover(urls: readonly string[], signal: AbortSignal): Promise<number> {
    const words = await this.set.check(urls, { signal });
    const unseen = urls.filter((_, i) => words[i] === 'unseen');
    const results = await this.set.discover(unseen, { signal });
    return results.filter((result) => result === 'new').length;
  }

  private async fetchAll(signal: AbortSignal): Promise<void> {
    await this.ready();
    const worker = new Worker(this.set, (task) => this.collect(task), {
      concurrency: this.options.concurrency,
      onError: (error, task) => {
        if (error !== DELETED) this.log(`${task?.url ?? 'queue'}: ${String(error)}`);
      },
    });
    const stop = (): void => void worker.stop();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      await worker.run();
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /**
   * Fetches a page and stores its article. A page that is gone or isn't an article is done. The next sync forgets its
   * URL. If the page turns up again, it is fetched again.
   */
  private async collect({ url: given, signal }: Task): Promise<void> {
    const url = normalUrl(given) ?? given;
    const dropping = new AbortController();
    this.fetching.set(url, dropping);
    try {
      const { location, article } = await fetchPage(url, AbortSignal.any([signal, dropping.signal]));
      if (location !== undefined && this.isOurs(location)) await this.discover([location], signal);
      dropping.signal.throwIfAborted();
      if (article === undefined) return;
      const id = this.articles.collect({ url, ...article, liveUntil: Date.now() + this.options.liveMs });
      if (id !== undefined) this.log(`${url}: collected as ${id}`);
    } finally {
      this.fetching.delete(url);
    }
  }

  private isOurs(url: string): boolean {
    return this.options.sources.some((source) => new URL(source).host === new URL(url).host);
  }
}
