import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { currentLane } from '../support/lanes.mjs';
import { linger } from '../support/in-process.js';
import { PAUSE_MS } from '../../src/batches/line-blocks.js';
import { STORES } from './stores.js';

interface Line {
  from?: number;
  results?: unknown[];
  invalid?: unknown[];
  done?: boolean;
  counts?: Record<string, number>;
  error?: { code: string; detail: string; line?: number };
  line?: number;
}

interface StreamAnswer {
  status: number;
  type: string | null;
  lines: Line[];
  key: string | null;
}

const TYPES = { ndjson: 'application/x-ndjson', text: 'text/plain' } as const;

async function send(
  app: TestApp,
  path: string,
  format: keyof typeof TYPES,
  body: string | Uint8Array | Readable,
  headers: Record<string, string> = {},
): Promise<StreamAnswer> {
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': TYPES[format], ...headers },
    body: body instanceof Readable ? Readable.toWeb(body) : body,
    duplex: 'half',
  });
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    lines: text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line),
    key: response.headers.get('idempotency-key'),
  };
}

async function createFilter(app: TestApp, overrides: object = {}): Promise<string> {
  const name = freshName();
  const body = { name, type: 'counting', capacity: 100_000, errorRate: 0.001, ...overrides };
  expect(await call(app, 'POST', '/v1/filters', body)).toMatchObject({ status: 201 });
  return `/v1/filters/${name}/items`;
}

const numbered = (count: number, of: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => of(i)).join('\n');

