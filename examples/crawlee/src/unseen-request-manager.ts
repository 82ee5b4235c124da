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
import { isByUrl, isMarked, keyByUrl, markedKey, withKey, withoutFragment } from './identity.js';
import { Journal, type Entry } from './journal.js';

/** When a URL is marked as seen. */
export type Mark =
  /** When it is added: of all crawlers that share the set, one fetches it. */
  | 'scheduled'
  /** When it was handled with success: two crawlers may fetch it at once, and nothing has to be taken back. */
  | 'handled';

export interface UnseenRequestManagerOptions {
  /** The set, which `open` creates: its name, its capacity, and what else it is made with. */
  readonly set: CreateVisitedSet;
  /** Where the service is, and the API key. */
  readonly service?: ClientOptions;
  /** `scheduled` if absent. */
  readonly mark?: Mark;
  /** What holds the requests. Crawlee's default queue if absent. */
  readonly queue?: RequestQueue;
  /**
   * Hand out at once what an earlier process was working on when it was killed: Crawlee waits for minutes, since another process
   * might still have it. Only for a queue that no other process uses.
   */
  readonly isOnlyUser?: boolean;
}

/** What the queue says of a request that was added. */
type Added = AddRequestsBatchedResult['addedRequests'][number];

/** Where requests of one call go, and how many of them may be new. */
interface Adding {
  readonly forefront: boolean;
  left: number;
  readonly overLimit: Source[];
}

/** Idempotency keys are kept for a day. An entry that is older cannot be repeated under its key. */
const REPEATABLE_MS = 23 * 3_600_000;

/**
 * A request manager of Crawlee that asks Unseen which URLs are new, and holds those in a request queue.
 *
 * Requests that are more than their URL are left to the queue alone: with a `uniqueKey` of their own, with another method than
 * GET, with a fragment that counts.
 */
export class UnseenRequestManager implements IRequestManager {
  /** Calls that are adding requests. */
  private adding = 0;
  /** Entries of the journal that nobody works on: of an earlier process, or of a call that failed. */
  private readonly unsettled: Entry[] = [];
  /** What failed for good here, by URL. It is unseen again, but not for this run. */
  private readonly failed = new Set<string>();
  /** Start pages of this run, by the keys of their requests, and all URLs that the queue had when it was opened. */
  private readonly starts = new Set<string>();
  private readonly left = new Set<string>();
  /** Why requests could not be added while nobody waited for it. */
  private failure: { readonly error: unknown } | undefined;

  private constructor(
    /** The queue below, for what is no business of Unseen's, such as `getInfo` and `drop`. */
    readonly queue: RequestQueue,
    private readonly set: VisitedSet,
    private readonly mark: Mark,
    private readonly journal: Journal,
  ) {}

  /** Creates the set, if there is none, and queues what an earlier process left half done. */
  static async open(options: UnseenRequestManagerOptions): Promise<UnseenRequestManager> {
    const { set, service, mark = 'scheduled' } = options;
    if (!MARKS.includes(mark))
      throw new TypeError(`mark must be one of ${MARKS.join(', ')}, not ${String(mark)}`);
    const { name, ...made } = set;
    const visited = new UnseenClient(service).visitedSet(name);
    await visited.create(made);
    const queue = options.queue ?? (await RequestQueue.open());
    // The store of the queue's name is kept, or purged at the start, when the queue is.
    const journal = new Journal(await KeyValueStore.open(queue.name ?? null), name);
    const manager = new UnseenRequestManager(queue, visited, mark, journal);
    manager.unsettled.push(...(await journal.left()));
    await manager.settleAll();
    await manager.takeOver(options.isOnlyUser ?? false);
    return manager;
  }

  /**
   * Adds start pages: each is fetched in each run, to find what is new, and marked as seen. One that the queue has anyway, since an
   * earlier run was interrupted, is not added.
   */
  async addStarts(sources: readonly (Source | string)[]): Promise<void> {
    const requests = sources.map(requestOf).filter(({ url }) => !this.left.has(keyByUrl(url)));
    const starts = requests.map((request) => withKey(request, markedKey(request, `start-${randomUUID()}`)));
    for (const [i, { uniqueKey }] of starts.entries()) {
      this.starts.add(uniqueKey);
      this.left.add(keyByUrl((requests[i] as Request).url));
    }
    await this.whileAdding(async () => {
      if (this.mark === 'scheduled') await this.visit(starts.map(({ url }) => url));
      await this.enqueue(starts, { forefront: false, left: Infinity, overLimit: [] });
    });
  }

  isStart({ uniqueKey }: Request): boolean {
    return this.starts.has(uniqueKey);
  }

  /**
   * The manager as the type of the crawler's option `requestQueue`. The option takes any object that fetches and adds requests,
   * though its type names a class. `requestManager`, whose type fits, is refused by Crawlee 3.18 when it runs.
   */
  asRequestQueue(): RequestProvider {
    return this as IRequestManager as RequestProvider;
  }

