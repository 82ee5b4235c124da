import { expect } from '@jest/globals';
import { call, freshName, type Answer, type TestApp } from './app.js';

/** A service's address. */
type Service = Pick<TestApp, 'url'>;

/** A sync as the API shows it. */
export interface SyncBody {
  readonly id: string;
  readonly state: string;
  readonly openedAt: string;
  readonly capacity: number;
  readonly errorRate: number;
  readonly listed: number;
  readonly new: number;
  readonly wouldForget: number;
  readonly items: number;
  readonly memoryBytes: number;
  readonly reason?: string;
}

/** A filter or visited set in a service, and its syncs, as users see them. */
export class Synced {
  readonly path: string;

  private constructor(
    private readonly app: Service,
    readonly kind: 'filters' | 'visited-sets',
    readonly name: string,
  ) {
    this.path = `/v1/${kind}/${name}`;
  }

  static async visitedSet(app: Service, spec: object = {}): Promise<Synced> {
    return Synced.create(app, 'visited-sets', { capacity: 1_000, errorRate: 1e-6, ...spec });
  }

  static async filter(app: Service, spec: object = {}): Promise<Synced> {
    return Synced.create(app, 'filters', { type: 'counting', capacity: 1_000, errorRate: 1e-6, ...spec });
  }

  private static async create(app: Service, kind: Synced['kind'], spec: object): Promise<Synced> {
    const synced = new Synced(app, kind, freshName('s'));
    expect(await call(app, 'POST', `/v1/${kind}`, { name: synced.name, ...spec })).toMatchObject({
      status: 201,
    });
    return synced;
  }

  /** The same filter or set, or one with a different name, through another service. */
  through(app: Service, name = this.name): Synced {
    return new Synced(app, this.kind, name);
  }

  send(method: string, route: string, body?: unknown, key?: string): Promise<Answer> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    return call(this.app, method, `${this.path}${route}`, body, headers);
  }

  async describe(): Promise<{ items: number; sync?: SyncBody } & Record<string, unknown>> {
    return (await ok(this.send('GET', ''))) as { items: number; sync?: SyncBody } & Record<string, unknown>;
  }

  /** A batch's results, from `urls/…` for a visited set and `items/…` for a filter. */
  async batch(verb: string, list: readonly string[]): Promise<unknown[]> {
    const [member, route] = this.kind === 'filters' ? ['items', '/items'] : ['urls', '/urls'];
    const answer = await ok(this.send('POST', `${route}/${verb}`, { [member]: list }));
    return (answer as { results: unknown[] }).results;
  }

  async open(body: object = {}): Promise<SyncBody> {
    return (await ok(this.send('POST', '/syncs', body), 201)) as SyncBody;
  }

  async sync(id: string): Promise<SyncBody> {
    return (await ok(this.send('GET', `/syncs/${id}`))) as SyncBody;
  }

  list(id: string, list: readonly string[], key?: string): Promise<Answer> {
    const member = this.kind === 'filters' ? 'items' : 'urls';
    return this.send('POST', `/syncs/${id}/${member}`, { [member]: list }, key);
  }

  async listed(id: string, list: readonly string[]): Promise<string[]> {
    return ((await ok(this.list(id, list))) as { results: string[] }).results;
  }

  /** Streams lines, and returns the response's parsed lines. */
  async stream(
    id: string,
    lines: readonly string[],
    { query = '', headers = {} }: { query?: string; headers?: Record<string, string> } = {},
  ): Promise<{ status: number; lines: Record<string, unknown>[] }> {
    const member = this.kind === 'filters' ? 'items' : 'urls';
    const answer = await fetch(`${this.app.url}${this.path}/syncs/${id}/${member}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', ...headers },
      body: lines.join('\n'),
    });
    const text = (await answer.text()).trimEnd();
    const parsed = text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    return { status: answer.status, lines: parsed };
  }

  commit(id: string, body?: object): Promise<Answer> {
    return this.send('POST', `/syncs/${id}/commit`, body);
  }

  /** Commits, repeating the call until the sync is committed. */
  async committed(id: string, body?: object): Promise<SyncBody> {
    const end = Date.now() + 60_000;
    for (;;) {
      const answer = await this.commit(id, body);
      if (answer.status === 200) return answer.body as SyncBody;
      expect(answer).toMatchObject({ status: 202, body: { state: 'committing' } });
      if (Date.now() > end) throw new Error('the sync is still committing after 60 s');
    }
  }

  abandon(id: string): Promise<Answer> {
    return this.send('DELETE', `/syncs/${id}`);
  }
}

async function ok(answer: Promise<Answer>, expected = 200): Promise<unknown> {
  const { status, body } = await answer;
  expect({ status, body }).toMatchObject({ status: expected });
  return body;
}