describe.each(STORES)('streams over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('answers NDJSON per 1,000 lines, then the counts', async () => {
    const path = await createFilter(app);
    const body = numbered(2_500, (i) => JSON.stringify(`item ${i % 2_000}`));
    const { status, type, lines } = await send(app, `${path}/add`, 'ndjson', body);
    expect({ status, type }).toEqual({ status: 200, type: 'application/x-ndjson' });
    expect(lines.map(({ from }) => from)).toEqual([1, 1_001, 2_001, undefined]);
    expect(lines[0]?.results).toEqual(Array(1_000).fill(true));
    expect(lines[2]?.results).toEqual(Array(500).fill(false));
    expect(lines[3]).toEqual({ done: true, counts: { new: 2_000, duplicate: 500 } });
    const check = await send(
      app,
      `${path}/check`,
      'text',
      numbered(10, (i) => `item ${1_995 + i}`),
    );
    expect(check.lines).toEqual([
      { from: 1, results: [...Array<boolean>(5).fill(true), ...Array<boolean>(5).fill(false)] },
      { done: true, counts: { present: 5, absent: 5 } },
    ]);
  });

  it('accepts text with LF or CRLF, and skips empty lines but counts them', async () => {
    const path = await createFilter(app);
    const { lines } = await send(app, `${path}/add`, 'text', 'a\r\n\n\nb\r\n\r\nñ€😀\n a \n\n');
    expect(lines).toEqual([
      { from: 1, results: [true, true, true, true] },
      { done: true, counts: { new: 4, duplicate: 0 } },
    ]);
    expect(
      (await call(app, 'POST', `${path}/check`, { items: ['a', 'b', 'ñ€😀', ' a ', ''.padEnd(1)] })).body,
    ).toEqual({
      results: [true, true, true, true, false],
    });
  });

  it('answers an empty stream with the route’s counts, all 0', async () => {
    const items = await createFilter(app);
    const name = freshName();
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000, errorRate: 0.01 });
    const urls = `/v1/visited-sets/${name}/urls`;
    const counts = {
      [`${items}/add`]: { new: 0, duplicate: 0 },
      [`${items}/check`]: { present: 0, absent: 0 },
      [`${items}/remove`]: { removed: 0, absent: 0, saturated: 0 },
      [`${items}/count`]: { present: 0, absent: 0 },
      [`${urls}/discover`]: { new: 0, seen: 0, invalid: 0 },
      [`${urls}/visit`]: { new: 0, seen: 0, invalid: 0 },
      [`${urls}/check`]: { seen: 0, unseen: 0, invalid: 0 },
      [`${urls}/forget`]: { forgotten: 0, absent: 0, saturated: 0, invalid: 0 },
    };
    for (const [path, none] of Object.entries(counts)) {
      for (const body of ['', '\n\n\r\n']) {
        const { status, lines } = await send(app, path, 'text', body);
        expect({ path, status, lines }).toEqual({ path, status: 200, lines: [{ done: true, counts: none }] });
      }
    }
  });

  it('counts empty lines in line numbers, and not in results and invalid lines', async () => {
    const name = freshName();
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000, errorRate: 0.01 });
    const body = `${'\n'.repeat(1_500)}https://example.org/\n\nno URL\n${'\n'.repeat(1_000)}https://example.org/2`;
    const { lines } = await send(app, `/v1/visited-sets/${name}/urls/visit`, 'text', body);
    expect(lines).toEqual([
      { from: 1_001, results: ['new', 'invalid'], invalid: [{ index: 1, reason: expect.anything() }] },
      { from: 2_001, results: ['new'], invalid: [] },
      { done: true, counts: { new: 2, seen: 0, invalid: 1 } },
    ]);
  });

  it('streams removals and counts', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    await send(app, `${path}/add`, 'text', 'a\na\nb');
    expect((await send(app, `${path}/count`, 'text', 'a\nb\nc')).lines[0]).toEqual({
      from: 1,
      results: [2, 1, 0],
    });
    expect((await send(app, `${path}/remove`, 'ndjson', '"a"\n"c"')).lines).toEqual([
      { from: 1, results: ['removed', 'absent'] },
      { done: true, counts: { removed: 1, absent: 1, saturated: 0 } },
    ]);
  });

  it('answers the lines before a bad one, and names it', async () => {
    const path = await createFilter(app);
    const bad = [...Array.from({ length: 1_499 }, (_, i) => `"item ${i}"`), '{"broken', '"after"'].join('\n');
    const { status, lines } = await send(app, `${path}/add`, 'ndjson', bad);
    expect(status).toBe(200);
    expect(lines.map(({ from, results }) => [from, results?.length])).toEqual([
      [1, 1_000],
      [1_001, 499],
      [undefined, undefined],
    ]);
    expect(lines[2]).toMatchObject({
      line: 1_500,
      error: { code: 'VALIDATION_FAILED', line: 1_500, status: 400 },
    });
    expect(lines[2]?.error?.detail).toContain('line 1500 must be a JSON string; it is ');
    const check = await call(app, 'POST', `${path}/check`, { items: ['item 0', 'item 1498', 'after'] });
    expect(check.body).toEqual({ results: [true, true, false] });
  });

  it('answers an immediate failure as an ordinary problem', async () => {
    const path = await createFilter(app);
    expect(await send(app, `${path}/add`, 'ndjson', '7\n"a"')).toMatchObject({
      status: 400,
      type: 'application/problem+json',
      lines: [{ code: 'VALIDATION_FAILED', line: 1 }],
    });
    const missing = `/v1/filters/${freshName()}/items`;
    expect(await send(app, `${missing}/add`, 'text', 'a')).toMatchObject({
      status: 404,
      lines: [{ code: 'FILTER_NOT_FOUND' }],
    });
  });

  it('repeats a stream with its operation key without a change, and refuses a different stream', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    const body = numbered(1_500, (i) => `item ${i}`);
    const key = { 'idempotency-key': freshName('stream') };
    const first = await send(app, `${path}/add`, 'text', body, key);
    expect(first.key).toBe(key['idempotency-key']);
    expect(await send(app, `${path}/add`, 'text', body, key)).toEqual(first);
    // The operation key covers the lines, not the way they are sent.
    expect(
      (
        await send(
          app,
          `${path}/add`,
          'ndjson',
          numbered(1_500, (i) => `"item ${i}"`),
          key,
        )
      ).lines,
    ).toEqual(first.lines);
    expect((await send(app, `${path}/count`, 'text', 'item 0\nitem 1499')).lines[0]?.results).toEqual([1, 1]);
    const other = await send(app, `${path}/add`, 'text', body.replace('item 1200', 'other'), key);
    expect(other.lines.map(({ from, line, error }) => from ?? [line, error?.code])).toEqual([
      1,
      [1_001, 'IDEMPOTENCY_KEY_REUSED'],
    ]);
    const made = await send(app, `${path}/add`, 'text', 'once');
    expect(await send(app, `${path}/add`, 'text', 'once', { 'idempotency-key': made.key as string })).toEqual(
      made,
    );
    expect((await send(app, `${path}/count`, 'text', 'once')).lines[0]?.results).toEqual([1]);
  });

  it('continues where a killed stream stopped', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    const key = freshName('killed');
    const first = open(app, `${path}/add`, { 'idempotency-key': key });
    first.on('error', () => undefined);
    first.write(`${numbered(1_000, (i) => `item ${i}`)}\n`);
    const [response] = (await once(first, 'response')) as [IncomingMessage];
    await once(response, 'data');
    first.write('item 1000\nitem');
    first.destroy();
    const whole = await send(
      app,
      `${path}/add`,
      'text',
      numbered(1_200, (i) => `item ${i}`),
      { 'idempotency-key': key },
    );
    expect(whole.lines.at(-1)).toEqual({ done: true, counts: { new: 1_200, duplicate: 0 } });
    const counted = await send(
      app,
      `${path}/count`,
      'text',
      numbered(1_200, (i) => `item ${i}`),
    );
    expect(counted.lines.flatMap(({ results }) => results ?? [])).toEqual(Array(1_200).fill(1));
  });

  it('loses nothing from a stream that is killed in the middle of a block, after a pause', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    const key = { 'idempotency-key': freshName('killed') };
    const list = numbered(1_200, (i) => `item ${i}`);
    const first = open(app, `${path}/add`, key);
    first.on('error', () => undefined);
    first.write(`${numbered(1_100, (i) => `item ${i}`)}\n`);
    const [response] = (await once(first, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    await once(response, 'data');
    await sleep(5 * PAUSE_MS);
    first.destroy();
    await sleep(5 * PAUSE_MS);
    const whole = await send(app, `${path}/add`, 'text', list, key);
    expect(whole.lines.at(-1)).toEqual({ done: true, counts: { new: 1_200, duplicate: 0 } });
    const counted = await send(app, `${path}/count`, 'text', list);
    expect(counted.lines.flatMap(({ results }) => results ?? [])).toEqual(Array(1_200).fill(1));
  });

  it('answers pending lines when the sender pauses, and continues', async () => {
    const path = await createFilter(app);
    for (const [verb, results] of [
      ['add', [true, true, false]],
      ['check', [true, true, true]],
    ] as const) {
      const stream = open(app, `${path}/${verb}`);
      stream.write('a\nb\na\n');
      const [response] = (await once(stream, 'response')) as [IncomingMessage];
      const answers = linesOf(response);
      expect(await answers.next()).toMatchObject({ value: { from: 1, results } });
      stream.write('c\nd');
      expect(await answers.next()).toMatchObject({ value: { from: 4, results: [true] } });
      stream.end('\n');
      expect(await answers.next()).toMatchObject({ value: { from: 5, results: [true] } });
      expect(await answers.next()).toMatchObject({ value: { done: true } });
    }
  });

  it('gives a repeat with an operation key the same answer after any pauses, and changes nothing', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    const key = { 'idempotency-key': freshName('pauses') };
    const item = (i: number): string => `item ${i}\n`;
    const list = Array.from({ length: 1_300 }, (_, i) => item(i)).join('');
    const paused = async (...pauses: number[]): Promise<Line[]> => {
      const stream = open(app, `${path}/add`, key);
      const answered = once(stream, 'response') as Promise<[IncomingMessage]>;
      let sent = 0;
      for (const until of pauses) {
        stream.write(list.slice(sent, list.indexOf(item(until))));
        sent = list.indexOf(item(until));
        await sleep(5 * PAUSE_MS);
      }
      stream.end(list.slice(sent));
      const [response] = await answered;
      return (await text(response))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
    };
    const first = await paused(300, 1_100);
    expect(first.at(-1)).toEqual({ done: true, counts: { new: 1_300, duplicate: 0 } });
    expect(await paused(1, 999, 1_000)).toEqual(first);
    expect((await send(app, `${path}/add`, 'text', list, key)).lines).toEqual(first);
    const counted = await send(app, `${path}/count`, 'text', list);
    expect(counted.lines.flatMap(({ results }) => results ?? [])).toEqual(Array(1_300).fill(1));
  });

  it('refuses to repeat a paused stream under a generated operation id, and changes nothing', async () => {
    const path = await createFilter(app, { semantics: 'multiset' });
    const stream = open(app, `${path}/add`);
    stream.write('a\n');
    const [response] = (await once(stream, 'response')) as [IncomingMessage];
    stream.end('b\n');
    expect(await text(response)).toContain('"done":true');
    const key = { 'idempotency-key': response.headers['idempotency-key'] as string };
    const repeat = await send(app, `${path}/add`, 'text', 'a\nb\n', key);
    expect(repeat).toMatchObject({ status: 422, lines: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] });
    expect((await send(app, `${path}/count`, 'text', 'a\nb')).lines[0]?.results).toEqual([1, 1]);
  });

  it('streams URLs, with their verdicts and the reasons of invalid ones', async () => {
    const name = freshName('v');
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 10_000 });
    const path = `/v1/visited-sets/${name}/urls`;
    const list = ['http://a.org/', 'no url', 'http://A.org', ''].join('\n');
    expect((await send(app, `${path}/discover`, 'text', list)).lines).toEqual([
      { from: 1, results: ['new', 'invalid', 'seen'], invalid: [{ index: 1, reason: 'not absolute' }] },
      { done: true, counts: { new: 1, seen: 1, invalid: 1 } },
    ]);
    expect((await send(app, `${path}/check`, 'ndjson', '"http://a.org"')).lines[0]).toMatchObject({
      results: ['seen'],
    });
    expect((await send(app, `${path}/forget`, 'text', 'http://a.org')).lines[0]).toMatchObject({
      results: ['forgotten'],
    });
    expect((await send(app, `${path}/visit`, 'text', 'http://a.org')).lines[0]).toMatchObject({
      results: ['new'],
    });
  });

  it('answers only with the last line if asked, for clients that send everything first', async () => {
    const path = await createFilter(app);
    const body = numbered(3_000, (i) => `item ${i}`);
    expect((await send(app, `${path}/add?results=none`, 'text', body)).lines).toEqual([
      { done: true, counts: { new: 3_000, duplicate: 0 } },
    ]);
    const bad = await send(app, `${path}/add?results=none`, 'ndjson', '"a"\nbroken');
    expect(bad).toMatchObject({ status: 200, lines: [{ line: 2, error: { code: 'VALIDATION_FAILED' } }] });
    expect(await send(app, `${path}/add?results=some`, 'text', 'a')).toMatchObject({ status: 400 });
  });
});