  /** Makes URLs unseen, for all crawlers of the set, so that they are fetched when they are found again. */
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
    if (added === undefined) throw new Error(`the request queue has not taken ${request.url}`);
    return { ...added, forefront };
  }

  /**
   * Resolves when the first 1,000 requests are added. The rest follows in the background, unless `waitForAllRequestsToBeAdded` or
   * `maxNewRequests` is given, as with Crawlee's own queue. If the rest cannot be added, the crawler's run fails.
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
   * Crawlee calls it when a request is over, whether it was handled, failed for good or was skipped; the request's state says
   * which. The marks come first: a process that ends in between handles the request once more, and loses nothing.
   */
  async markRequestHandled(request: Request): Promise<RequestQueueOperationInfo | null> {
    const own = this.isStart(request) ? [request.url] : [];
    if (wasFetched(request)) await this.visit([...own, ...urlsToMark(request)]);
    else if (isMarked(request)) await this.forgetFailed(request);
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

  /** Rejects if requests could not be added while nobody waited for it, since pages would be missing. */
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

  /** The crawler sets it on its queue. */
  get internalTimeoutMillis(): number {
    return this.queue.internalTimeoutMillis;
  }

  set internalTimeoutMillis(ms: number) {
    this.queue.internalTimeoutMillis = ms;
  }

  /** The crawler sets it on its queue, by the time that its handler has. */
  get requestLockSecs(): number {
    return this.queue.requestLockSecs;
  }

  set requestLockSecs(seconds: number) {
    this.queue.requestLockSecs = seconds;
  }

  /** Adds blocks as they are asked for. */
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
    const added = this.mark === 'handled' ? this.addUnseen(asked, adding) : this.schedule(asked, adding);
    return [...queued, ...failed, ...(await added)];
  }

  /** `handled`: asks, and marks nothing. */
  private async addUnseen(requests: readonly Request[], adding: Adding): Promise<Added[]> {
    const { seen, others } = await this.check(requests);
    return [...seen.map(present), ...(await this.enqueue(others, adding))];
  }

  /** `scheduled`: marks no more than may be added, since nobody would fetch the rest. */
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

  /** Marks the requests of an entry, and queues those that are new. An entry that fails is settled later. */
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
        // Unseen has decided: the queue, which knows what it handled before that was forgotten, must not decide again.
        if (result === 'new') fresh.push(withKey(request, markedKey(request, `${key}.${i}`)));
        else if (result === 'seen') added.push(present(request));
        else invalid.push(request);
      }
      added.push(...(await this.enqueue(fresh, adding)));
    } catch (error) {
      this.unsettled.push(entry);
      throw error;
    }
    try {
      // What Unseen takes for no URL, such as one that is too long, is the queue's to refuse: now, and not once more later.
      return [...added, ...(await this.enqueue(invalid, adding))];
    } finally {
      await this.journal.remove(entry);
    }
  }

  /** Of an entry whose key is too old nobody can say what was new: rather fetch a page twice than never. */
  private async visitOnce({ key, writtenAt, requests }: Entry): Promise<('new' | 'seen' | 'invalid')[]> {
    const urls = requests.map(({ url }) => url);
    const isRepeatable = Date.now() - writtenAt < REPEATABLE_MS;
    const results = await this.set.visit(urls, isRepeatable ? { idempotencyKey: key } : {});
    return isRepeatable ? results : results.map((result) => (result === 'seen' ? 'new' : result));
  }

  /** Learns what the queue has. */
  private async takeOver(isOnlyUser: boolean): Promise<void> {
    const { client } = this.queue;
    const { items } = await client.listHead({ limit: Number.MAX_SAFE_INTEGER });
    for (const { id, url } of items) {
      this.left.add(keyByUrl(url));
      // It throws for what is not locked.
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
      throw new Error('the request queue has not taken all requests');
    adding.left -= addedRequests.filter(({ wasAlreadyPresent }) => !wasAlreadyPresent).length;
    adding.overLimit.push(...requestsOverLimit);
    return addedRequests;
  }

  private async visit(urls: readonly string[]): Promise<void> {
    // One by one: pages that are finished in the same moment travel together.
    await Promise.all(urls.map((url) => this.set.visit(url)));
  }

  /** The key is the request's own, so that a page that fails again after a crash is taken out once. */
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

const MARKS: readonly string[] = ['scheduled', 'handled'] satisfies Mark[];

/** Failed requests are over, too. So are those that robots.txt forbids: they were never loaded. */
function wasFetched({ state, loadedUrl }: Request): boolean {
  if (state === RequestState.SKIPPED) return loadedUrl !== undefined;
  return state !== RequestState.ERROR_HANDLER;
}

/** Of a request that was handled: its URL, unless it is marked, and where it was redirected to. */
function urlsToMark(request: Request): string[] {
  const urls: string[] = [];
  if (isByUrl(request)) urls.push(request.url);
  else if (!isMarked(request)) return [];
  const { url, loadedUrl, state } = request;
  // A page that was skipped after a redirect was not handled.
  if (loadedUrl === undefined || state === RequestState.SKIPPED) return urls;
  return withoutFragment(loadedUrl) === withoutFragment(url) ? urls : [...urls, loadedUrl];
}

/** What is answered for a request that is not queued. */
function present({ uniqueKey }: Request): Added {
  return { uniqueKey, requestId: getRequestId(uniqueKey), wasAlreadyPresent: true, wasAlreadyHandled: true };
}

function requestOf(source: Source | string): Request {
  const options = typeof source === 'string' ? { url: source } : source;
  if ('requestsFromUrl' in options)
    throw new TypeError(
      `lists are not fetched: fetch ${options.requestsFromUrl} with downloadListOfUrls, and add its URLs`,
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
