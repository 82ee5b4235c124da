import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type TestApp } from '../support/app.js';
import { bearer, makeKey } from '../support/credentials.js';
import { scrape } from '../support/metrics.js';
import { Synced, type SyncBody } from '../support/synced.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

const url = (n: number | string): string => `https://example.org/${n}`;
const urls = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => url(from + i));
const all = (count: number, result: unknown): unknown[] => Array<unknown>(count).fill(result);
const refusal = (status: number, code: string) => ({ status, body: { code } });

describe.each(STORES)('syncs of visited sets over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('keep URLs that are listed or visited during the sync, and forget all others', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 100));
    const before = await set.describe();
    const answer = await set.send('POST', '/syncs');
    const sync = answer.body as SyncBody;
    expect(answer).toMatchObject({ status: 201 });
    expect(sync).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      state: 'open',
      openedAt: new Date(sync.openedAt).toISOString(),
      capacity: 1_000,
      errorRate: 1e-6,
      listed: 0,
      new: 0,
      wouldForget: 100,
      items: 100,
      memoryBytes: before.memoryBytes,
    });
    expect(answer.headers.get('location')).toBe(`${set.path}/syncs/${sync.id}`);
    expect((await set.describe()).sync).toEqual(sync);

    const { status, body } = await set.list(sync.id, [...urls(0, 60), url('new'), 'nonsense']);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        results: [...all(60, 'kept'), 'new', 'invalid'],
        counts: { kept: 60, new: 1, forgotten: 0, invalid: 1 },
        invalid: [{ index: 61, reason: 'not absolute' }],
      },
    });
    // During a sync, checks look in the old and the new layers.
    expect(await set.batch('check', [url('new'), url(99)])).toEqual(['seen', 'seen']);
    expect(await set.batch('visit', [url(60), url('visited'), url('new')])).toEqual(['seen', 'new', 'seen']);
    expect(await set.sync(sync.id)).toMatchObject({ listed: 61, new: 1, items: 101, wouldForget: 39 });

    const committed = await set.committed(sync.id);
    expect(committed).toMatchObject({ id: sync.id, state: 'committed', wouldForget: 39, memoryBytes: 0 });
    expect(await set.batch('check', urls(0, 61))).toEqual(all(61, 'seen'));
    expect(await set.batch('check', urls(61, 100))).toEqual(all(39, 'unseen'));
    expect(await set.batch('check', [url('new'), url('visited')])).toEqual(['seen', 'seen']);
    const after = await set.describe();
    expect(after).toMatchObject({ items: 63, generation: before.generation, capacity: 1_000 });
    expect(after).not.toHaveProperty('sync');
    expect(await set.sync(sync.id)).toEqual(committed);
  });

  it('take streams: in parallel, repeated, and with the last line only', async () => {
    const set = await Synced.visitedSet(app, { capacity: 10_000 });
    await set.batch('visit', urls(0, 5_000));
    const { id } = await set.open();
    const parts = [urls(0, 2_500), urls(1_500, 4_000)];
    const [one, two] = await Promise.all(parts.map((part) => set.stream(id, part)));
    for (const answer of [one!, two!]) {
      expect(answer.status).toBe(200);
      expect(answer.lines.map(({ from }) => from)).toEqual([1, 1_001, 2_001, undefined]);
      expect(answer.lines.at(-1)).toEqual({
        done: true,
        counts: { kept: 2_500, new: 0, forgotten: 0, invalid: 0 },
      });
    }
    const again = await set.stream(id, [...urls(0, 1_000), url('new')], { query: '?results=none' });
    expect(again.lines).toEqual([{ done: true, counts: { kept: 1_000, new: 1, forgotten: 0, invalid: 0 } }]);
    expect(await set.sync(id)).toMatchObject({ listed: 6_001, new: 1, wouldForget: 1_000 });
    await set.committed(id);
    expect(await set.batch('check', [url(0), url(3_999), url(4_000), url('new')])).toEqual([
      ...['seen', 'seen', 'unseen', 'seen'],
    ]);
  });

  it('give a repeat with its operation key the same answer, and never one from another sync’s records', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 10));
    const opened = await set.send('POST', '/syncs', {}, 'open');
    const { id } = opened.body as SyncBody;
    expect(await set.send('POST', '/syncs', {}, 'open')).toMatchObject({ status: 201, body: { id } });
    const reused = await set.send('POST', '/syncs', { capacity: 7 }, 'open');
    expect(reused).toMatchObject(refusal(422, 'IDEMPOTENCY_KEY_REUSED'));

    const list = [...urls(0, 8), url('new')];
    const lines = await set.list(id, list, 'lines');
    expect(lines.body).toMatchObject({ results: [...all(8, 'kept'), 'new'] });
    expect((await set.list(id, list, 'lines')).body).toEqual(lines.body);
    expect(await set.sync(id)).toMatchObject({ listed: 9, new: 1 });
    await set.committed(id);
    expect(await set.send('POST', '/syncs', {}, 'open')).toMatchObject({
      status: 201,
      body: { id, state: 'committed' },
    });
    expect(await set.list(id, list, 'others')).toMatchObject(refusal(409, 'SYNC_ENDED'));
    // If the service answered this from the record, the next sync would have no lines.
    const next = await set.open();
    expect(await set.list(next.id, list, 'lines')).toMatchObject(refusal(422, 'IDEMPOTENCY_KEY_REUSED'));
    expect(await set.sync(next.id)).toMatchObject({ listed: 0 });
  });

  it('give a call repeated with its operation key the same answer, even after the next sync was opened', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 5));
    const { id } = (await set.send('POST', '/syncs', {}, 'open')).body as SyncBody;
    const json = await set.list(id, urls(0, 9), 'json');
    const headers = { 'idempotency-key': 'stream' };
    const streamed = await set.stream(id, urls(3, 12), { headers });
    const committed = await set.send('POST', `/syncs/${id}/commit`, { force: true }, 'commit');
    expect(committed).toMatchObject({ status: 200, body: { state: 'committed' } });
    const abandoned = await set.open();
    const deleted = await set.send('DELETE', `/syncs/${abandoned.id}`, undefined, 'delete');
    const next = await set.open();
    expect(await set.send('POST', '/syncs', {}, 'open')).toMatchObject({ status: 201, body: { id } });
    expect(await set.list(id, urls(0, 9), 'json')).toMatchObject({ status: 200, body: json.body });
    const again = await set.stream(id, urls(3, 12), { headers });
    expect([again.status, again.lines]).toEqual([200, streamed.lines]);
    expect(await set.send('POST', `/syncs/${id}/commit`, { force: true }, 'commit')).toMatchObject({
      ...{ status: 200, body: committed.body },
    });
    const deletedAgain = await set.send('DELETE', `/syncs/${abandoned.id}`, undefined, 'delete');
    expect([deletedAgain.status, deleted.status]).toEqual([204, 204]);
    expect(await set.sync(id)).toEqual(committed.body);
    expect(await set.list(id, urls(0, 9))).toMatchObject(refusal(409, 'SYNC_ENDED'));
    expect((await set.describe()).sync).toMatchObject({ id: next.id, listed: 0 });
  });

  it('answer lines repeated after the commit as before it', async () => {
    const set = await Synced.visitedSet(app);
    const { id } = await set.open();
    const lines = await set.list(id, urls(0, 9), 'lines');
    await set.committed(id);
    expect(await set.list(id, urls(0, 9), 'lines')).toMatchObject({ status: 200, body: lines.body });
  });

  it('answer a repeated stream’s executed part from its records', async () => {
    const set = await Synced.visitedSet(app, { capacity: 10_000 });
    const { id } = await set.open();
    const headers = { 'idempotency-key': 'stream' };
    const cut = await set.stream(id, [...urls(0, 1_000)], { headers });
    const whole = await set.stream(id, urls(0, 1_500), { headers });
    expect(whole.lines[0]).toEqual(cut.lines[0]);
    expect(whole.lines[0]).toMatchObject({ results: all(1_000, 'new') });
    expect(await set.sync(id)).toMatchObject({ listed: 1_500, new: 1_500 });
  });

  it('count a broken stream’s lines once when it is repeated with its operation key', async () => {
    const set = await Synced.visitedSet(app, { capacity: 10_000 });
    const { id } = await set.open();
    const list = urls(0, 2_500);
    const headers = { 'idempotency-key': 'cut' };
    const broken = request(`${app.url}${set.path}/syncs/${id}/urls`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/plain' },
    });
    // Breaks in the middle of the second block, after the first one is done.
    broken.write(`${list.slice(0, 1_500).join('\n')}\n`);
    const [answer] = (await once(broken, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    broken.on('error', () => undefined);
    await once(answer, 'data');
    broken.destroy();

    const whole = await set.stream(id, list, { headers });
    expect(whole.lines.at(-1)).toEqual({
      done: true,
      counts: { kept: 0, new: 2_500, forgotten: 0, invalid: 0 },
    });
    expect(await set.sync(id)).toMatchObject({ listed: 2_500, new: 2_500 });
  });

  it('forget URLs that are forgotten during the sync, before or after their line, unless visited again', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 10));
    const { id } = await set.open();
    expect(await set.batch('forget', [url(0), url(1), url('absent')])).toEqual([
      ...['forgotten', 'forgotten', 'absent'],
    ]);
    expect(await set.listed(id, [...urls(0, 10), url('absent')])).toEqual([
      ...['forgotten', 'forgotten'],
      ...all(8, 'kept'),
      'forgotten',
    ]);
    expect(await set.batch('forget', [url(2)])).toEqual(['forgotten']);
    expect(await set.batch('visit', [url(1)])).toEqual(['new']);
    expect(await set.listed(id, [url(1), url(2)])).toEqual(['kept', 'forgotten']);
    await set.committed(id);
    expect(await set.batch('check', urls(0, 4))).toEqual(['unseen', 'seen', 'unseen', 'seen']);
    expect(await set.batch('check', [url('absent')])).toEqual(['unseen']);
  });

  it('keep URLs in the queue, waiting, leased, delayed, or dead, but not acknowledged ones', async () => {
    const set = await Synced.visitedSet(app, { maxAttempts: 1 });
    interface Leased {
      readonly urls: { readonly id: string; readonly url: string }[];
    }
    await set.batch('discover', urls(0, 5));
    const lease = async (max: number): Promise<Leased['urls']> =>
      ((await set.send('POST', '/queue/lease', { max, leaseSeconds: 3_600 })).body as Leased).urls;
    const [acked] = await lease(1);
    await set.send('POST', '/queue/ack', { ids: [acked!.id] });
    const [dead] = await lease(1);
    await set.send('POST', '/queue/release', { ids: [dead!.id] });
    const [leased] = await lease(1);
    await set.batch('visit', [url('visited')]);
    const { id } = await set.open();
    await set.batch('discover', [url('discovered')]);
    expect(await set.committed(id)).toMatchObject({ wouldForget: 2 });
    const left = urls(0, 5).filter((one) => one !== acked!.url);
    expect(left).toEqual(expect.arrayContaining([dead!.url, leased!.url]));
    expect(await set.batch('check', [...left, url('discovered')])).toEqual(all(5, 'seen'));
    expect(await set.batch('check', [acked!.url, url('visited')])).toEqual(['unseen', 'unseen']);
    expect((await set.describe()).queue).toMatchObject({ waiting: 3, leased: 1, dead: 1 });
  });

  it('refuse to forget more than allowed, naming both figures, unless forced', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 100));
    const { id } = await set.open();
    await set.listed(id, urls(0, 40));
    const dry = { maxForgetShare: 0.5, refused: true, state: 'open', wouldForget: 60 };
    expect(await set.commit(id, { dryRun: true })).toMatchObject({ status: 200, body: dry });
    const refused = await set.commit(id);
    expect(refused).toMatchObject(refusal(409, 'SYNC_WOULD_FORGET'));
    expect((refused.body as { detail: string }).detail).toMatch(/would forget 60 of the 100 items.* 50 %/);
    expect(await set.commit(id, { maxForgetShare: 0.59 })).toMatchObject(refusal(409, 'SYNC_WOULD_FORGET'));
    expect(await set.commit(id, { dryRun: true, maxForgetShare: 0.6 })).toMatchObject({
      status: 200,
      body: { maxForgetShare: 0.6, refused: false },
    });
    expect(await set.commit(id, { dryRun: true, force: true })).toMatchObject({
      status: 200,
      body: { maxForgetShare: 1, refused: false },
    });
    // None of these calls changed anything.
    expect(await set.sync(id)).toMatchObject({ state: 'open', listed: 40, wouldForget: 60 });
    expect(await set.batch('check', urls(0, 100))).toEqual(all(100, 'seen'));
    expect(await set.committed(id, { maxForgetShare: 0.6 })).toMatchObject({ state: 'committed' });
    expect(await set.commit(id, { dryRun: true })).toMatchObject({ status: 200, body: { refused: false } });

    const next = await set.open();
    expect(await set.commit(next.id)).toMatchObject(refusal(409, 'SYNC_WOULD_FORGET'));
    expect(await set.committed(next.id, { force: true })).toMatchObject({ wouldForget: 40 });
    expect(await set.describe()).toMatchObject({ items: 0 });
    // An empty set has nothing to forget.
    await set.committed((await set.open()).id);
  });

  it('can be abandoned without a trace', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 10));
    const { id } = await set.open();
    await set.listed(id, [url(0), url('only listed')]);
    for (let time = 0; time < 2; time++) expect(await set.abandon(id)).toMatchObject({ status: 204 });
    expect(await set.sync(id)).toMatchObject({
      state: 'abandoned',
      reason: 'a caller abandoned it',
      memoryBytes: 0,
    });
    expect(await set.describe()).not.toHaveProperty('sync');
    expect(await set.batch('check', [...urls(0, 10), url('only listed')])).toEqual([
      ...all(10, 'seen'),
      'unseen',
    ]);
    for (const body of [{}, { dryRun: true }, { force: true }])
      expect(await set.commit(id, body)).toMatchObject(refusal(409, 'SYNC_ENDED'));
    expect(await set.list(id, [url(0)])).toMatchObject(refusal(409, 'SYNC_ENDED'));
  });

  it('end once: later calls are refused, mid-stream by the last line', async () => {
    const set = await Synced.visitedSet(app);
    const { id } = await set.open();
    expect(await set.send('POST', '/syncs')).toMatchObject(refusal(409, 'SYNC_EXISTS'));
    await set.committed(id);
    expect(await set.committed(id)).toMatchObject({ state: 'committed' });
    expect(await set.list(id, [url(0)])).toMatchObject(refusal(409, 'SYNC_ENDED'));
    expect(await set.abandon(id)).toMatchObject(refusal(409, 'SYNC_ENDED'));
    const late = await set.stream(id, urls(0, 10));
    expect(late).toMatchObject({ status: 409, lines: [{ code: 'SYNC_ENDED' }] });
    await set.open();
    expect(await set.sync(id)).toMatchObject({ state: 'committed' });
  });

  it('end an open stream with an error line when they end', async () => {
    const set = await Synced.visitedSet(app, { capacity: 10_000 });
    const { id } = await set.open();
    const encoder = new TextEncoder();
    let go: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (go = resolve));
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encoder.encode(`${urls(0, 1_000).join('\n')}\n`));
        await ended;
        controller.enqueue(encoder.encode(`${urls(1_000, 2_000).join('\n')}\n`));
        controller.close();
      },
    });
    const answer = await fetch(`${app.url}${set.path}/syncs/${id}/urls`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body,
      duplex: 'half',
    });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('\n')) text += (await reader.read()).value ?? '';
    await set.abandon(id);
    go();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    const lines = text.trimEnd().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ from: 1, results: all(1_000, 'new') });
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ error: { code: 'SYNC_ENDED' }, line: 1_001 });
  });

  it('resize the set: a new capacity and error rate, and a repeated creation still finds the set', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 100));
    const { memoryBytes } = await set.describe();
    const opened = await set.open({ capacity: 20_000, errorRate: 0.001 });
    expect(opened).toMatchObject({ capacity: 20_000, errorRate: 0.001 });
    await set.listed(opened.id, urls(0, 100));
    await set.committed(opened.id);
    const renewed = await set.describe();
    expect(renewed).toMatchObject({ items: 100, capacity: 20_000, errorRate: 0.001, growth: 'auto' });
    expect(renewed.memoryBytes).toBeGreaterThan(memoryBytes as number);
    expect(await set.batch('check', urls(0, 101))).toEqual([...all(100, 'seen'), 'unseen']);
    const { id } = await set.open({ capacity: 100 });
    await set.listed(id, urls(0, 100));
    await set.committed(id);
    const small = await set.describe();
    expect(small.memoryBytes).toBeLessThan(memoryBytes as number);
    expect(small).toMatchObject({ capacity: 100, errorRate: 0.001 });
    expect(await set.batch('check', urls(0, 101))).toEqual([...all(100, 'seen'), 'unseen']);
    expect(await set.batch('forget', [url(0)])).toEqual(['forgotten']);
    const spec = { name: set.name, capacity: 1_000, errorRate: 1e-6 };
    expect((await fetchJson(app, '/v1/visited-sets', spec)).status).toBe(200);
  });

  it('grow as the set does, for an input list longer than its first layer', async () => {
    const set = await Synced.visitedSet(app);
    await set.batch('visit', urls(0, 500));
    const { id } = await set.open({ capacity: 100 });
    expect(await set.listed(id, urls(0, 400))).toEqual(all(400, 'kept'));
    await set.committed(id);
    const { layers, items } = await set.describe();
    expect(items).toBe(400);
    expect((layers as object[]).length).toBeGreaterThan(1);
    expect(await set.batch('check', urls(0, 500))).toEqual([...all(400, 'seen'), ...all(100, 'unseen')]);
    expect(await set.batch('forget', urls(0, 400))).toEqual(all(400, 'forgotten'));
    expect(await set.describe()).toMatchObject({ items: 0, fill: 0 });
  });

  it('end when the set is cleared or deleted', async () => {
    const set = await Synced.visitedSet(app);
    const { id } = await set.open();
    expect(await set.send('POST', '/clear')).toMatchObject({ status: 200 });
    expect(await set.send('GET', `/syncs/${id}`)).toMatchObject(refusal(404, 'SYNC_NOT_FOUND'));
    await set.open();
    expect(await set.send('DELETE', '')).toMatchObject({ status: 204 });
    expect(await set.send('POST', '/syncs')).toMatchObject(refusal(404, 'VISITED_SET_NOT_FOUND'));
  });

  it('refuse invalid calls and unknown ids', async () => {
    const set = await Synced.visitedSet(app);
    const invalid = refusal(400, 'VALIDATION_FAILED');
    const bodies = [{ capacity: 0 }, { capacity: null }, { errorRate: 0.6 }, { growth: 'none' }, [], null];
    for (const body of bodies)
      expect([body, await set.send('POST', '/syncs', body)]).toMatchObject([body, invalid]);
    const { id } = await set.open();
    const commits = [
      { force: 'yes' },
      { dryRun: 1 },
      { maxForgetShare: 1.1 },
      { maxForgetShare: -1 },
      { maxForgetShare: '1' },
      { force: true, maxForgetShare: 0.5 },
      { other: 1 },
    ];
    for (const body of commits) expect([body, await set.commit(id, body)]).toMatchObject([body, invalid]);
    expect(await set.send('POST', `/syncs/${id}/urls`, { items: ['x'] })).toMatchObject(invalid);
    for (const other of ['0123456789abcdef', 'x', `${id}0`, 'a'.repeat(90)]) {
      const notFound = refusal(404, 'SYNC_NOT_FOUND');
      expect(await set.send('GET', `/syncs/${other}`)).toMatchObject(notFound);
      expect(await set.list(other, [url(0)])).toMatchObject(notFound);
      expect(await set.stream(other, [url(0)])).toMatchObject({ status: 404 });
      expect(await set.commit(other)).toMatchObject(notFound);
      expect(await set.commit(other, { dryRun: true })).toMatchObject(notFound);
      expect(await set.abandon(other)).toMatchObject(notFound);
    }
    expect(await set.sync(id)).toMatchObject({ state: 'open', listed: 0 });
  });

  it('are counted in the metrics', async () => {
    const set = await Synced.visitedSet(app);
    const { id } = await set.open();
    await set.listed(id, [url(0), 'nonsense']);
    const page = await scrape(app);
    expect(page.value('unseen_items_total{verb="keep-url",verdict="new"}')).toBeGreaterThan(0);
    expect(page.value(`unseen_filter_open_syncs{kind="visited-set",filter="${set.name}"}`)).toBe(1);
  });
});