describe('the limits of streams', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ MAX_STREAM_BYTES: '100000' });
  });
  afterAll(() => app.close());

  it.each([
    ['a line of 9 KB', 'text', `a\n${'x'.repeat(9 * 1024)}`, 2, 'VALIDATION_FAILED'],
    ['an endless line', 'text', `a\nb\n${'x'.repeat(99_000)}`, 3, 'VALIDATION_FAILED'],
    ['a long item written short', 'ndjson', `"a"\n"${'€'.repeat(3_000)}"`, 2, 'VALIDATION_FAILED'],
    ['too many bytes', 'text', 'abcdefghi\n'.repeat(10_001), 10_001, 'BODY_TOO_LARGE'],
    ['a lone surrogate', 'ndjson', '"a"\n"\\ud800"', 2, 'VALIDATION_FAILED'],
    ['an empty string', 'ndjson', '"a"\n""', 2, 'VALIDATION_FAILED'],
    ['an empty line', 'ndjson', '"a"\n\n"b"', 2, 'VALIDATION_FAILED'],
    ['two strings on a line', 'ndjson', '"a"\n"b","c"', 2, 'VALIDATION_FAILED'],
    ['a string over two lines', 'ndjson', '"x"\n"a\nb"\n"c","d"', 2, 'VALIDATION_FAILED'],
    ['a number', 'ndjson', '"a"\n7', 2, 'VALIDATION_FAILED'],
    ['broken UTF-8', 'text', Buffer.from([0x61, 10, 0xc3, 10, 0x62]), 2, 'VALIDATION_FAILED'],
    [
      'broken UTF-8 at the end',
      'ndjson',
      Buffer.from([34, 97, 34, 10, 34, 0xe2, 0x82]),
      2,
      'VALIDATION_FAILED',
    ],
  ] as const)('ends at %s', async (_, format, body, line, code) => {
    const path = await createFilter(app);
    const answer = await send(app, `${path}/add`, format, body);
    expect(answer.status).toBe(200);
    const last = answer.lines.at(-1);
    expect({ line: last?.line, code: last?.error?.code }).toEqual({ line, code });
    const results = answer.lines.flatMap((one) => one.results ?? []);
    expect(results).toHaveLength(line - 1);
  });

  it('accepts long items written with escapes', async () => {
    const path = await createFilter(app);
    const { lines } = await send(app, `${path}/add`, 'ndjson', `"${'\\u0041'.repeat(8_192)}"`);
    expect(lines[0]).toEqual({ from: 1, results: [true] });
  });

  it('accepts chunks that split characters', async () => {
    const path = await createFilter(app);
    const bytes = Buffer.from('€uro\nÿ\n😀\n');
    const chunks = Readable.from(Array.from(bytes, (byte) => Buffer.of(byte)));
    const { lines } = await send(app, `${path}/add`, 'text', chunks);
    // A block ends early if the next chunk comes late.
    expect(lines.flatMap(({ results }) => results ?? [])).toEqual([true, true, true]);
    expect((await call(app, 'POST', `${path}/check`, { items: ['€uro', 'ÿ', '😀'] })).body).toEqual({
      results: [true, true, true],
    });
  });

  it('ends a stream that pauses for too long, at its start and in the middle', async () => {
    const hasty = await startApp({ STREAM_IDLE_MS: '300' });
    try {
      const path = await createFilter(hasty);
      const silent = open(hasty, `${path}/add`);
      silent.write('a');
      const [refusal] = (await once(silent, 'response')) as [IncomingMessage];
      expect(refusal.statusCode).toBe(408);
      expect(await text(refusal)).toContain('"code":"REQUEST_TIMEOUT"');
      const paused = open(hasty, `${path}/add`);
      paused.write(`${numbered(1_000, (i) => `item ${i}`)}\nlast`);
      const [response] = (await once(paused, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      const lines = (await text(response)).trimEnd().split('\n');
      expect(lines).toHaveLength(2);
      const error = { code: 'REQUEST_TIMEOUT' };
      expect(JSON.parse(lines[1] as string)).toMatchObject({ line: 1_001, error });
      for (const each of [silent, paused]) each.on('error', () => undefined).destroy();
    } finally {
      await hasty.close();
    }
  });

  it.each([
    ['at its first line', 'broken\n', 400],
    ['in its second block', `${numbered(1_500, (i) => `"item ${i}"`)}\nbroken\n`, 200],
  ])(
    'keeps reading after a fault %s, so the client gets its answer and no reset',
    async (_, head, status) => {
      const roomy = await startApp();
      const path = await createFilter(roomy);
      const { ms } = linger;
      // Longer than the test lasts. Otherwise, the service may cut off a slow client.
      linger.ms = 600_000;
      try {
        const stream = open(roomy, `${path}/add`, { 'content-type': TYPES.ndjson });
        const sent = once(stream, 'finish');
        // If the connection breaks, this rejects before it is awaited.
        sent.catch(() => undefined);
        stream.write(head);
        stream.end('"x"\n'.repeat(2_000_000));
        const [response] = (await once(stream, 'response')) as [IncomingMessage];
        expect(response.statusCode).toBe(status);
        expect(await text(response)).toContain('"code":"VALIDATION_FAILED"');
        await sent;
      } finally {
        linger.ms = ms;
        await roomy.close();
      }
    },
  );

  it('survives clients that disconnect at any point', async () => {
    const path = await createFilter(app);
    for (const lines of [0, 1, 999, 1_000, 5_000]) {
      const request = open(app, `${path}/add`);
      request.on('error', () => undefined);
      request.write(`${numbered(lines, (i) => `item ${i}`)}\nhalf a li`);
      await sleep(30);
      request.destroy();
    }
    expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
  });

  it('cuts off a client that reads nothing, without filling memory', async () => {
    const unbounded = await startApp({ STREAM_IDLE_MS: '300' });
    try {
      const path = await createFilter(unbounded, { capacity: 5_000_000, errorRate: 0.01 });
      const request = open(unbounded, `${path}/check`);
      const gone = new AbortController();
      request.on('error', () => gone.abort()).on('close', () => gone.abort());
      request.on('response', (response: IncomingMessage) => response.pause().on('error', () => undefined));
      const block = `${numbered(1_000, (i) => `item ${i}`)}\n`;
      for (let blocks = 0; blocks < 20_000 && !gone.signal.aborted; blocks++) {
        if (request.write(block)) continue;
        await once(request, 'drain', { signal: gone.signal }).catch(() => undefined);
      }
      expect(gone.signal.aborted).toBe(true);
    } finally {
      await unbounded.close();
    }
  });
});

