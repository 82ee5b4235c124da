import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UnseenClient, ValidationError } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { recordedFetch, type SentRequest } from '../support/recorded-fetch.js';

describe('calls made in the same moment', () => {
  let app: TestApp;
  let client: UnseenClient;
  let sent: SentRequest[];
  beforeAll(async () => {
    app = await startApp();
  });
  beforeEach(() => {
    const recorded = recordedFetch();
    sent = recorded.sent;
    client = new UnseenClient({ url: app.url, fetch: recorded.fetch });
  });
  afterAll(() => app.close());

  const made = async (maxAgeSeconds?: number) => {
    const set = client.visitedSet(freshName('set'));
    await set.create({ capacity: 10_000, ...(maxAgeSeconds !== undefined && { maxAgeSeconds }) });
    sent.length = 0;
    return set;
  };
  const madeFilter = async () => {
    const filter = client.filter(freshName());
    await filter.create({ type: 'counting', capacity: 10_000, errorRate: 1e-6 });
    sent.length = 0;
    return filter;
  };
  const urls = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `https://example.org/${i}`);

  it('travel together, up to a thousand', async () => {
    const set = await made();
    expect(await Promise.all(urls(1_000).map((url) => set.visit(url)))).toEqual(Array(1_000).fill('new'));
    expect(sent).toHaveLength(1);
    // Handles with the same name share their batches.
    const checks = urls(2_500).map((url, i) => (i % 2 === 0 ? set : client.visitedSet(set.name)).check(url));
    const results = await Promise.all(checks);
    expect(results).toEqual(urls(2_500).map((_, i) => (i < 1_000 ? 'seen' : 'unseen')));
    expect(sent).toHaveLength(4);
  });

  it('need few requests even if callers continue one after another', async () => {
    const set = await made();
    await set.visit(urls(64));
    sent.length = 0;
    const callers = Array.from({ length: 64 }, async (_, caller) => {
      for (let n = 0; n < 50; n++) expect(await set.check(urls(65)[caller] as string)).toBe('seen');
    });
    await Promise.all(callers);
    expect(sent.length).toBeLessThan((64 * 50) / 8);
  });

  it('are separated by set, verb, and options', async () => {
    const [one, other] = [await made(60), await made(60)];
    const [a = ''] = urls(1);
    expect(
      await Promise.all([
        ...[
          one.check(a),
          other.check(a),
          one.forget(a),
          one.discover(a),
          one.discover({ url: `${a}1`, payload: 'p' }),
        ],
        ...[
          other.visit(a, { ttlSeconds: 10 }),
          other.visit(`${a}1`, { ttlSeconds: 10 }),
          other.visit(`${a}2`),
        ],
      ]),
    ).toHaveLength(8);
    const bodies = sent
      .map(({ path, json }) => `${path.split('/').slice(3).join('/')} ${JSON.stringify(json)}`)
      .sort();
    expect(bodies).toEqual(
      [
        `${one.name}/urls/check {"urls":["${a}"]}`,
        `${other.name}/urls/check {"urls":["${a}"]}`,
        `${one.name}/urls/forget {"urls":["${a}"]}`,
        `${one.name}/urls/discover {"urls":["${a}",{"url":"${a}1","payload":"p"}]}`,
        `${other.name}/urls/visit {"urls":["${a}","${a}1"],"ttlSeconds":10}`,
        `${other.name}/urls/visit {"urls":["${a}2"]}`,
      ].sort(),
    );
  });

  it('are aborted one by one: an abort ends its caller’s wait, not the batch', async () => {
    const set = await made();
    const [before, during] = [new AbortController(), new AbortController()];
    const outcome = (call: Promise<string>) => call.catch((error: unknown) => error);
    const calls = [
      ...[set.visit('https://example.org/a'), set.visit('https://example.org/b', { signal: before.signal })],
      ...[set.visit('https://example.org/c', { signal: during.signal }), set.visit('https://example.org/d')],
      set.visit('https://example.org/e', { signal: AbortSignal.abort(new Error('at once')) }),
    ].map(outcome);
    before.abort(new Error('before'));
    await new Promise((resolve) => setTimeout(resolve, 0)).then(
      () => new Promise((resolve) => setTimeout(resolve, 1)),
    );
    during.abort(new Error('during'));
    expect(await Promise.all(calls)).toEqual([
      ...['new', new Error('before'), expect.anything(), 'new', new Error('at once')],
    ]);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.json).toMatchObject({ urls: expect.not.arrayContaining(['https://example.org/b']) });
  });

  it('do not affect each other: only a refused item’s caller sees the refusal', async () => {
    const filter = await madeFilter();
    const items = Array.from({ length: 300 }, (_, i) =>
      i % 100 === 7 ? 'x'.repeat(9_000 + i) : `item ${i}`,
    );
    const results = await Promise.all(items.map((item) => filter.add(item).catch((error: unknown) => error)));
    for (const [i, item] of items.entries()) {
      if (item.length < 9_000) expect(results[i]).toBe(true);
      else {
        expect(results[i]).toBeInstanceOf(ValidationError);
        expect(results[i]).toMatchObject({
          detail: expect.stringMatching(
            new RegExp(`^items\\[0\\] must have at most 8192 bytes in UTF-8, not ${9_000 + i}`),
          ),
          errors: [{ pointer: '#/items/0' }],
        });
      }
    }
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(2);
  });

  it('need few requests even if every item is refused', async () => {
    const filter = await madeFilter();
    const refused = await Promise.all(
      Array.from({ length: 1_000 }, () => filter.has('').catch((error: unknown) => (error as Error).name)),
    );
    expect(new Set(refused)).toEqual(new Set(['ValidationError']));
    expect(sent.length).toBeLessThanOrEqual(12);
  });

  it('send few requests in parallel, whatever the number of calls', async () => {
    let [underWay, most] = [0, 0];
    const counting: typeof fetch = async (input, init) => {
      most = Math.max(most, ++underWay);
      return fetch(input, init).finally(() => underWay--);
    };
    const set = new UnseenClient({ url: app.url, fetch: counting }).visitedSet((await made()).name);
    const results = await Promise.all(urls(25_000).map((url) => set.check(url)));
    expect(results).toEqual(Array(25_000).fill('unseen'));
    expect(most).toBe(8);
  });

  it('fit into a body', async () => {
    const filter = await madeFilter();
    const items = Array.from({ length: 600 }, (_, i) => String(i).padStart(8_000, '\u0001'));
    expect(await Promise.all(items.map((item) => filter.add(item)))).toEqual(Array(600).fill(true));
    expect(await filter.has(items)).toEqual(Array(600).fill(true));
    expect(sent.length).toBeLessThan(30);
  });
});
