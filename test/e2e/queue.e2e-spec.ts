import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { scrape } from '../support/metrics.js';
import { startRedis } from '../support/redis-server.js';
import { leasesWaiting } from './leases-waiting.js';
import { STORES } from './stores.js';

interface Leased {
  readonly id: string;
  readonly url: string;
  readonly payload?: string;
  readonly attempt: number;
}

/** A visited set's API, as its users call it. */
class VisitedSet {
  readonly path: string;

  private constructor(
    private readonly app: TestApp,
    readonly name: string,
  ) {
    this.path = `/v1/visited-sets/${name}`;
  }

  static async create(app: TestApp, spec: object = {}): Promise<VisitedSet> {
    const set = new VisitedSet(app, freshName('q'));
    await set.ok(
      await call(app, 'POST', '/v1/visited-sets', { name: set.name, capacity: 1_000, ...spec }),
      201,
    );
    return set;
  }

  /** The same set, or a set with a different name, through another service. */
  through(app: TestApp, name = this.name): VisitedSet {
    return new VisitedSet(app, name);
  }

  send(route: string, body: object): Promise<Answer> {
    return call(this.app, 'POST', `${this.path}/${route}`, body);
  }

  async discover(...urls: (string | object)[]): Promise<string[]> {
    return ((await this.ok(await this.send('urls/discover', { urls }))) as { results: string[] }).results;
  }

  async lease(max = 10, more: object = {}): Promise<Leased[]> {
    const body = { max, leaseSeconds: 60, ...more };
    return ((await this.ok(await this.send('queue/lease', body))) as { urls: Leased[] }).urls;
  }

  async settle(route: string, ids: readonly string[], more: object = {}): Promise<string[]> {
    const answer = await this.ok(await this.send(`queue/${route}`, { ids, ...more }));
    return (answer as { results: string[] }).results;
  }

  async deadLetters(query = ''): Promise<{ urls: (Leased & { reason: string })[]; next?: string }> {
    const answer = await call(this.app, 'GET', `${this.path}/queue/dead-letters${query}`);
    return (await this.ok(answer)) as { urls: (Leased & { reason: string })[]; next?: string };
  }

  async queue(): Promise<unknown> {
    return ((await this.ok(await call(this.app, 'GET', this.path))) as { queue: unknown }).queue;
  }

  private async ok({ status, body }: Answer, expected = 200): Promise<unknown> {
    expect({ status, body }).toMatchObject({ status: expected });
    return Promise.resolve(body);
  }
}

const idsOf = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id);
const urlsOf = (entries: readonly { url: string }[]): string[] => entries.map(({ url }) => url);
const url = (n: number | string): string => `https://example.org/${n}`;