describe('a stream of a million lines', () => {
  it.each(currentLane() === 'core' ? (['text'] as const) : (['text', 'ndjson'] as const))(
    'needs no more memory than a short one: %s',
    async (format) => {
      const app = await startApp();
      try {
        const path = await createFilter(app, { capacity: 1_000_000, errorRate: 0.01 });
        const lines = (from: number): string =>
          `${numbered(1_000, (i) => (format === 'text' ? `line ${from + i}` : `"line ${from + i}"`))}\n`;
        const warm = Readable.from(Array.from({ length: 50 }, (_, i) => lines(i * 1_000)));
        await send(app, `${path}/check`, format, warm);
        let peak = 0;
        const before = process.memoryUsage.rss();
        const body = Readable.from(
          (function* () {
            for (let i = 0; i < 1_000; i++) {
              yield lines(i * 1_000);
              if (i % 50 === 0) peak = Math.max(peak, process.memoryUsage.rss());
            }
          })(),
        );
        const answer = await send(app, `${path}/add`, format, body);
        const { counts } = answer.lines.at(-1) as { counts: { new: number; duplicate: number } };
        expect(counts.new + counts.duplicate).toBe(1_000_000);
        expect(counts.new).toBeGreaterThan(990_000);
        // Client and service share this process. The body alone would take 12 MB, and its strings ten times as much.
        expect(peak - before).toBeLessThan(200 * 1024 * 1024);
      } finally {
        await app.close();
      }
    },
    300_000,
  );
});

function open(app: TestApp, path: string, headers: Record<string, string> = {}): ClientRequest {
  const options = { method: 'POST', headers: { 'content-type': 'text/plain', ...headers } };
  return httpRequest(`${app.url}${path}`, options);
}

async function text(response: IncomingMessage): Promise<string> {
  let all = '';
  for await (const chunk of response) all += String(chunk);
  return all;
}

/** An answer's lines as they arrive. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<Line, void, undefined> {
  let rest = '';
  for await (const chunk of response) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as Line;
  }
}
