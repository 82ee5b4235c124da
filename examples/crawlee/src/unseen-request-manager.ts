import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  getRequestId,
  KeyValueStore,
  Request,
  RequestQueue,
  RequestState,
  type AddRequestsBatchedOptions,
  type AddRequestsBatchedResult,
  type Dictionary,
  type IRequestManager,
  type RequestProvider,
  type RequestQueueOperationInfo,
  type RequestQueueOperationOptions,
  type RequestsLike,
  type Source,
} from '@crawlee/cheerio';
import {
  MOST_ENTRIES,
  UnseenClient,
  type ClientOptions,
  type CreateVisitedSet,
  type VisitedSet,
} from 'unseen-client';
import { isByUrl, isVisited, keyByUrl, visitedKey, withKey, withoutFragment } from './identity.js';
import { Journal, type Entry } from './journal.js';

/** When a URL becomes visited. */
export type VisitedWhen =
  /** When it is added: if several crawlers share the set, only one fetches it. */
  | 'scheduled'
  /**
   * When its page was handled successfully: two crawlers may fetch it at the same time, and failures change nothing.
   */
  | 'handled';

export interface UnseenRequestManagerOptions {
  /** The set, which `open` creates: its name, capacity, and other options. */
  readonly set: CreateVisitedSet;
  /** The service's URL, and the API key. */
  readonly service?: ClientOptions;
  /** Default: `scheduled`. */
  readonly visitedWhen?: VisitedWhen;
  /** The queue for the requests. By default, Crawlee's default queue. */
  readonly queue?: RequestQueue;
  /**
   * Releases requests that a killed process has locked. Crawlee waits minutes for such locks, because another process
   * might hold them. Use this only if no other process uses the queue.
   */
  readonly isOnlyUser?: boolean;
}

/** What the queue returns for an added request. */
type Added = AddRequestsBatchedResult['addedRequests'][number];

/** One call's options, and how many new requests it may still add. */
interface Adding {
  readonly forefront: boolean;
  left: number;
  readonly overLimit: Source[];
}

/** The service stores Idempotency-Keys for a day, so older entries can't be repeated with the same keys. */
const REPEATABLE_MS = 23 * 3_600_000;

/**
 * A request manager for Crawlee that asks Unseen which URLs are new and adds those to a request queue.
 *
 * Doesn't check requests that are more than a URL, which are those with their own `uniqueKey`, with a method other than
 * GET, or with a fragment that counts. Only the queue handles such requests.
 */
export class UnseenRequestManager implements IRequestManager {
  /** How many calls are adding requests. */
  private adding = 0;
  /** Journal entries that an earlier process or a failed call left. */
  private readonly unsettled: Entry[] = [];
  /** Keys of URLs that failed permanently. They are unseen again, but this run doesn't retry them. */
  private readonly failed = new Set<string>();
  /** Keys of this run's start pages. `left` has the keys of all URLs in the queue when it was opened. */
  private readonly starts = new Set<string>();
  private readonly left = new Set<string>();
  /** The error of requests that could not be added in the background. */
  private failure: { readonly error: unknown } | undefined;

  private constructor(
    /** The request queue, for calls such as `getInfo` and `drop`. */
    readonly queue: RequestQueue,
    private readonly set: VisitedSet,
    private readonly visitedWhen: VisitedWhen,
    private readonly journal: Journal,
  ) {}

  /** Creates the set if it doesn't exist, and finishes an earlier process's journal entries. */
  static async open(options: UnseenRequestManagerOptions): Promise<UnseenRequestManager> {
    const { set, service, visitedWhen = 'scheduled' } = options;
    if (!VISITED_WHEN.includes(visitedWhen))
      throw new TypeError(
        `visitedWhen must be one of ${VISITED_WHEN.join(', ')}, not ${String(visitedWhen)}`,
      );
    const { name, ...made } = set;
    const visited = new UnseenClient(service).visitedSet(name);
    await visited.create(made);
    const queue = options.queue ?? (await RequestQueue.open());
    // Crawlee purges or keeps a store together with the queue that has the same name.
    const journal = new Journal(await KeyValueStore.open(queue.name ?? null), name);
    const manager = new UnseenRequestManager(queue, visited, visitedWhen, journal);
    manager.unsettled.push(...(await journal.left()));
    await manager.settleAll();
    await manager.takeOver(options.isOnlyUser ?? false);
    return manager;
  }

