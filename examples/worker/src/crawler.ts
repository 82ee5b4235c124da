import { setTimeout as sleep } from 'node:timers/promises';
import { RetryAfterError, type Task, type UrlWithPayload, type VisitedSet } from 'unseen-client';
import type { Options } from './options.js';
import { fetchPage, SiteBusyError, type Page } from './page.js';
import { Robots, type Rules } from './robots.js';

/** A URL's result, which is a fetched page, or a page that robots.txt disallows. */
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

/** Receives a crawler's results. */
export interface Listener {
  visit(visit: Visit): void;
  log(text: string): void;
}

/** Where a URL was found. The URL's payload stores it. */
interface Place {
  readonly depth: number;
  /** Number of consecutive redirects that led to the URL. */
  readonly redirects: number;
}

const MOST_REDIRECTS = 10;
const MOST_DELAY_SECONDS = 3_600;

/**
 * Fetches each URL's page and discovers its links. The set paces each host, and gives each host to one worker at a
 * time.
 */
export class Crawler {
  readonly counts = { fetched: 0, disallowed: 0, failed: 0 };
  private readonly robots: Robots;
  private readonly stopping = new AbortController();

  constructor(
    private readonly set: VisitedSet,
    private readonly options: Options,
    private readonly listener: Listener,
  ) {
    this.robots = new Robots(options);
  }

  /** A worker's handler. If it throws, the worker releases the URL with the reason. */
  async handle(task: Task): Promise<void> {
    try {
      await this.crawl(task);
    } catch (error) {
      if (!task.signal.aborted) this.count(task, error);
      throw error;
    }
  }

  /** Delay before a failed page is retried, doubled each time. */
  delaySeconds(attempt: number): number {
    return Math.min(MOST_DELAY_SECONDS, Math.ceil(this.options.retrySeconds * 2 ** (attempt - 1)));
  }

  /** Ends pauses. Fetches in progress continue. */
  stop(): void {
    this.stopping.abort();
  }

  private async crawl(task: Task): Promise<void> {
    const url = new URL(task.url);
    const rules = this.robots.rulesOf(url) ?? (await this.robots.load(url, task.signal));
    if (!this.allows(url, rules, task)) return;
    try {
      await this.follow(await this.fetch(url, task), task);
    } finally {
      await this.pause(rules, task);
    }
  }

  /** Discovers a page's links. */
  private async follow(page: Page, task: Task): Promise<void> {
    const place = placeOf(task.payload);
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

  /**
   * Holds the host for longer if robots.txt asks for a longer pause than the set leaves. The worker extends the lease.
   */
  private async pause({ delayMs }: Rules, task: Task): Promise<void> {
    const ms = delayMs - this.options.delaySeconds * 1_000;
    const signal = AbortSignal.any([this.stopping.signal, task.signal]);
    if (ms > 0) await sleep(ms, undefined, { signal }).catch(() => undefined);
  }

  /** Whether a page may be fetched. Throws RetryAfterError if its site can't provide the rules. */
  private allows(url: URL, rules: Rules, { url: text, payload, attempt }: Task): boolean {
    if (rules.unknown !== undefined) {
      const { why, untilMs } = rules.unknown;
      const seconds = Math.ceil((untilMs - performance.now()) / 1_000);
      throw new RetryAfterError(why, Math.max(seconds, this.delaySeconds(attempt)), { host: true });
    }
    if (rules.allows(url)) return true;
    this.counts.disallowed++;
    this.listener.visit({ url: text, depth: placeOf(payload).depth, disallowed: true });
    return false;
  }

  private async fetch(url: URL, { attempt, signal }: Task): Promise<Page> {
    const { userAgent, timeoutMs, maxBytes } = this.options;
    try {
      return await fetchPage(url, { userAgent, timeoutMs, maxBytes, signal });
    } catch (error) {
      if (!(error instanceof SiteBusyError)) throw error;
      const { message, retryAfterSeconds } = error;
      // With Retry-After, the whole host waits, for all workers.
      const host = retryAfterSeconds > 0;
      throw new RetryAfterError(message, Math.max(retryAfterSeconds, this.delaySeconds(attempt)), { host });
    }
  }

  private toFollow(links: readonly string[], depth: number): readonly string[] {
    const { hosts, maxDepth } = this.options;
    if (depth > maxDepth) return [];
    return hosts === undefined ? links : links.filter((link) => hosts.has(new URL(link).host));
  }

  private count({ url, attempt }: Task, error: unknown): void {
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
