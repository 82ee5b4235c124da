import { createRequire } from 'node:module';
import { get, textOf } from './get.js';

/** The package's types declare a member `default`, but the package exports the function itself. */
const robotsParser: (typeof import('robots-parser'))['default'] = createRequire(import.meta.url)(
  'robots-parser',
);

/** The rules in a site's robots.txt. */
export interface Rules {
  allows(url: URL): boolean;
  /** Pause that the site requests after each request. */
  readonly delayMs: number;
  /** Set if the rules could not be read. Nothing is allowed until the next attempt. */
  readonly unknown?: { readonly why: string; readonly untilMs: number };
}

export interface RobotsOptions {
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** How long to pause before the next attempt if a site didn't answer. */
  readonly retrySeconds: number;
}

const HOUR_MS = 3_600_000;
const KEPT_MS = 24 * HOUR_MS;
const MOST_SITES = 10_000;
const MOST_BYTES = 512 * 1_024;

/** Each site's robots.txt, requested once a day (RFC 9309). */
export class Robots {
  private readonly kept = new Map<string, { readonly rules: Rules; readonly untilMs: number }>();

  constructor(private readonly options: RobotsOptions) {}

  /** Undefined if robots.txt must be requested. */
  rulesOf({ origin }: URL): Rules | undefined {
    const found = this.kept.get(origin);
    return found !== undefined && performance.now() < found.untilMs ? found.rules : undefined;
  }

  /** Requests robots.txt from the site. */
  async load({ origin }: URL, signal: AbortSignal): Promise<Rules> {
    const rules = await this.ask(origin, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return this.unknown(error instanceof Error ? error.message : String(error));
    });
    this.kept.delete(origin);
    this.kept.set(origin, { rules, untilMs: rules.unknown?.untilMs ?? performance.now() + KEPT_MS });
    const [oldest] = this.kept.keys();
    if (this.kept.size > MOST_SITES && oldest !== undefined) this.kept.delete(oldest);
    return rules;
  }

  private ask(origin: string, signal: AbortSignal): Promise<Rules> {
    const { userAgent, timeoutMs } = this.options;
    const url = new URL('/robots.txt', origin);
    return get(url, { userAgent, timeoutMs, redirect: 'follow', signal }, async (response) => {
      const { status } = response;
      if (status === 429 || status >= 500) return this.unknown(`HTTP ${status}`);
      const { text } = response.ok ? await textOf(response, MOST_BYTES) : { text: '' };
      const robots = robotsParser(url.href, text);
      const seconds = robots.getCrawlDelay(userAgent) ?? 0;
      return {
        allows: ({ href }) => robots.isAllowed(href, userAgent) ?? true,
        delayMs: seconds > 0 ? Math.min(HOUR_MS, seconds * 1_000) : 0,
      };
    });
  }

  private unknown(why: string): Rules {
    const untilMs = performance.now() + this.options.retrySeconds * 1_000;
    return { allows: () => false, delayMs: 0, unknown: { why: `robots.txt: ${why}`, untilMs } };
  }
}
