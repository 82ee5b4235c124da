import { RetryAfterError, type Task, type UrlWithPayload, type VisitedSet } from 'unseen-client';
import type { Options } from './options.js';
import { fetchPage, SiteBusyError, type Page } from './page.js';
import { Robots, type Rules } from './robots.js';
import { Turns } from './turns.js';

/** What became of a URL, for whoever reads: a page that was answered, or one that robots are not to fetch. */
export type Visit =
  | {
      readonly url: string;
      readonly depth: number;
      readonly status: number;
      /** How many links were followed, and how many of them nobody had seen. */
      readonly links: number;
      readonly new: number;
      /** Present if the page was longer than `maxBytes`: its beginning was read. */
      readonly cut?: true;
    }
  | { readonly url: string; readonly depth: number; readonly disallowed: true };

/** Who is told what a crawler does. */
export interface Listener {
  visit(visit: Visit): void;
  log(text: string): void;
}

/** Where a URL was found. It travels with the URL, as its payload. */
interface Place {
  readonly depth: number;
  /** How many redirects led here, one after the other. */
  readonly redirects: number;
}

const MOST_REDIRECTS = 10;
const MOST_DELAY_SECONDS = 3_600;
const LOOK_MS = 1_000;

/** Fetches pages, one for each URL that it is given, and discovers what they lead to. */
export class Crawler {
  readonly counts = { fetched: 0, disallowed: 0, failed: 0, givenBack: 0 };
  private readonly turns: Turns;
  private readonly robots: Robots;
  /** How many URLs are in hand, most of which wait for their host. */
  private held = 0;
  private isWatching = false;

  constructor(
    private readonly set: VisitedSet,
    private readonly options: Options,
    private readonly listener: Listener,
  ) {
    this.turns = new Turns(options.concurrency);
    this.robots = new Robots(options);
  }

  /** The handler of a worker. When it throws, the worker gives the URL back, with the reason. */
  async handle(task: Task): Promise<void> {
    this.held++;
    this.keepRoom();
    try {
      await this.crawl(task);
    } catch (error) {
      if (!task.signal.aborted) this.count(task, error);
      throw error;
    } finally {
      this.held--;
    }
  }

  /** How long a page that failed is left alone: twice as long each time. */
  delaySeconds(attempt: number): number {
    return Math.min(MOST_DELAY_SECONDS, Math.ceil(this.options.retrySeconds * 2 ** (attempt - 1)));
  }

  /** URLs that wait for their turn go back to the queue. Fetches that have begun go on to their end. */
  stop(): void {
    this.turns.stop(new RetryAfterError('the worker was stopped', 0, { countAttempt: false }));
  }

  private async crawl(task: Task): Promise<void> {
    const url = new URL(task.url);
    const place = placeOf(task.payload);
    if (!this.allows(url, this.robots.rulesOf(url), task)) return;
    const page = await this.inTurn(url, task);
    if (page === undefined) return;
    const next = page.isRedirect
      ? { ...place, redirects: place.redirects + 1 }
      : { depth: place.depth + 1, redirects: 0 };
    const links = next.redirects > MOST_REDIRECTS ? [] : this.toFollow(page.links, next.depth);
    const payload = JSON.stringify(next);
    // The worker acknowledges the URL after this. One that dies in between loses no link: the page is fetched again.
    const results = await this.set.discover(links.map((link): UrlWithPayload => ({ url: link, payload })));
    this.counts.fetched++;
    this.listener.visit({
      url: task.url,
      depth: place.depth,
      status: page.status,
      links: links.length,
      new: results.filter((result) => result === 'new').length,
      ...(page.cut && { cut: page.cut }),
    });
  }

  /** Fetches a page when its host may be asked. Undefined if robots are not to fetch it. */
  private async inTurn(url: URL, task: Task): Promise<Page | undefined> {
    const arrived = performance.now();
    const leave = await this.turns.enter(url.host, task.signal);
    let asked = false;
    try {
      if (performance.now() - arrived > (this.options.leaseSeconds * 1_000) / 3) await this.hold(task);
      let rules = this.robots.rulesOf(url);
      if (rules === undefined) {
        asked = true;
        rules = await this.robots.load(url, task.signal);
      }
      if (!this.allows(url, rules, task)) return undefined;
      asked = true;
      return await this.fetch(url, task);
    } finally {
      leave(asked ? Math.max(this.options.delayMs, this.robots.rulesOf(url)?.delayMs ?? 0) : 0);
    }
  }

  /**
   * While all URLs that may be in hand are, no other can be leased. If that lasts, it is for the hosts that are slow: most of
   * theirs go back, so that those of other hosts find room.
   */
  private keepRoom(): void {
    if (this.isWatching || this.held < this.options.held) return;
    this.isWatching = true;
    const look = (): void => {
      this.isWatching = false;
      if (this.held < this.options.held) return;
      const reason = (seconds: number): Error =>
        new RetryAfterError('its host is busy', seconds, { countAttempt: false });
      this.turns.putOff(this.options.perHost, reason);
      this.keepRoom();
    };
    setTimeout(look, LOOK_MS).unref();
  }

  /** Whether a page may be fetched, as far as is known. Throws RetryAfterError if its site cannot say. */
  private allows(url: URL, rules: Rules | undefined, { url: text, payload, attempt }: Task): boolean {
    if (rules?.unknown !== undefined) {
      const { why, untilMs } = rules.unknown;
      const seconds = Math.ceil((untilMs - performance.now()) / 1_000);
      throw new RetryAfterError(why, Math.max(seconds, this.delaySeconds(attempt)));
    }
    if (rules === undefined || rules.allows(url)) return true;
    this.counts.disallowed++;
    this.listener.visit({ url: text, depth: placeOf(payload).depth, disallowed: true });
    return false;
  }

  /** Makes sure that a URL is still ours: while the service was away its lease may have ended, and no one could tell. */
  private async hold({ id }: Task): Promise<void> {
    const word = await this.set.extend(id, { leaseSeconds: this.options.leaseSeconds });
    if (word !== 'extended') throw new Error(`the lease is ${word}`);
  }

  private async fetch(url: URL, { attempt, signal }: Task): Promise<Page> {
    const { userAgent, timeoutMs, maxBytes } = this.options;
    try {
      return await fetchPage(url, { userAgent, timeoutMs, maxBytes, signal });
    } catch (error) {
      if (!(error instanceof SiteBusyError)) throw error;
      throw new RetryAfterError(error.message, Math.max(error.retryAfterSeconds, this.delaySeconds(attempt)));
    }
  }

  private toFollow(links: readonly string[], depth: number): readonly string[] {
    const { hosts, maxDepth } = this.options;
    if (depth > maxDepth) return [];
    return hosts === undefined ? links : links.filter((link) => hosts.has(new URL(link).host));
  }

  private count({ url, attempt }: Task, error: unknown): void {
    if (error instanceof RetryAfterError && !error.countAttempt) {
      this.counts.givenBack++;
      return;
    }
    this.counts.failed++;
    this.listener.log(
      `${url}: ${error instanceof Error ? error.message : String(error)}, attempt ${attempt}`,
    );
  }
}

function placeOf(payload = ''): Place {
  let parsed: unknown;
  try {
    parsed = JSON.parse(payload);
  } catch {
    // Whoever put the URL into the queue gave it something else to carry, or nothing.
  }
  const { depth, redirects }: { depth?: unknown; redirects?: unknown } = Object(parsed);
  return { depth: countOf(depth), redirects: countOf(redirects) };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : 0;
}
