import type {
  CreateKey,
  Filter as FilterDescription,
  FilterList,
  KeyList,
  ListedKey,
  LostFilter,
  LostVisitedSet,
  Me,
  NewKey,
  Plan,
  PlanOptions,
  Ready,
  RotateKey,
  VisitedSet as VisitedSetDescription,
  VisitedSetList,
} from './api-types.js';
import { Batches, type CallOptions } from './batches.js';
import { Filter } from './filter.js';
import type { Service } from './handle.js';
import { Requests, type Retrying } from './requests.js';
import { pagesOf, type PageOptions } from './pages.js';
import { ISSUED, partOfPath } from './path.js';
import { VisitedSet } from './visited-set.js';

/** Client options. */
export interface ClientOptions {
  /** URL of the service. Default: `http://127.0.0.1:3000`. A path in the URL is kept. */
  readonly url?: string | URL;
  readonly apiKey?: string | undefined;
  /** Time limit for a call with all its retries, in ms. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Time limit for one attempt, in ms. Default: 30,000. */
  readonly attemptMs?: number;
  /** Used instead of the platform's `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * Called once when a call has been retried for 2 s, and then not again until a call succeeds. Default: prints the
   * message with `console.warn`, with control characters and invisible ones escaped.
   */
  readonly onRetry?: (retrying: Retrying) => void;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';
const MOST_MS = 2 ** 31 - 1;

/** A client for one Unseen service. It has no connection of its own, so you don't have to close it. */
export class UnseenClient {
  private readonly service: Service;

  constructor(options: ClientOptions = {}) {
    const { url = DEFAULT_URL, apiKey, timeoutMs = 60_000, attemptMs = 30_000 } = options;
    const requests = new Requests({
      url: serviceUrl(url),
      apiKey: apiKey === undefined ? undefined : visible(apiKey),
      timeoutMs: milliseconds('timeoutMs', timeoutMs),
      attemptMs: milliseconds('attemptMs', attemptMs),
      // Wraps fetch, because browsers throw if it is called as a method of another object.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      onRetry: options.onRetry ?? (({ message }) => console.warn(`unseen: ${oneLine(message)}`)),
    });
    this.service = { requests, batches: new Batches(requests) };
  }

  /** Returns a handle on a visited set. Doesn't call the service. */
  visitedSet(name: string): VisitedSet {
    return new VisitedSet(this.service, name);
  }

  /** Returns a handle on a filter. Doesn't call the service. */
  filter(name: string): Filter {
    return new Filter(this.service, name);
  }

  /** Lists all visited sets that the API key can access, sorted by name. */
  async *visitedSets(options: PageOptions = {}): AsyncGenerator<VisitedSetDescription | LostVisitedSet> {
    for await (const page of pagesOf<VisitedSetList>(this.service.requests, '/v1/visited-sets', options))
      yield* page.visitedSets;
  }

  /** Lists all filters that the API key can access, sorted by name. */
  async *filters(options: PageOptions = {}): AsyncGenerator<FilterDescription | LostFilter> {
    for await (const page of pagesOf<FilterList>(this.service.requests, '/v1/filters', options))
      yield* page.filters;
  }

  /** Returns the memory and layers that a filter or visited set would need. Creates nothing. */
  plan(options: PlanOptions, { signal }: CallOptions = {}): Promise<Plan> {
    return this.service.requests.json({
      method: 'POST',
      path: '/v1/plan',
      json: options,
      repeatable: true,
      signal,
    });
  }

  /** Checks whether the service and its store are available. Throws UnavailableError or AnswerError if not. */
  ready({ signal }: CallOptions = {}): Promise<Ready> {
    return this.service.requests.json({ method: 'GET', path: '/readyz', repeatable: false, signal });
  }

  /** Returns the API key's identity and permissions. */
  me({ signal }: CallOptions = {}): Promise<Me> {
    return this.service.requests.json({ method: 'GET', path: '/v1/me', repeatable: true, signal });
  }

  /** Creates an API key. If the call gets no answer, the client doesn't retry it. Look for the key with `keys`. */
  createKey(key: CreateKey, { signal }: CallOptions = {}): Promise<NewKey> {
    return this.service.requests.json({
      method: 'POST',
      path: '/v1/keys',
      json: key,
      repeatable: false,
      signal,
    });
  }

  async keys({ signal }: CallOptions = {}): Promise<ListedKey[]> {
    const { keys } = await this.service.requests.json<KeyList>({
      method: 'GET',
      path: '/v1/keys',
      repeatable: true,
      signal,
    });
    return keys;
  }

  /**
   * Creates a successor for an API key. The old key stays valid for a day, unless the options say otherwise. If the
   * call gets no answer, the client doesn't retry it. Throws NotFoundError.
   */
  async rotateKey(id: string, options: RotateKey = {}, { signal }: CallOptions = {}): Promise<NewKey> {
    return this.service.requests.json({
      method: 'POST',
      path: `${keyPath(id)}/rotate`,
      json: options,
      repeatable: false,
      signal,
    });
  }

  /** Permanently revokes an API key by its id. Throws NotFoundError. */
  async revokeKey(id: string, { signal }: CallOptions = {}): Promise<void> {
    await this.service.requests.json({ method: 'DELETE', path: keyPath(id), repeatable: true, signal });
  }
}

/** Throws PathError. */
function keyPath(id: string): string {
  return `/v1/keys/${partOfPath(id, ISSUED)}`;
}

/** Throws TypeError. */
function serviceUrl(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new TypeError(`url must be an http or https URL, such as ${DEFAULT_URL}, not ${shown(text)}`);
  if (url.username !== '' || url.password !== '')
    throw new TypeError('url must not contain a user or a password: pass the API key as apiKey');
  return url;
}

/** Shows a URL without passwords and tokens. */
function shown(text: string | URL): string {
  const masked = String(text)
    .replace(/[?#][^]*/, '?***')
    .replace(/[^/\\]+/g, (part) => part.replace(/^[^]*@/, '***@'));
  return JSON.stringify(masked.slice(0, 200));
}

/**
 * Checks that a header can contain the API key. Throws a TypeError that doesn't show the key, because fetch's error
 * would.
 */
function visible(apiKey: string): string {
  const key = apiKey.trim();
  if (/^[\x21-\x7e]*$/.test(key)) return key;
  throw new TypeError('apiKey must contain only visible ASCII characters, without spaces or line breaks');
}

/** A text that is safe on a terminal: the service, or a gateway, may have sent a part of it. */
function oneLine(text: string): string {
  return text.replace(
    /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`,
  );
}

function milliseconds(name: string, value: number): number {
  if (value >= 1 && value <= MOST_MS) return value;
  throw new RangeError(`${name} must be a number from 1 to ${MOST_MS}, not ${value}`);
}
