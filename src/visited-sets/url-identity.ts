import { Inject, Injectable } from '@nestjs/common';
import type { Filter } from '#store';
import {
  compileExplanation,
  compileProfile,
  hostOfKey,
  normaliseProfile,
  type Step,
  type UrlCanonicaliser,
} from '#url-key';
import type { InvalidEntry } from '../batches/batch.js';
import { isLonger, type Discovery } from '../batches/entries.js';
import { Config } from '../config/config.js';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { inSpan } from '../tracing/trace.js';

/** A batch of URLs by identity: parallel arrays of the valid URLs, and why the others are invalid. */
export interface IdentifiedUrls {
  readonly keys: readonly string[];
  /** The valid URLs as the caller sent them, with their payloads. */
  readonly urls: readonly Discovery[];
  /** Each valid URL's index in the batch. */
  readonly places: readonly number[];
  readonly invalid: readonly InvalidEntry[];
}

/** A URL with its key and the rules that changed it, or with the reason why it has no key. */
export type ExplainedUrl = { readonly url: string } & (
  | { readonly key: string; readonly rules: Step[] }
  | { readonly invalid: string }
);

/** A URL's fixed cost, in characters. */
const CHARACTERS_A_URL = 16;
/** The reason for a URL longer than an item may be. It takes precedence over other faults. */
const TOO_LONG = { reason: 'too long' } as const;

/** Matches a text that contains a whole host and the character after it. */
const WHOLE_HOST = /^https?:[/\\]*[^/?#\\]+[/?#\\]/i;

const MOST_PROFILES = 1_000;

/** Applies a visited set's URL profile to its URLs. */
@Injectable()
export class UrlIdentity {
  /** Compiled profiles by generation. */
  private readonly compiled = new Map<string, UrlCanonicaliser>();

  constructor(@Inject(Config) private readonly config: Config) {}

  /** Computes a batch's URL keys. A long batch takes several turns of the event loop. */
  identify(filter: Filter, batch: readonly Discovery[]): Promise<IdentifiedUrls> {
    return inSpan('identity', () => this.keysOf(filter, batch));
  }

  private async keysOf(filter: Filter, batch: readonly Discovery[]): Promise<IdentifiedUrls> {
    const canonicaliser = this.canonicaliserOf(filter);
    const { maxItemBytes } = this.config;
    const keys: string[] = [];
    const urls: Discovery[] = [];
    const places: number[] = [];
    const invalid: InvalidEntry[] = [];
    let work = 0;
    for (let index = 0; index < batch.length; index++) {
      if (work >= PORTION) {
        if (turn.isSpent()) await turn.next();
        work = 0;
      }
      const sent = batch[index] as Discovery;
      const url = typeof sent === 'string' ? sent : sent.url;
      work += CHARACTERS_A_URL + url.length;
      const key = isLonger(url, maxItemBytes) ? TOO_LONG : canonicaliser.key(url);
      if (typeof key !== 'string') {
        invalid.push({ index, reason: key.reason });
        continue;
      }
      keys.push(key);
      urls.push(sent);
      places.push(index);
    }
    return { keys, urls, places, invalid };
  }

  /** Like `identify`, for a few URLs, with the rules. Other work may run between two URLs. */
  async explain(filter: Filter, urls: readonly string[]): Promise<ExplainedUrl[]> {
    const explanationOf = compileExplanation(normaliseProfile(filter.urlProfile));
    const explained: ExplainedUrl[] = [];
    for (const url of urls) {
      if (turn.isSpent()) await turn.next();
      const found = isLonger(url, this.config.maxItemBytes) ? TOO_LONG : explanationOf(url);
      explained.push(
        'reason' in found ? { url, invalid: found.reason } : { url, key: found.key, rules: [...found.steps] },
      );
    }
    return explained;
  }

  /** A host in the spelling of URL keys, from a caller's spelling. Throws VALIDATION_FAILED. */
  hostIn(filter: Filter, text: string): string {
    const host = this.canonicaliserOf(filter).host(text);
    if (typeof host === 'string') return host;
    throw invalid(
      '#/host',
      `host must be a name or an address without scheme, user and port, such as example.org or [2001:db8::1], not ` +
        `${show(text)} (${host.reason})`,
    );
  }

  /**
   * In a set with `perHost`: the host of every URL that begins with this text, or undefined if they have different
   * hosts.
   */
  hostOfPrefix(filter: Filter, prefix: string): string | undefined {
    const [whole] = WHOLE_HOST.exec(prefix) ?? [];
    if (!filter.perHost || whole === undefined) return undefined;
    const key = this.canonicaliserOf(filter).key(whole);
    return typeof key === 'string' ? hostOfKey(key) : undefined;
  }

  private canonicaliserOf({ generation, urlProfile }: Filter): UrlCanonicaliser {
    let canonicaliser = this.compiled.get(generation);
    if (canonicaliser === undefined) {
      if (this.compiled.size >= MOST_PROFILES) this.compiled.clear();
      canonicaliser = compileProfile(normaliseProfile(urlProfile));
      this.compiled.set(generation, canonicaliser);
    }
    return canonicaliser;
  }
}
