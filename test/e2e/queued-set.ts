import { expect } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from '../support/app.js';

const SETS = '/v1/visited-sets';

interface Queued {
  readonly id: string;
  readonly url: string;
  readonly payload?: string;
  readonly state: string;
  readonly attempt: number;
  readonly queuedAt?: string;
  readonly dueAt?: string;
  readonly reason?: string;
  readonly host?: string;
}

interface Page {
  readonly urls: Queued[];
  readonly next?: string;
}

export interface Dropped {
  readonly matched: number;
  readonly dropped: number;
  readonly forgotten?: number;
  readonly next?: string;
}

/** Some URLs below a path on a host. */
export const urls = (below: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, n) => `https://${below}/${from + n}`);

/** Sorted, because a queue may have several segments. */
export const urlsOf = (entries: readonly { readonly url: string }[]): string[] =>
  entries.map(({ url }) => url).sort();

export const idsOf = (entries: readonly { readonly id: string }[]): string[] => entries.map(({ id }) => id);

/** The API of a visited set whose queue is listed and pruned. */
export class QueuedSet {
  private constructor(
    private readonly app: TestApp,
    readonly name: string,
  ) {}

  static async create(app: TestApp, more: object = {}): Promise<QueuedSet> {
    const set = new QueuedSet(app, freshName('q'));
    // The error rate is so low that a test meets no false positive.
    const spec = { name: set.name, capacity: 20_000, errorRate: 1e-9, ...more };
    expect(await call(app, 'POST', SETS, spec)).toMatchObject({ status: 201 });
    return set;
  }

  /** A set with one URL in each state: `/0` is dead, `/1` delayed, `/2` leased (with this id), and `/3` waits. */
  static async mixed(app: TestApp, more: object = {}): Promise<{ set: QueuedSet; leased: string[] }> {
    const set = await QueuedSet.create(app, { maxAttempts: 1, ...more });
    const [first = '', ...others] = urls('a.example', 4);
    await set.discover({ url: first, payload: 'p' }, ...others);
    const leased = await set.lease(3);
    const idsOf = (n: number): string[] =>
      leased.filter(({ url }) => url.endsWith(`/${n}`)).map(({ id }) => id);
    await set.settle('release', idsOf(0), { reason: 'HTTP 410' });
    await set.settle('release', idsOf(1), { delaySeconds: 3_600, countAttempt: false });
    return { set, leased: idsOf(2) };
  }

  get(route: string, query: Record<string, string> = {}): Promise<Answer> {
    const text = new URLSearchParams(query).toString();
    return call(this.app, 'GET', `${SETS}/${this.name}/${route}?${text}`);
  }

  post(route: string, body: object, key?: string): Promise<Answer> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return call(this.app, 'POST', `${SETS}/${this.name}/${route}`, body, headers);
  }

  async page(query: Record<string, string> = {}): Promise<Page> {
    return answered(await this.get('queue/urls', query)) as Page;
  }

  /** All pages. */
  async list(query: Record<string, string> = {}): Promise<Queued[]> {
    const found: Queued[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.page({ ...query, ...(cursor !== undefined && { cursor }) });
      found.push(...page.urls);
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  }

  async drop(body: object, key?: string): Promise<Dropped> {
    return answered(await this.post('queue/drop', body, key)) as Dropped;
  }

  discover(...sent: (string | object)[]): Promise<string[]> {
    return this.results('urls/discover', { urls: sent });
  }

  check(...sent: string[]): Promise<string[]> {
    return this.results('urls/check', { urls: sent });
  }

  settle(verb: string, ids: readonly string[], more: object = {}): Promise<string[]> {
    return this.results(`queue/${verb}`, { ids, ...more });
  }

  async lease(max = 1_000): Promise<Queued[]> {
    return (answered(await this.post('queue/lease', { max, leaseSeconds: 3_600 })) as Page).urls;
  }

  async deadLetters(): Promise<Queued[]> {
    return (answered(await this.get('queue/dead-letters')) as Page).urls;
  }

  private async results(route: string, body: object): Promise<string[]> {
    return (answered(await this.post(route, body)) as { results: string[] }).results;
  }
}

function answered({ status, body }: Answer): unknown {
  expect({ status, body }).toMatchObject({ status: 200 });
  return body;
}
