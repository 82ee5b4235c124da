import { RetryAfterError, type Task, type UrlWithPayload, type VisitedSet } from 'unseen-client';
import type { Options } from './options.js';
import { fetchPage, SiteBusyError, type Page } from './page.js';
import { Robots, type Rules } from './robots.js';
import { Turns } from './turns.js';

/** The result of a URL: a fetched page, or a page that robots.txt disallows. */
export type Visit =
  | {
      readonly url: string;
      readonly depth: number;
      readonly status: number;
      /** Number of links that were followed, and how many of them were new. */
      readonly links: number;
      readonly new: number;
      /** Set if the page was longer than `maxBytes` and only its beginning was read. */
      readonly cut?: true;
    }
  | { readonly url: string; readonly depth: number; readonly disallowed: true };

/** Receives the results of a crawler. */
export interface Listener {
  visit(visit: Visit): void;
  log(text: string): void;
}

/** Where a URL was found. The payload of the URL stores it. */
interface Place {
  readonly depth: number;
  /** Number of consecutive redirects that led to the URL. */
  readonly redirects: number;
}

const MOST_REDIRECTS = 10;
const MOST_DELAY_SECONDS = 3_600;
const LOOK_MS = 1_000;

/** Fetches the page of each URL and discovers its links. */
export class Crawler {
  readonly counts = { fetched: 0, disallowed: 0, failed: 0, givenBack: 0 };
  private readonly turns: Turns;
  private readonly robots: Robots;
  /** Number of leased URLs. Most of them wait for their host. */
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

  /** The handler of a worker. If it throws, the worker releases the URL with the reason. */
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

  /** Delay before a failed page is retried, doubled each time. */
  delaySeconds(attempt: number): number {
    return Math.min(MOST_DELAY_SECONDS, Math.ceil(this.options.retrySeconds * 2 ** (attempt - 1)));
  }

  /** Releases URLs that wait for their turn. Fetches in progress continue. */
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
    // The worker acknowledges the URL after this. If it is killed in between, the page is fetched again and no link is
    // lost.
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

  /** Fetches a page when it is the turn of its host. Undefined if robots.txt disallows it. */
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
   * While all places are taken, the worker cannot lease more URLs. If this lasts, slow hosts are the cause. The crawler
   * then releases most of their URLs to make room for other hosts.
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

  /**
   * Whether a page may be fetched, as far as the rules are known. Throws RetryAfterError if its site cannot provide
   * them.
   */
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

  /** Makes sure that the lease still holds: it may have ended while the service was unavailable. */
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
    // Another program queued the URL with another payload, or with none.
  }
  const { depth, redirects }: { depth?: unknown; redirects?: unknown } = Object(parsed);
  return { depth: countOf(depth), redirects: countOf(redirects) };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : 0;
}
