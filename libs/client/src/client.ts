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
import { VisitedSet, type PageOptions } from './visited-set.js';

/** Where the service is, and how it is asked. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:3000`, which is the default; a path is kept. */
  readonly url?: string | URL;
  readonly apiKey?: string | undefined;
  /** How long a call may take with all its repeats, ms (60,000). */
  readonly timeoutMs?: number;
  /** How long one try of a call may take, ms (30,000). */
  readonly attemptMs?: number;
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch;
  /**
   * Called when a call has failed for 2 s and is repeated; once, until a call is answered again (default:
   * `console.warn`).
   */
  readonly onRetry?: (retrying: Retrying) => void;
}

const DEFAULT_URL = 'http://127.0.0.1:3000';
const PAGE = 100;
const MOST_MS = 2 ** 31 - 1;

/** A client of one Unseen service. It keeps no connection of its own, so it need not be closed. */
export class UnseenClient {
  private readonly service: Service;

  constructor(options: ClientOptions = {}) {
    const { url = DEFAULT_URL, apiKey, timeoutMs = 60_000, attemptMs = 30_000 } = options;
    const requests = new Requests({
      url: serviceUrl(url),
      apiKey: apiKey === undefined ? undefined : visible(apiKey),
      timeoutMs: milliseconds('timeoutMs', timeoutMs),
      attemptMs: milliseconds('attemptMs', attemptMs),
      // Browsers call it on the window only.
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      onRetry: options.onRetry ?? (({ message }) => console.warn(`unseen: ${message}`)),
    });
    this.service = { requests, batches: new Batches(requests) };
  }

  /** A visited set by its name. Asks nothing. */
  visitedSet(name: string): VisitedSet {
    return new VisitedSet(this.service, name);
  }

  /** A filter by its name. Asks nothing. */
  filter(name: string): Filter {
    return new Filter(this.service, name);
  }

  /** All visited sets that there are for this caller, by their names. */
  async *visitedSets(options: PageOptions = {}): AsyncGenerator<VisitedSetDescription | LostVisitedSet> {
    for await (const page of this.pages<VisitedSetList>('/v1/visited-sets', options)) yield* page.visitedSets;
  }

  /** All filters that there are for this caller, by their names. */
  async *filters(options: PageOptions = {}): AsyncGenerator<FilterDescription | LostFilter> {
    for await (const page of this.pages<FilterList>('/v1/filters', options)) yield* page.filters;
  }

  /** What a filter or visited set would take. Makes nothing. */
  plan(options: PlanOptions, { signal }: CallOptions = {}): Promise<Plan> {
    return this.service.requests.json({
      method: 'POST',
      path: '/v1/plan',
      json: options,
      repeatable: true,
      signal,
    });
  }

  /** Whether the service and its store can be used. Throws UnavailableError or AnswerError if not. */
  ready({ signal }: CallOptions = {}): Promise<Ready> {
    return this.service.requests.json({ method: 'GET', path: '/readyz', repeatable: false, signal });
  }

  /** Who this client is to the service, and what it may do there. */
  me({ signal }: CallOptions = {}): Promise<Me> {
    return this.service.requests.json({ method: 'GET', path: '/v1/me', repeatable: true, signal });
  }

  /** Makes an API key. It is not repeated: whether an unanswered call made one, `keys` tells. */
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
   * Makes a key in place of another, which ends after an overlap of a day, unless it says otherwise. It is not
   * repeated, as createKey is not. Throws NotFoundError.
   */
  rotateKey(id: string, options: RotateKey = {}, { signal }: CallOptions = {}): Promise<NewKey> {
    return this.service.requests.json({
      method: 'POST',
      path: `/v1/keys/${encodeURIComponent(id)}/rotate`,
      json: options,
      repeatable: false,
      signal,
    });
  }

  /** Makes a key invalid for ever, by its id. Throws NotFoundError. */
  async revokeKey(id: string, { signal }: CallOptions = {}): Promise<void> {
    const path = `/v1/keys/${encodeURIComponent(id)}`;
    await this.service.requests.json({ method: 'DELETE', path, repeatable: true, signal });
  }

  private async *pages<Page extends { next?: string }>(
    path: string,
    { pageSize = PAGE, signal }: PageOptions,
  ): AsyncGenerator<Page> {
    let cursor: string | undefined;
    do {
      const page: Page = await this.service.requests.json<Page>({
        method: 'GET',
        path,
        query: { limit: pageSize, cursor },
        repeatable: true,
        signal,
      });
      yield page;
      cursor = page.next;
    } while (cursor !== undefined);
  }
}

/** Throws TypeError. */
function serviceUrl(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new TypeError(`url must be an http or https URL, such as ${DEFAULT_URL}, not ${shown(text)}`);
  if (url.username !== '' || url.password !== '')
    throw new TypeError('url must have no user in it: what it would send is given as apiKey');
  return url;
}

/** A URL without a password or a token. */
function shown(text: string | URL): string {
  const masked = String(text)
    .replace(/[?#][^]*/, '?***')
    .replace(/[^/\\]+/g, (part) => part.replace(/^[^]*@/, '***@'));
  return JSON.stringify(masked.slice(0, 200));
}

/** An API key as a header takes it. Throws TypeError, without the key: fetch would refuse others, and repeat them. */
function visible(apiKey: string): string {
  const key = apiKey.trim();
  if (/^[\x21-\x7e]*$/.test(key)) return key;
  throw new TypeError(
    'apiKey must be visible ASCII characters, in one line: it has a space, a line break or another character in it',
  );
}

function milliseconds(name: string, value: number): number {
  if (value >= 1 && value <= MOST_MS) return value;
  throw new RangeError(`${name} must be a number from 1 to ${MOST_MS}, not ${value}`);
}
