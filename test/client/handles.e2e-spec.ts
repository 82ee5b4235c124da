import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotFoundError, UnseenClient, ValidationError } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';

describe('the client', () => {
  let app: TestApp;
  let client: UnseenClient;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
  });
  afterAll(() => app.close());

  const urls = (count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, i) => `https://example.org/${from + i}`);

  const made = async (capacity = 10_000) => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity });
    return set;
  };

  it('creates, describes, lists, clears, and drops', async () => {
    const set = await made();
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    expect(await set.describe()).toMatchObject({ name: set.name, capacity: 10_000, items: 0 });
    await set.visit('https://example.org/');
    expect(await set.describe()).toMatchObject({ items: 1 });
    expect(await set.clear()).toMatchObject({ items: 0 });
    const names = async (all: AsyncIterable<{ name: string }>): Promise<string[]> => {
      const found: string[] = [];
      for await (const { name } of all) found.push(name);
      return found;
    };
    const more = await made();
    expect(await names(client.visitedSets({ pageSize: 1 }))).toEqual(
      expect.arrayContaining([set.name, more.name]),
    );
    expect(await names(client.filters())).toContain(filter.name);
    await set.drop();
    await expect(set.describe()).rejects.toThrow(NotFoundError);
    expect(await names(client.visitedSets())).not.toContain(set.name);
    expect(await client.plan({ type: 'counting', capacity: 1_000, errorRate: 0.01 })).toMatchObject({
      capacity: 1_000,
    });
    expect(await client.ready()).toMatchObject({ status: 'ready' });
  });

  it("shows counters, the caller's permissions, and the history", async () => {
    const set = await made();
    const url = 'HTTPS://example.org/a';
    await set.visit(url);
    expect(await set.explain([url, 'no URL'])).toMatchObject([
      {
        url,
        key: 'https://example.org/a',
        rules: [{ rule: 'S2' }],
        answer: 'seen',
        layers: [{ claims: true }],
      },
      { url: 'no URL', invalid: 'not absolute' },
    ]);
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', capacity: 1_000, errorRate: 0.01 });
    expect(await filter.explain(['x'])).toMatchObject([{ item: 'x', answer: 'unseen' }]);
    const [layer] = await set.counters();
    expect(layer!.values).toHaveLength(16);
    expect(await filter.counters()).toMatchObject([{ values: expect.any(Array) }]);
    expect(await set.history()).toMatchObject({ watched: true, intervalSeconds: 60 });
    expect(await filter.history({ seconds: 60 })).toMatchObject({ points: expect.any(Array) });
    await expect(filter.history({ seconds: 59 })).rejects.toThrow(ValidationError);
    await expect(client.filter('nothing').counters()).rejects.toThrow(NotFoundError);
    await expect(filter.explain(Array<string>(101).fill('x'))).rejects.toThrow(ValidationError);
    expect(await client.me()).toEqual({ id: 'anonymous', name: 'anonymous', scopes: ['admin'] });
  });

  it('visits, checks, and forgets one URL', async () => {
    const set = await made();
    const url = 'https://example.org/a';
    expect(await set.check(url)).toBe('unseen');
    expect(await set.visit(url)).toBe('new');
    expect(await set.visit('HTTPS://EXAMPLE.org/a')).toBe('seen');
    expect(await set.check(url)).toBe('seen');
    expect(await set.forget(url)).toBe('forgotten');
    expect(await set.forget(url)).toBe('absent');
    expect(await set.visit('no URL')).toBe('invalid');
  });

  it('returns results for an array of any length, in order', async () => {
    const set = await made();
    const list = urls(3_500);
    await set.visit(list.filter((_, i) => i % 2 === 0));
    expect(await set.check(list)).toEqual(list.map((_, i) => (i % 2 === 0 ? 'seen' : 'unseen')));
    expect(await set.check([])).toEqual([]);
  });

  it('reads a filter as one reads a Set', async () => {
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', semantics: 'multiset', capacity: 1_000, errorRate: 1e-6 });
    expect(await filter.add('a')).toBe(true);
    await filter.add(['a', 'b']);
    expect(await filter.has(['a', 'b', 'c'])).toEqual([true, true, false]);
    expect(await filter.count(['a', 'b', 'c'])).toEqual([2, 1, 0]);
    expect(await filter.delete('b')).toBe(true);
    expect(await filter.delete('b')).toBe(false);
    expect(await filter.remove('a')).toBe('removed');
    expect(await filter.has('a')).toBe(true);
    expect(await filter.add('a', { onlyAbsent: true })).toBe(false);
    expect(await filter.add(['a', 'b', 'b'], { onlyAbsent: true })).toEqual([false, true, false]);
    expect(await filter.count(['a', 'b'])).toEqual([1, 1]);
  });

  it('returns each entry of an iterable with its result', async () => {
    const set = await made();
    const list = urls(2_500);
    const source = async function* () {
      for (const url of list) yield url;
    };
    const found: (readonly [string, string])[] = [];
    for await (const pair of set.visit(source())) found.push(pair);
    expect(found).toEqual(list.map((url) => [url, 'new']));
    let seen = 0;
    for await (const [, result] of set.check(new Set(list))) if (result === 'seen') seen++;
    expect(seen).toBe(2_500);
    const blocks: number[] = [];
    for await (const { entries, results, invalid } of set.check(new Set([...list, 'no URL'])).blocks()) {
      expect(results.length).toBe(entries.length);
      blocks.push(entries.length);
      if (entries.includes('no URL')) expect(invalid.get(entries.indexOf('no URL'))).toMatch(/./);
      else expect(invalid.size).toBe(0);
    }
    expect(blocks).toEqual([1_000, 1_000, 501]);
  });

  it('leases, acknowledges, releases, and extends entries, and reviews dead letters', async () => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 1_000, maxAttempts: 1 });
    expect(
      await set.discover(['https://example.org/1', { url: 'https://example.org/2', payload: 'two' }]),
    ).toEqual(['new', 'new']);
    const leased = await set.lease({ max: 10, leaseSeconds: 60 });
    expect(leased.map(({ url }) => url).sort()).toEqual(['https://example.org/1', 'https://example.org/2']);
    expect(leased.find(({ url }) => url.endsWith('2'))?.payload).toBe('two');
    const [first, second] = leased.map(({ id }) => id) as [string, string];
    expect(await set.extend([first, second], { leaseSeconds: 90 })).toEqual(['extended', 'extended']);
    expect(await set.ack(first)).toBe('acked');
    expect(await set.release(second, { reason: 'gone' })).toBe('released');
    expect(await set.lease({ max: 10, leaseSeconds: 60 })).toEqual([]);
    const dead = [];
    for await (const letter of set.deadLetters()) dead.push(letter);
    expect(dead).toMatchObject([{ reason: 'gone' }]);
    expect(await set.putBack(dead[0]!.id)).toBe('put back');
    expect(await set.lease({ max: 10, leaseSeconds: 60, waitSeconds: 1 })).toHaveLength(1);
  });

  it('syncs a set to an input list', async () => {
    const set = await made();
    await set.visit(urls(10));
    const sync = await set.syncs.open({ capacity: 20_000 });
    expect(await sync.keep(urls(4))).toEqual(['kept', 'kept', 'kept', 'kept']);
    expect(await sync.describe()).toMatchObject({ state: 'open', listed: 4 });
    expect(await sync.commit({ dryRun: true })).toMatchObject({
      state: 'open',
      wouldForget: 6,
      refused: true,
    });
    await expect(sync.commit()).rejects.toMatchObject({ name: 'WouldForgetError', status: 409 });
    expect(await sync.commit({ force: true })).toMatchObject({ state: 'committed' });
    expect(await set.check(urls(5))).toEqual(['seen', 'seen', 'seen', 'seen', 'unseen']);
    await expect(set.syncs.get(sync.id).abandon()).rejects.toMatchObject({ code: 'SYNC_ENDED' });
  });

  it('exports and imports', async () => {
    const set = await made();
    await set.visit(urls(100));
    const copy = client.visitedSet(freshName('copy'));
    expect(await copy.import(await set.export())).toMatchObject({ name: copy.name, items: 100 });
    expect(await copy.check('https://example.org/99')).toBe('seen');
    const file = await new Response(await set.export()).blob();
    await expect(copy.import(file)).rejects.toMatchObject({ code: 'FILTER_EXISTS', name: 'ConflictError' });
  });

  it('throws a separate class for each refusal, with the value and the limit', async () => {
    const error = await client
      .visitedSet(freshName())
      .create({ capacity: 0 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({
      ...{ name: 'ValidationError', code: 'VALIDATION_FAILED', status: 400 },
      errors: [{ pointer: '#/capacity', detail: expect.stringContaining('not 0') }],
      message: expect.stringContaining('POST /v1/visited-sets'),
      requestId: expect.any(String),
    });
  });

  it('does nothing twice with the caller’s operation key', async () => {
    const set = await made();
    const [one, list] = [{ idempotencyKey: freshName('one') }, { idempotencyKey: freshName('list') }];
    for (let n = 0; n < 2; n++) {
      expect(await set.visit('https://example.org/a', one)).toBe('new');
      expect(new Set(await set.visit(urls(1_500), list))).toEqual(new Set(['new']));
    }
  });
});