  /**
   * Adds start pages, which every run fetches to find new links. Skips a start page that is still in an interrupted
   * run's queue.
   */
  async addStarts(sources: readonly (Source | string)[]): Promise<void> {
    const requests = sources.map(requestOf).filter(({ url }) => !this.left.has(keyByUrl(url)));
    const starts = requests.map((request) => withKey(request, visitedKey(request, `start-${randomUUID()}`)));
    for (const [i, { uniqueKey }] of starts.entries()) {
      this.starts.add(uniqueKey);
      this.left.add(keyByUrl((requests[i] as Request).url));
    }
    await this.whileAdding(async () => {
      if (this.visitedWhen === 'scheduled') await this.visit(starts.map(({ url }) => url));
      await this.enqueue(starts, { forefront: false, left: Infinity, overLimit: [] });
    });
  }

  isStart({ uniqueKey }: Request): boolean {
    return this.starts.has(uniqueKey);
  }

  /**
   * The manager, typed for the crawler's option `requestQueue`. At run time, the option accepts any object with the
   * right methods. Crawlee 3.18 rejects `requestManager` at run time, although its type fits.
   */
  asRequestQueue(): RequestProvider {
    return this as IRequestManager as RequestProvider;
  }

  /** Forgets URLs for all the set's crawlers, so they are fetched when a crawler finds them again. */
  async forget(urls: readonly string[]): Promise<('forgotten' | 'absent' | 'saturated' | 'invalid')[]> {
    const results = await this.set.forget(urls);
    for (const url of urls) this.failed.delete(keyByUrl(url));
    return results;
  }

  async addRequest(
    source: Source,
    { forefront = false }: RequestQueueOperationOptions = {},
  ): Promise<RequestQueueOperationInfo> {
    const request = requestOf(source);
    const adding = { forefront, left: Infinity, overLimit: [] };
    const [added] = await this.whileAdding(() => this.addBlock([request], adding));
    if (added === undefined) throw new Error(`the request queue did not accept ${request.url}`);
    return { ...added, forefront };
  }

  /**
   * Resolves when the first 1,000 requests were added, and adds the rest in the background, as Crawlee's own queue
   * does. With `waitForAllRequestsToBeAdded` or `maxNewRequests`, waits for all. If the rest can't be added, the run
   * fails.
   */
  async addRequestsBatched(
    requests: RequestsLike,
    options: AddRequestsBatchedOptions = {},
  ): Promise<AddRequestsBatchedResult> {
    const { forefront = false, waitForAllRequestsToBeAdded = false, maxNewRequests } = options;
    const adding: Adding = { forefront, left: maxNewRequests ?? Infinity, overLimit: [] };
    const blocks = this.addBlocks(requests, adding, options);
    const first = await this.whileAdding(() => blocks.next());
    const addedRequests = first.done === true ? [] : first.value;
    const rest = this.whileAdding(() => collect(blocks));
    if (waitForAllRequestsToBeAdded || maxNewRequests !== undefined) addedRequests.push(...(await rest));
    else rest.catch((error: unknown) => (this.failure ??= { error }));
    return { addedRequests, waitForAllRequestsToBeAdded: rest, requestsOverLimit: adding.overLimit };
  }

  /**
   * Visits or forgets a request's URLs, then marks it as handled in the queue. If the process is killed in between, the
   * request is handled again and nothing is lost. Crawlee calls this when a request was handled, has failed
   * permanently, or was skipped. The request's state tells which.
   */
  async markRequestHandled(request: Request): Promise<RequestQueueOperationInfo | null> {
    const own = this.isStart(request) ? [request.url] : [];
    if (wasFetched(request)) await this.visit([...own, ...urlsToMark(request)]);
    else if (isVisited(request)) await this.forgetFailed(request);
    return this.queue.markRequestHandled(request);
  }

  async reclaimRequest(
    request: Request,
    options?: RequestQueueOperationOptions,
  ): Promise<RequestQueueOperationInfo | null> {
    return this.queue.reclaimRequest(request, options);
  }

  async fetchNextRequest<T extends Dictionary = Dictionary>(): Promise<Request<T> | null> {
    return this.queue.fetchNextRequest<T>();
  }

  /** Rejects if requests could not be added in the background, because pages would be missing. */
  async isFinished(): Promise<boolean> {
    if (this.failure !== undefined) throw this.failure.error;
    await this.settleAll();
    return this.adding === 0 && this.queue.isFinished();
  }

  async isEmpty(): Promise<boolean> {
    return this.queue.isEmpty();
  }

  async handledCount(): Promise<number> {
    return this.queue.handledCount();
  }

  getTotalCount(): number {
    return this.queue.getTotalCount();
  }