describe.each(STORES)('the queue over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start({ MAX_REQUESTS_IN_FLIGHT: '4' });
  });
  afterAll(() => app.close());

  describe('a payload', () => {
    it('is leased with its URL, and a URL without a payload has none', async () => {
      const set = await VisitedSet.create(app);
      const payload = '{"depth":1,"€":"😀\\u0000"}';
      const sent = [url('a'), { url: url('b'), payload }, { url: url('c'), payload: '' }];
      expect(await set.discover(...sent)).toEqual(['new', 'new', 'new']);
      expect(await set.lease()).toEqual([
        { id: expect.any(String), url: url('a'), attempt: 1 },
        { id: expect.any(String), url: url('b'), payload, attempt: 1 },
        { id: expect.any(String), url: url('c'), payload: '', attempt: 1 },
      ]);
    });

    it('is also accepted in streams', async () => {
      const set = await VisitedSet.create(app);
      const lines = [url('a'), { url: url('b'), payload: 'p' }, { url: 'none', payload: 'x' }];
      const response = await fetch(`${app.url}${set.path}/urls/discover`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      });
      const answers = (await response.text()).trim().split('\n');
      expect(JSON.parse(answers[0]!)).toMatchObject({ from: 1, results: ['new', 'new', 'invalid'] });
      expect(await set.lease()).toMatchObject([{ url: url('a') }, { url: url('b'), payload: 'p' }]);
    });

    it('is ignored if the URL was seen before', async () => {
      const set = await VisitedSet.create(app);
      await set.discover({ url: url('a'), payload: 'first' });
      expect(await set.discover({ url: url('a'), payload: 'second' })).toEqual(['seen']);
      expect(await set.lease()).toMatchObject([{ payload: 'first' }]);
    });

    it.each([
      [{ url: url('a'), payload: 'é'.repeat(513) }, 'at most 1024 bytes in UTF-8, not 1026'],
      [{ url: url('a'), payload: 7 }, 'must have a payload that is a string'],
      [{ url: url('a') }, 'must have a payload that is a string'],
      [{ payload: 'x' }, 'must be a string, or an object whose url is a string'],
      [{ url: url('a'), payload: 'x', priority: 1 }, 'not \"priority\"'],
      [{ url: url('a'), payload: '\ud800' }, 'well-formed Unicode'],
      [null, 'must be a string, or an object'],
      [[url('a')], 'must be a string, or an object'],
    ])('that is invalid is refused, and nothing is queued: %j', async (entry, why) => {
      const set = await VisitedSet.create(app);
      const answer = await set.send('urls/discover', { urls: [url('good'), entry] });
      expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(JSON.stringify(answer.body)).toContain(JSON.stringify(why).slice(1, -1));
      expect(await set.queue()).toMatchObject({ waiting: 0 });
    });

    it('is accepted by discover only', async () => {
      const set = await VisitedSet.create(app);
      for (const verb of ['visit', 'check', 'forget']) {
        const answer = await set.send(`urls/${verb}`, { urls: [{ url: url('a'), payload: 'x' }] });
        expect([verb, answer.status]).toEqual([verb, 400]);
      }
    });

    it('isn’t read from a URL that looks like the store’s encoding of one', async () => {
      const set = await VisitedSet.create(app);
      const text = url('a');
      expect(await set.discover(`${text.length}:${text}payload`)).toEqual(['invalid']);
    });
  });

  it('extend sets a lease’s end, and release with a delay hides the entry', async () => {
    const set = await VisitedSet.create(app);
    await set.discover(url('a'), url('b'));
    const [a, b] = await set.lease(2, { leaseSeconds: 600 });
    expect(await set.settle('extend', [a!.id, 'nonsense'], { leaseSeconds: 3_600 })).toEqual([
      'extended',
      'unknown',
    ]);
    expect(await set.settle('release', [b!.id], { delaySeconds: 3_600, reason: 'later' })).toEqual([
      'released',
    ]);
    expect(await set.queue()).toMatchObject({ waiting: 0, leased: 1, delayed: 1 });
    expect(await set.lease()).toEqual([]);
    expect(await set.settle('extend', [a!.id], { leaseSeconds: 60 })).toEqual(['extended']);
    app.advance(60_000);
    const again = await set.lease();
    expect(again).toMatchObject([{ url: url('a'), attempt: 2 }]);
    expect(await set.settle('ack', idsOf(again))).toEqual(['acked']);
    expect(await set.settle('extend', idsOf(again), { leaseSeconds: 1 })).toEqual(['expired']);
  });

  it('an entry leased maxAttempts times is a dead letter, which callers can list, put back, and purge', async () => {
    const set = await VisitedSet.create(app, { maxAttempts: 2 });
    expect((await call(app, 'GET', set.path)).body).toMatchObject({ maxAttempts: 2 });
    const payload = 'kept';
    await set.discover({ url: url(0), payload }, url(1), url(2));
    for (const reason of ['first', 'HTTP 503 €']) {
      const ids = idsOf(await set.lease());
      expect(await set.settle('release', ids, { reason })).toEqual(ids.map(() => 'released'));
    }
    expect(await set.lease()).toEqual([]);
    expect(await set.queue()).toEqual({
      waiting: 0,
      leased: 0,
      delayed: 0,
      scheduled: 0,
      dead: 3,
      forgotten: 0,
    });
    const first = await set.deadLetters('?limit=2');
    const second = await set.deadLetters(`?limit=2&cursor=${first.next}`);
    expect(second.next).toBeUndefined();
    const dead = [...first.urls, ...second.urls];
    expect(dead.map(({ id: _, ...rest }) => rest)).toEqual([
      { url: url(0), payload, attempt: 2, reason: 'HTTP 503 €' },
      { url: url(1), attempt: 2, reason: 'HTTP 503 €' },
      { url: url(2), attempt: 2, reason: 'HTTP 503 €' },
    ]);
    const [a, b, c] = idsOf(dead) as [string, string, string];
    expect(await set.settle('dead-letters/put-back', [a, 'nonsense'])).toEqual(['put back', 'unknown']);
    expect(await set.settle('dead-letters/purge', [b, a])).toEqual(['purged', 'unknown']);
    expect(await set.lease()).toMatchObject([{ url: url(0), payload, attempt: 1 }]);
    expect(idsOf((await set.deadLetters()).urls)).toEqual([c]);
    expect(await set.discover(url(1))).toEqual(['seen']);
  });

  it('a release with countAttempt false counts no attempt, and its repeat gets the same answer', async () => {
    const set = await VisitedSet.create(app, { maxAttempts: 1 });
    await set.discover(url(0));
    for (let turn = 0; turn < 2; turn++) {
      const leased = await set.lease();
      expect(leased).toMatchObject([{ url: url(0), attempt: 1 }]);
      expect(await set.settle('release', idsOf(leased), { countAttempt: false })).toEqual(['released']);
      expect(await set.settle('release', idsOf(leased), { countAttempt: false })).toEqual(['expired']);
    }
    const ids = idsOf(await set.lease());
    const key = freshName('key');
    const send = (countAttempt: boolean) =>
      call(app, 'POST', `${set.path}/queue/release`, { ids, countAttempt }, { 'idempotency-key': key });
    for (let turn = 0; turn < 2; turn++) expect((await send(false)).body).toEqual({ results: ['released'] });
    expect(await send(true)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await set.queue()).toMatchObject({ waiting: 1, leased: 0, dead: 0 });
    await set.settle('release', idsOf(await set.lease()), { countAttempt: true });
    expect(await set.queue()).toMatchObject({ waiting: 0, dead: 1 });
  });

  it.each([
    [
      'lease',
      { max: 1, leaseSeconds: 1, waitSeconds: 31 },
      'waitSeconds must be a whole number from 0 to 30',
    ],
    ['release', { ids: [], delaySeconds: 86_401 }, 'delaySeconds must be a whole number from 0 to 86400'],
    ['release', { ids: [], reason: 'é'.repeat(129) }, 'at most 256 bytes in UTF-8'],
    ['release', { ids: [], countAttempt: 'no' }, 'countAttempt must be true or false'],
    ['extend', { ids: [] }, 'leaseSeconds is missing; it must be a whole number from 1 to 86400'],
    ['extend', { leaseSeconds: 1 }, 'ids is missing; it must be an array of strings'],
    ['dead-letters/purge', { ids: 'x' }, 'ids must be an array of strings'],
    ['ack', { ids: [], reason: 'x' }, 'reason'],
  ])('refuses %s with %j', async (route, body, why) => {
    const set = await VisitedSet.create(app);
    const answer = await set.send(`queue/${route}`, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(JSON.stringify(answer.body)).toContain(why);
  });

  it('an export moves its payloads, dead letters, and maxAttempts', async () => {
    const set = await VisitedSet.create(app, { maxAttempts: 1 });
    await set.discover({ url: url(0), payload: 'dead' }, { url: url(1), payload: 'waits' });
    await set.settle('release', idsOf(await set.lease(1)), { reason: 'HTTP 410' });
    const file = await (await fetch(`${app.url}${set.path}/export`)).arrayBuffer();
    const response = await fetch(`${app.url}/v1/visited-sets/import?name=${set.name}-copy`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.unseen.filter' },
      body: file,
    });
    expect(await response.json()).toMatchObject({ maxAttempts: 1, queue: { waiting: 1, dead: 1 } });
    const copy = set.through(app, `${set.name}-copy`);
    expect(await copy.lease()).toMatchObject([{ url: url(1), payload: 'waits', attempt: 1 }]);
    expect((await copy.deadLetters()).urls).toMatchObject([
      { url: url(0), payload: 'dead', attempt: 1, reason: 'HTTP 410' },
    ]);
  });

  it('/metrics shows the entries’ states and the oldest one’s age', async () => {
    const set = await VisitedSet.create(app, { maxAttempts: 1 });
    await set.discover(...Array.from({ length: 7 }, (_, n) => url(n)));
    const ids = idsOf(await set.lease(4));
    await set.settle('release', ids.slice(0, 1), { reason: 'x' });
    const page = await scrape(app);
    const value = (name: string, labels = ''): number | undefined =>
      page.value(`${name}{kind="visited-set",filter="${set.name}"${labels}}`);
    const states = ['waiting', 'leased', 'delayed', 'dead', 'forgotten'];
    expect(states.map((state) => value('unseen_queue_urls', `,state="${state}"`))).toEqual([3, 3, 0, 1, 0]);
    expect(value('unseen_queue_oldest_seconds')).toBeLessThan(600);
  });

  describe('a lease that waits', () => {
    /** Sends a lease once the last one waits, because a lease counts as in flight until it waits. */
    const inTurn = async <T>(count: number, lease: () => Promise<T>): Promise<Promise<T>[]> => {
      const sent: Promise<T>[] = [];
      while (sent.length < count) {
        sent.push(lease());
        await leasesWaiting(app, sent.length);
      }
      return sent;
    };

    it('returns immediately if an entry is waiting, and empty if none arrives', async () => {
      const set = await VisitedSet.create(app);
      await set.discover(url('a'));
      expect(urlsOf(await set.lease(1, { waitSeconds: 30 }))).toEqual([url('a')]);
      expect(await set.lease(1, { waitSeconds: 1 })).toEqual([]);
    });

    it('gets new entries, first come first served, and doesn’t count as in flight', async () => {
      const set = await VisitedSet.create(app);
      // Many more than the limit of requests in flight.
      const waiting = await inTurn(12, () => set.lease(1, { waitSeconds: 30 }));
      const urls = waiting.map((_, n) => url(n));
      for (let from = 0; from < urls.length; from += 3) {
        expect(await set.discover(...urls.slice(from, from + 3))).toEqual(['new', 'new', 'new']);
      }
      expect((await Promise.all(waiting)).flatMap(urlsOf).sort()).toEqual([...urls].sort());
    });

    it('gets entries that are released or whose lease has expired', async () => {
      const set = await VisitedSet.create(app);
      await set.discover(url('a'), url('b'));
      const [a] = await set.lease(1);
      await set.lease(1, { leaseSeconds: 60 });
      const waiting = set.lease(1, { waitSeconds: 30 });
      await set.settle('release', [a!.id]);
      expect(urlsOf(await waiting)).toEqual([url('a')]);
      app.advance(59_000);
      expect(urlsOf(await set.lease(1, { waitSeconds: 30 }))).toEqual([url('b')]);
    });

    it('notices when its wait or another lease expires', async () => {
      const set = await VisitedSet.create(app);
      await set.discover(url('a'));
      await set.lease(1, { leaseSeconds: 20 });
      const waiting = set.lease(1, { waitSeconds: 30 });
      await leasesWaiting(app, 1);
      app.advance(20_000);
      expect(urlsOf(await waiting)).toEqual([url('a')]);
      const vain = set.lease(1, { waitSeconds: 30 });
      await leasesWaiting(app, 1);
      app.advance(30_000);
      expect(await vain).toEqual([]);
    });

    it('gets 404 as soon as its set is deleted, as do all others', async () => {
      const set = await VisitedSet.create(app);
      const body = { max: 1, leaseSeconds: 60, waitSeconds: 30 };
      const waiting = await inTurn(3, () => set.send('queue/lease', body));
      expect(await call(app, 'DELETE', set.path)).toMatchObject({ status: 204 });
      for (const answer of await Promise.all(waiting))
        expect(answer).toMatchObject({ status: 404, body: { code: 'VISITED_SET_NOT_FOUND' } });
    });

    it('can be repeated with a different wait, or with none, but not with another lease', async () => {
      const set = await VisitedSet.create(app);
      const key = { 'idempotency-key': freshName('key') };
      const repeat = (body: object) => call(app, 'POST', `${set.path}/queue/lease`, body, key);
      const first = repeat({ max: 1, leaseSeconds: 60, waitSeconds: 30 });
      await set.discover(url('a'), url('b'));
      const { status, body } = await first;
      expect({ status, body }).toMatchObject({ status: 200, body: { urls: [{ url: url('a') }] } });
      expect(await repeat({ max: 1, leaseSeconds: 60, waitSeconds: 0 })).toMatchObject({ status, body });
      expect(await repeat({ max: 1, leaseSeconds: 60 })).toMatchObject({ status, body });
      expect(await repeat({ max: 2, leaseSeconds: 60 })).toMatchObject({
        status: 422,
        body: { code: 'IDEMPOTENCY_KEY_REUSED' },
      });
    });

    it('keeps waiting when its visited set is cleared', async () => {
      const set = await VisitedSet.create(app);
      const waiting = set.lease(1, { waitSeconds: 30 });
      await call(app, 'POST', `${set.path}/clear`);
      await set.discover(url('a'));
      expect(urlsOf(await waiting)).toEqual([url('a')]);
    });

    it('takes nothing after its client disconnects', async () => {
      const set = await VisitedSet.create(app);
      const left = new AbortController();
      const waiting = fetch(`${app.url}${set.path}/queue/lease`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ max: 10, leaseSeconds: 60, waitSeconds: 30 }),
        signal: left.signal,
      });
      await leasesWaiting(app, 1);
      left.abort();
      await expect(waiting).rejects.toThrow();
      await leasesWaiting(app, 0);
      await set.discover(url('a'));
      expect(urlsOf(await set.lease())).toEqual([url('a')]);
    });
  });
});