describe.each(STORES)('syncs on filters over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it.each(['counting', 'standard'])('keep listed items in a %s filter', async (type) => {
    const filter = await Synced.filter(app, { type });
    await filter.batch('add', ['a', 'b', 'c', 'd']);
    const { id } = await filter.open({ capacity: 500 });
    expect(await filter.list(id, ['a', 'b', 'a', 'new'])).toMatchObject({
      status: 200,
      body: { results: ['kept', 'kept', 'kept', 'new'] },
    });
    expect(await filter.batch('add', ['c', 'e', 'new'])).toEqual([false, true, false]);
    expect(await filter.stream(id, ['a'])).toMatchObject({
      status: 200,
      lines: [
        { from: 1, results: ['kept'] },
        { done: true, counts: { kept: 1, new: 0, forgotten: 0 } },
      ],
    });
    expect(await filter.committed(id)).toMatchObject({ wouldForget: 1 });
    expect(await filter.batch('check', ['a', 'b', 'c', 'd', 'e', 'new'])).toEqual([
      ...[true, true, true, false, true, true],
    ]);
    expect(await filter.describe()).toMatchObject({ items: 5, capacity: 500, growth: 'none' });
  });

  it('refuse multisets', async () => {
    const filter = await Synced.filter(app, { semantics: 'multiset' });
    expect(await filter.send('POST', '/syncs')).toMatchObject(refusal(409, 'SYNC_UNSUPPORTED'));
    const missing = refusal(404, 'FILTER_NOT_FOUND');
    const dropped = await Synced.filter(app);
    await dropped.send('DELETE', '');
    expect(await dropped.send('POST', '/syncs')).toMatchObject(missing);
    expect(await dropped.send('GET', '/syncs/0123456789abcdef')).toMatchObject(missing);
    expect(await dropped.list('0123456789abcdef', ['a'])).toMatchObject(missing);
  });

  it('are full at twice their capacity, before anything changes', async () => {
    const filter = await Synced.filter(app);
    const { id } = await filter.open({ capacity: 10 });
    const many = Array.from({ length: 200 }, (_, n) => `item ${n}`);
    expect(await filter.list(id, many)).toMatchObject(refusal(507, 'FILTER_FULL'));
    expect(await filter.sync(id)).toMatchObject({ state: 'open', listed: 0 });
    expect(await filter.listed(id, many.slice(0, 10))).toEqual(all(10, 'new'));
  });

  it('export the committed contents', async () => {
    const filter = await Synced.filter(app);
    await filter.batch('add', ['a', 'b']);
    const { id } = await filter.open();
    await filter.listed(id, ['a']);
    await filter.committed(id);
    const file = await (await fetch(`${app.url}${filter.path}/export`)).arrayBuffer();
    const copy = `${filter.name}-copy`;
    const imported = await fetch(`${app.url}/v1/filters/import?name=${copy}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
    });
    expect([imported.status, await imported.json()]).toMatchObject([201, { items: 1, name: copy }]);
    const checked = await fetchJson(app, `/v1/filters/${copy}/items/check`, { items: ['a', 'b'] });
    expect(await checked.json()).toEqual({ results: [true, false] });
  });
});

describe.each(STORES)('settings and permissions of syncs, $name store', ({ start }) => {
  it('limit a sync’s size, and how much it forgets', async () => {
    const app = await start({ MAX_FILTER_BYTES: '65536', SYNC_MAX_FORGET_SHARE: '0.1' });
    try {
      const filter = await Synced.filter(app);
      expect(await filter.send('POST', '/syncs', { capacity: 1_000_000 })).toMatchObject(
        refusal(422, 'FILTER_TOO_LARGE'),
      );
      await filter.batch('add', ['a', 'b', 'c', 'd', 'e']);
      const { id } = await filter.open();
      await filter.listed(id, ['a', 'b', 'c', 'd']);
      const refused = await filter.commit(id);
      expect(refused).toMatchObject(refusal(409, 'SYNC_WOULD_FORGET'));
      expect((refused.body as { detail: string }).detail).toContain('1 of the 5 items');
      expect((refused.body as { detail: string }).detail).toContain('10 %');
      await filter.committed(id, { maxForgetShare: 0.2 });
    } finally {
      await app.close();
    }
  });

  it('need the scope write for lines, and the scope of clear for all other calls', async () => {
    const app = await start();
    try {
      const filter = await Synced.filter(app);
      const { id } = await filter.open();
      const write = await makeKey(app, 'write');
      const admin = await makeKey(app, 'admin');
      const status = async (key: typeof write, method: string, route: string, body?: object) => {
        const answer = await fetch(`${app.url}${filter.path}/syncs${route}`, {
          method,
          headers: { ...key.headers, ...(body && { 'content-type': 'application/json' }) },
          ...(body && { body: JSON.stringify(body) }),
        });
        await answer.arrayBuffer();
        return answer.status;
      };
      expect(await status(write, 'POST', `/${id}/items`, { items: ['a'] })).toBe(200);
      expect(await status(write, 'GET', `/${id}`)).toBe(200);
      expect(await status(write, 'POST', `/${id}/commit`, {})).toBe(403);
      expect(await status(write, 'DELETE', `/${id}`)).toBe(403);
      expect(await status(write, 'POST', '')).toBe(403);
      expect([200, 202]).toContain(await status(admin, 'POST', `/${id}/commit`, {}));
    } finally {
      await app.close();
    }
  });

  it('count a sync’s layers toward a key’s quota of bytes', async () => {
    const app = await start({ AUTH: 'keys' });
    try {
      const ops = await makeKey(app, 'admin');
      const spec = { name: 'tenant-a', type: 'counting', capacity: 1_000, errorRate: 0.01 };
      const as = (headers: Record<string, string>, path: string, body: object) =>
        call(app, 'POST', path, body, headers);
      const made = await as(ops.headers, '/v1/filters', spec);
      const { memoryBytes } = made.body as { memoryBytes: number };
      const limits = { name: 'tenant', scopes: ['admin'], prefix: 'tenant-', maxBytes: 2 * memoryBytes };
      const { key } = (await as(ops.headers, '/v1/keys', limits)).body as { key: string };
      const open = (capacity: number) => as(bearer(key), '/v1/filters/tenant-a/syncs', { capacity });
      expect(await open(2_000)).toMatchObject(refusal(403, 'QUOTA_EXCEEDED'));
      expect(await open(1_000)).toMatchObject({ status: 201, body: { memoryBytes } });
      const { body } = await call(app, 'GET', '/v1/keys', undefined, ops.headers);
      const { keys } = body as { keys: { name: string; usage?: object }[] };
      const tenant = keys.find(({ name }) => name === 'tenant');
      expect(tenant).toMatchObject({ usage: { filters: 1, bytes: 2 * memoryBytes } });
    } finally {
      await app.close();
    }
  });

  it('abandon an idle sync', async () => {
    const app = await start({ SYNC_IDLE_SECONDS: '600' });
    try {
      const set = await Synced.visitedSet(app);
      await set.batch('visit', [url(0)]);
      const { id } = await set.open();
      app.advance(600_000);
      // Describing the set doesn't count as a call on its sync.
      await until('the sync is abandoned', async () => !(await set.describe()).sync);
      const over = { state: 'abandoned', reason: 'no request used it for too long' };
      expect(await set.sync(id)).toMatchObject(over);
      expect(await set.list(id, [url(0)])).toMatchObject(refusal(409, 'SYNC_ENDED'));
      expect(await set.batch('check', [url(0)])).toEqual(['seen']);
    } finally {
      await app.close();
    }
  });
});

function fetchJson(app: TestApp, path: string, body: object): Promise<Response> {
  return fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