  getPendingCount(): number {
    return this.queue.getPendingCount();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Request> {
    yield* this.queue;
  }

  /** The crawler sets this on its queue. */
  get internalTimeoutMillis(): number {
    return this.queue.internalTimeoutMillis;
  }

  set internalTimeoutMillis(ms: number) {
    this.queue.internalTimeoutMillis = ms;
  }

  /** The crawler sets this on its queue, from its handler's time limit. */
  get requestLockSecs(): number {
    return this.queue.requestLockSecs;
  }

  set requestLockSecs(seconds: number) {
    this.queue.requestLockSecs = seconds;
  }

  /** Adds one block for each step of the generator. */
  private async *addBlocks(
    sources: RequestsLike,
    adding: Adding,
    { batchSize = MOST_ENTRIES, waitBetweenBatchesMillis = 1_000 }: AddRequestsBatchedOptions,
  ): AsyncGenerator<Added[], undefined> {
    if (!(batchSize >= 1)) throw new RangeError(`batchSize must be a number of at least 1, not ${batchSize}`);
    let isFirst = true;
    for await (const block of blocksOf(sources, Math.min(batchSize, MOST_ENTRIES))) {
      if (!isFirst && adding.left > 0) await sleep(waitBetweenBatchesMillis);
      isFirst = false;
      yield await this.addBlock(block, adding);
    }
  }

  private async addBlock(block: readonly Request[], adding: Adding): Promise<Added[]> {
    await this.settleAll();
    const byUrl = block.filter(isByUrl);
    const others = block.filter((request) => !isByUrl(request));
    const queued = await this.enqueue(others, adding);
    if (byUrl.length === 0) return queued;
    const asked = byUrl.filter(({ uniqueKey }) => !this.failed.has(uniqueKey));
    const failed = byUrl.filter(({ uniqueKey }) => this.failed.has(uniqueKey)).map(present);
    const added =
      this.visitedWhen === 'handled' ? this.addUnseen(asked, adding) : this.schedule(asked, adding);
    return [...queued, ...failed, ...(await added)];
  }

  /** `handled`: checks URLs without visiting them. */
  private async addUnseen(requests: readonly Request[], adding: Adding): Promise<Added[]> {
    const { seen, others } = await this.check(requests);
    return [...seen.map(present), ...(await this.enqueue(others, adding))];
  }

  /** `scheduled`: visits no more URLs than may be added, because no run would fetch any further ones. */
  private async schedule(requests: readonly Request[], adding: Adding): Promise<Added[]> {
    if (requests.length <= adding.left) return this.markAndQueue(requests, adding);
    const { seen, others } = await this.check(requests);
    const added = seen.map(present);
    while (others.length > 0 && adding.left > 0)
      added.push(...(await this.markAndQueue(others.splice(0, adding.left), adding)));
    adding.overLimit.push(...others);
    return added;
  }

  private async markAndQueue(requests: readonly Request[], adding: Adding): Promise<Added[]> {
    if (requests.length === 0) return [];
    const added = await this.settle(await this.journal.write(requests, adding.forefront));
    adding.left -= added.filter(({ wasAlreadyPresent }) => !wasAlreadyPresent).length;
    return added;
  }

  /** Visits an entry's URLs and queues the new ones. An entry that fails is settled later. */
  private async settle(entry: Entry): Promise<Added[]> {
    const { key, forefront, requests } = entry;
    const adding = { forefront, left: Infinity, overLimit: [] };
    const added: Added[] = [];
    const invalid: Request[] = [];
    try {
      const fresh: Request[] = [];
      for (const [i, result] of (await this.visitOnce(entry)).entries()) {
        const request = requests[i];
        if (request === undefined) continue;
        // Unseen decides which requests are new. The queue still contains handled requests whose URLs were forgotten,
        // so each new request gets its own key.
        if (result === 'new') fresh.push(withKey(request, visitedKey(request, `${key}.${i}`)));
        else if (result === 'seen') added.push(present(request));
        else invalid.push(request);
      }
      added.push(...(await this.enqueue(fresh, adding)));
    } catch (error) {
      this.unsettled.push(entry);
      throw error;
    }
    try {
      // The queue rejects URLs that Unseen doesn't accept, such as overlong ones. It does so once, now.
      return [...added, ...(await this.enqueue(invalid, adding))];
    } finally {
      await this.journal.remove(entry);
    }
  }

  /**
   * Visits an entry's URLs under its key. If the key is too old, the answer is lost, so all URLs count as new. Fetching a
   * page twice is better than never fetching it.
   */
  private async visitOnce({ key, writtenAt, requests }: Entry): Promise<('new' | 'seen' | 'invalid')[]> {
    const urls = requests.map(({ url }) => url);
    const isRepeatable = Date.now() - writtenAt < REPEATABLE_MS;
    const results = await this.set.visit(urls, isRepeatable ? { idempotencyKey: key } : {});
    return isRepeatable ? results : results.map((result) => (result === 'seen' ? 'new' : result));
  }

  /** Reads the URLs in the queue. */
  private async takeOver(isOnlyUser: boolean): Promise<void> {
    const { client } = this.queue;
    const { items } = await client.listHead({ limit: Number.MAX_SAFE_INTEGER });
    for (const { id, url } of items) {
      this.left.add(keyByUrl(url));
      // Throws if the request isn't locked.
      if (isOnlyUser) await client.deleteRequestLock(id).catch(() => undefined);
    }
  }

  private async settleAll(): Promise<void> {
    if (this.unsettled.length === 0) return;
    await this.whileAdding(async () => {
      for (let entry = this.unsettled.shift(); entry; entry = this.unsettled.shift())
        await this.settle(entry);
    });
  }

  private async check(requests: readonly Request[]): Promise<{ seen: Request[]; others: Request[] }> {
    const results = requests.length === 0 ? [] : await this.set.check(requests.map(({ url }) => url));
    return {
      seen: requests.filter((_, i) => results[i] === 'seen'),
      others: requests.filter((_, i) => results[i] !== 'seen'),
    };
  }

  private async enqueue(requests: readonly Request[], adding: Adding): Promise<Added[]> {
    if (requests.length === 0) return [];
    const { addedRequests, requestsOverLimit = [] } = await this.queue.addRequestsBatched([...requests], {
      forefront: adding.forefront,
      waitForAllRequestsToBeAdded: true,
      waitBetweenBatchesMillis: 0,
      ...(adding.left !== Infinity && { maxNewRequests: adding.left }),
    });
    if (
      addedRequests.length + requestsOverLimit.length <
      new Set(requests.map(({ uniqueKey }) => uniqueKey)).size
    )
      throw new Error('the request queue did not accept all requests');
    adding.left -= addedRequests.filter(({ wasAlreadyPresent }) => !wasAlreadyPresent).length;
    adding.overLimit.push(...requestsOverLimit);
    return addedRequests;
  }

  private async visit(urls: readonly string[]): Promise<void> {
    // Single calls, which the client combines with the calls for other pages.
    await Promise.all(urls.map((url) => this.set.visit(url)));
  }

  /** Forgets a failed page. Its key comes from the request, so a crash doesn't make it forget the page twice. */
  private async forgetFailed(request: Request): Promise<void> {
    this.failed.add(keyByUrl(request.url));
    await this.set.forget(request.url, { idempotencyKey: `failed-${getRequestId(request.uniqueKey)}` });
  }

  private async whileAdding<T>(add: () => Promise<T>): Promise<T> {
    this.adding++;
    try {
      return await add();
    } finally {
      this.adding--;
    }
  }
}

const VISITED_WHEN: readonly string[] = ['scheduled', 'handled'] satisfies VisitedWhen[];

/**
 * Whether the page was fetched. If so, it hasn't failed, and wasn't skipped before it was loaded, for example because
 * of robots.txt.
 */
function wasFetched({ state, loadedUrl }: Request): boolean {
  if (state === RequestState.SKIPPED) return loadedUrl !== undefined;
  return state !== RequestState.ERROR_HANDLER;
}

/**
 * The URLs to visit for a handled request. They are its own URL, unless it is already visited, and its redirect's
 * target.
 */
function urlsToMark(request: Request): string[] {
  const urls: string[] = [];
  if (isByUrl(request)) urls.push(request.url);
  else if (!isVisited(request)) return [];
  const { url, loadedUrl, state } = request;
  // A page that was skipped after a redirect was not handled.
  if (loadedUrl === undefined || state === RequestState.SKIPPED) return urls;
  return withoutFragment(loadedUrl) === withoutFragment(url) ? urls : [...urls, loadedUrl];
}

/** The answer for a request that isn't queued. */
function present({ uniqueKey }: Request): Added {
  return { uniqueKey, requestId: getRequestId(uniqueKey), wasAlreadyPresent: true, wasAlreadyHandled: true };
}

function requestOf(source: Source | string): Request {
  const options = typeof source === 'string' ? { url: source } : source;
  if ('requestsFromUrl' in options)
    throw new TypeError(
      `requestsFromUrl is not supported: fetch ${options.requestsFromUrl} with downloadListOfUrls and add its URLs`,
    );
  const { url } = options;
  if (url === undefined || !isHttpUrl(url))
    throw new TypeError(`a request must have an http or https URL, not ${JSON.stringify(url)}`);
  return options instanceof Request ? options : new Request({ ...options, url });
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

async function* blocksOf(sources: RequestsLike, size: number): AsyncGenerator<Request[]> {
  let block: Request[] = [];
  for await (const source of sources) {
    block.push(requestOf(source));
    if (block.length < size) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

async function collect(blocks: AsyncIterable<Added[]>): Promise<Added[]> {
  const all: Added[] = [];
  for await (const block of blocks) for (const added of block) all.push(added);
  return all;
}