describe('leases that wait', () => {
  it('are woken by entries that another instance discovers, releases, or puts back', async () => {
    const redis = await startRedis();
    const apps = await Promise.all([startApp({ REDIS_URL: redis.url }), startApp({ REDIS_URL: redis.url })]);
    try {
      const mine = await VisitedSet.create(apps[0], { maxAttempts: 2 });
      const theirs = mine.through(apps[1]);
      const soon = async (): Promise<Leased[]> => mine.lease(1, { waitSeconds: 30 });
      let waiting = soon();
      await theirs.discover(url('a'));
      let [leased] = await waiting;
      waiting = soon();
      await theirs.settle('release', [leased!.id]);
      [leased] = await waiting;
      expect(leased).toMatchObject({ url: url('a'), attempt: 2 });
      await theirs.settle('release', [leased!.id], { reason: 'no' });
      waiting = soon();
      await theirs.settle('dead-letters/put-back', idsOf((await theirs.deadLetters()).urls));
      expect(await waiting).toMatchObject([{ url: url('a'), attempt: 1 }]);
    } finally {
      await Promise.all(apps.map((app) => app.close()));
      await redis.stop();
    }
  });

  it('get their answers when the service ends', async () => {
    // The grace period ends before the wait. If the service didn't answer the lease when it shuts down, it would cut
    // the connection then.
    const app = await startApp({ SHUTDOWN_GRACE_MS: '15000' });
    const set = await VisitedSet.create(app);
    const waiting = set.lease(1, { waitSeconds: 30 });
    await leasesWaiting(app, 1);
    await app.close();
    expect(await waiting).toEqual([]);
  });
});
