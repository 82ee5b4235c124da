import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { encodeExportFile, type ExportHeader, type Part } from '#store';
import { call, freshName, startApp, type Answer, type TestApp } from '../support/app.js';
import { generationsIn } from '../support/embedded-generations.js';
import { documentedCalls, promised } from '../support/documented-calls.js';
import { collect, readFile } from '../support/export-files.js';
import { patienceMs } from '../support/patience.js';
import { SEED } from '../support/random.js';
import { startProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { untilIdle } from './in-flight.js';
import { BOTH_STORES, STORES } from './stores.js';

const TYPE = 'application/vnd.unseen.filter';
const run = promisify(execFile);

async function download(app: { readonly url: string }, path: string): Promise<Buffer> {
  const answer = await fetch(`${app.url}${path}`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

async function upload(
  app: { readonly url: string },
  path: string,
  body: Buffer | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const init = { method: 'POST', body, headers: { 'content-type': TYPE, ...headers } };
  const answer = await fetch(`${app.url}${path}`, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: JSON.parse(text) };
}

/** A small counting filter with a few items. */
async function smallFilter(app: TestApp, name = freshName()): Promise<string> {
  const spec = { name, type: 'counting', capacity: 10, errorRate: 0.1 };
  expect((await call(app, 'POST', '/v1/filters', spec)).status).toBe(201);
  await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['a', 'b', 'c'] });
  return name;
}

/** The file with changed members in its header, and valid checksums. */
async function forged(file: Buffer, changes: Partial<ExportHeader>): Promise<Buffer> {
  const { header, parts } = await readFile(file);
  return collect(encodeExportFile({ ...header, ...changes }, given(parts)));
}

async function* given(parts: readonly Part[]): AsyncGenerator<Part, void, undefined> {
  yield* parts;
}

/** The parts of a description that must be equal in a filter and its import. */
function common(body: unknown): unknown {
  const { name: _, generation: __, createdAt: ___, ...rest } = body as Record<string, unknown>;
  return rest;
}

describe.each(STORES)('export and import on $name', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  const get = (path: string) => call(app, 'GET', path);
  const refused = async (body: Buffer | string, name = freshName('no')) => {
    const answer = await upload(app, `/v1/filters/import?name=${name}`, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    return (answer.body as { detail: string }).detail;
  };

  it('a filter is imported unchanged under another name', async () => {
    const name = await smallFilter(app);
    const answer = await fetch(`${app.url}/v1/filters/${name}/export`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': TYPE,
      'content-disposition': `attachment; filename="${name}.unseen"`,
      'cache-control': 'no-store',
    });
    const file = Buffer.from(await answer.arrayBuffer());
    const imported = await upload(app, `/v1/filters/import?name=${name}.copy`, file);
    expect(imported).toMatchObject({ status: 201, body: { name: `${name}.copy`, items: 3, added: 3 } });
    expect(imported.headers.get('location')).toBe(`/v1/filters/${name}.copy`);
    const original = (await get(`/v1/filters/${name}`)).body;
    expect(common((await get(`/v1/filters/${name}.copy`)).body)).toEqual(common(original));
    expect((imported.body as { generation: string }).generation).not.toBe(
      (original as { generation: string }).generation,
    );
    const items = { items: ['a', 'b', 'c', 'd'] };
    expect((await call(app, 'POST', `/v1/filters/${name}.copy/items/check`, items)).body).toEqual({
      results: [true, true, true, false],
    });
  });

  it.each([
    ['javascript:alert(1)', 'is not a valid URL for this set'],
    ['', 'is not a valid URL for this set'],
    ['https://other.example/', 'does not match its URL'],
    [`https://example.org/${'x'.repeat(8_192)}`, 'must have at most 8192 bytes in UTF-8, not 8212'],
  ])('a queue with an entry that discover would not make is refused: %.40s', async (url, why) => {
    const name = freshName('crawl');
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 100 });
    await call(app, 'POST', `/v1/visited-sets/${name}/urls/discover`, { urls: ['https://example.org/a'] });
    const { header, parts } = await readFile(await download(app, `/v1/visited-sets/${name}/export`));
    const changed = parts.map((part): Part => {
      if (part.type !== 'queue') return part;
      return { ...part, entries: part.entries.map((entry) => ({ ...entry, payload: Buffer.from(url) })) };
    });
    const file = await collect(encodeExportFile(header, given(changed)));
    const answer = await upload(app, `/v1/visited-sets/import?name=${name}.copy`, file);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', detail: expect.stringContaining(why) },
    });
    expect((await get(`/v1/visited-sets/${name}.copy`)).status).toBe(404);
    // The unchanged file is accepted.
    const whole = await collect(encodeExportFile(header, given(parts)));
    expect((await upload(app, `/v1/visited-sets/import?name=${name}.copy`, whole)).status).toBe(201);
  });

  it('under its own name, after it is deleted', async () => {
    const name = await smallFilter(app);
    const file = await download(app, `/v1/filters/${name}/export`);
    await call(app, 'DELETE', `/v1/filters/${name}`);
    const octets = { 'content-type': 'application/octet-stream' };
    expect((await upload(app, '/v1/filters/import', file, octets)).status).toBe(201);
    const counted = await call(app, 'POST', `/v1/filters/${name}/items/count`, { items: ['a', 'd'] });
    expect(counted.body).toEqual({ results: [1, 0] });
  });

  it('a visited set with its queue and its URL profile', async () => {
    const name = freshName('crawl');
    const urlProfile = { base: 'safe', stripWww: true };
    const made = await call(app, 'POST', '/v1/visited-sets', { name, capacity: 100, urlProfile });
    expect(made.status).toBe(201);
    const urls = ['https://www.example.org/a', 'https://example.org/b?y=1&x=2', 'https://ü.example/'];
    await call(app, 'POST', `/v1/visited-sets/${name}/urls/discover`, { urls });
    await call(app, 'POST', `/v1/visited-sets/${name}/queue/lease`, { max: 1, leaseSeconds: 600 });
    const file = await download(app, `/v1/visited-sets/${name}/export`);
    const imported = await upload(app, `/v1/visited-sets/import?name=${name}.copy`, file);
    expect(imported).toMatchObject({ status: 201, body: { queue: { waiting: 3, leased: 0 } } });
    expect((imported.body as { urlProfile: unknown }).urlProfile).toEqual(
      (made.body as { urlProfile: unknown }).urlProfile,
    );
    const path = `/v1/visited-sets/${name}.copy`;
    const again = await call(app, 'POST', `${path}/urls/discover`, {
      urls: ['https://example.org/a', 'https://example.org/b?x=2&y=1', 'https://example.org/new'],
    });
    expect(again.body).toMatchObject({ results: ['seen', 'seen', 'new'] });
    const leased = await call(app, 'POST', `${path}/queue/lease`, { max: 10, leaseSeconds: 600 });
    const entries = (leased.body as { urls: { url: string; attempt: number }[] }).urls;
    expect(entries.map(({ url }) => url).sort()).toEqual([...urls, 'https://example.org/new'].sort());
    expect(entries.map(({ attempt }) => attempt).sort()).toEqual([1, 1, 1, 2]);
  });

  // The reader's unit tests do this at every byte.
  it(`a file cut short in its head, at one of every 32 bytes (SEED=${SEED}) or at the last is refused, and creates no filter`, async () => {
    const name = freshName('cut');
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    for (const length of someBytesOf(file)) await refused(file.subarray(0, length), name);
    expect((await get(`/v1/filters/${name}`)).status).toBe(404);
    expect((await upload(app, `/v1/filters/import?name=${name}`, file)).status).toBe(201);
  });

  it(`a file with a byte altered in its head, at one of every 32 bytes (SEED=${SEED}) or at the end is refused, and creates no filter`, async () => {
    const name = freshName('altered');
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    for (const at of someBytesOf(file)) {
      const altered = Buffer.from(file);
      altered[at] = altered[at]! ^ 0x01;
      await refused(altered, name);
    }
    expect((await get(`/v1/filters/${name}`)).status).toBe(404);
    expect((await upload(app, `/v1/filters/import?name=${name}`, file)).status).toBe(201);
  });

  it('an upload that breaks off leaves nothing', async () => {
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    const name = freshName('broken');
    const path = `/v1/filters/import?name=${name}`;
    for (const length of [5, 40, file.length - 10, file.length - 1]) {
      const sending = open(app, 'POST', path, { 'content-length': String(file.length) });
      sending.write(file.subarray(0, length));
      await new Promise((resolve) => setTimeout(resolve, 50));
      sending.destroy();
      await until('the filter does not exist', async () => (await get(`/v1/filters/${name}`)).status === 404);
    }
    expect((await upload(app, path, file)).status).toBe(201);
  });

  it('files in other formats are refused, saying so', async () => {
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    for (const foreign of ['{"name":"crawl"}', 'GIF89a…', gzipSync(file), Buffer.alloc(100_000)]) {
      expect(await refused(foreign)).toContain('its signature is missing');
    }
    const later = Buffer.from(file);
    later[11] = 99;
    expect(await refused(later)).toContain('format version 99; this service reads versions 1 to 2');
    for (const type of ['application/json', 'text/plain', 'image/png']) {
      const answer = await upload(app, '/v1/filters/import', '{}', { 'content-type': type });
      expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
    }
    const add = await upload(app, `/v1/filters/${await smallFilter(app)}/items/add`, file);
    expect(add).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  });

  it('every forged header is refused', async () => {
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    const { header } = await readFile(file);
    const geometry = (changes: object) => ({ geometry: { ...header.geometry, ...changes } });
    for (const [changes, detail] of [
      [geometry({ hashes: 0 }), 'hashes must be a whole number from 1 to 32, not 0'],
      [geometry({ segments: 2 ** 31 }), 'segments must be a whole number from 1 to 65536'],
      [geometry({ hashScheme: 99 }), 'hash scheme 99 is unknown'],
      [{ capacity: 2 ** 40 }, 'fewer than the capacity 1099511627776'],
    ] as const) {
      expect(await refused(await forged(file, changes))).toContain(detail);
    }
    for (const name of ['../etc/passwd', ':a', 'unseen:{x}', `${'x'.repeat(64)} `, '']) {
      for (const [path, body] of [
        ['/v1/filters/import', await forged(file, { name })],
        [`/v1/filters/import?name=${encodeURIComponent(name)}`, file],
      ] as const) {
        const answer = await upload(app, path, body);
        expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      }
    }
  });

  it('a file of the other kind is refused, naming the route that takes it', async () => {
    const name = freshName('crawl');
    await call(app, 'POST', '/v1/visited-sets', { name, capacity: 10 });
    const visitedSet = await download(app, `/v1/visited-sets/${name}/export`);
    expect(await refused(visitedSet)).toContain('import it with POST /v1/visited-sets/import');
    const filter = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    const answer = await upload(app, `/v1/visited-sets/import?name=${freshName()}`, filter);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(JSON.stringify(answer.body)).toContain('POST /v1/filters/import');
    for (const urlProfile of [undefined, { base: 'of another version' }, 7]) {
      const bad = await forged(visitedSet, { urlProfile: urlProfile });
      expect((await upload(app, `/v1/visited-sets/import?name=${freshName()}`, bad)).status).toBe(400);
    }
  });

  it('a name in use is FILTER_EXISTS, and its filter is unchanged', async () => {
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    const name = await smallFilter(app);
    await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['mine'] });
    const before = (await get(`/v1/filters/${name}`)).body;
    const answer = await upload(app, `/v1/filters/import?name=${name}`, file);
    expect(answer).toMatchObject({ status: 409, body: { code: 'FILTER_EXISTS' } });
    expect((await get(`/v1/filters/${name}`)).body).toEqual(before);
  });

  it('G5 repeated with its operation key: the same answer, and no change, and another file is refused', async () => {
    const source = await smallFilter(app);
    const file = await download(app, `/v1/filters/${source}/export`);
    const name = freshName('once');
    const path = `/v1/filters/import?name=${name}`;
    for (const key of ['my-key', undefined]) {
      await call(app, 'DELETE', `/v1/filters/${name}`);
      const first = await upload(app, path, file, key ? { 'idempotency-key': key } : {});
      expect(first.status).toBe(201);
      const id = first.headers.get('idempotency-key')!;
      if (key) expect(id).toBe(key);
      await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['since'] });
      const again = await upload(app, path, file, { 'idempotency-key': id });
      expect(again).toMatchObject({ status: 201, body: { items: 4 } });
      const other = await download(app, `/v1/filters/${source}/export`);
      const reused = await upload(app, path, other, { 'idempotency-key': id });
      expect(reused).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
      expect((await get(`/v1/filters/${name}`)).body).toMatchObject({ items: 4 });
    }
  });

  it('names may equal route names', async () => {
    for (const name of ['import', 'export']) {
      await smallFilter(app, name);
      expect((await get(`/v1/filters/${name}`)).body).toMatchObject({ name, items: 3 });
      const file = await download(app, `/v1/filters/${name}/export`);
      expect((await call(app, 'DELETE', `/v1/filters/${name}`)).status).toBe(204);
      expect((await upload(app, '/v1/filters/import', file)).status).toBe(201);
      expect((await get(`/v1/filters/${name}`)).body).toMatchObject({ name, items: 3 });
    }
    const other = await call(app, 'PUT', '/v1/filters/import', {});
    expect(other.status).toBe(405);
    expect(other.headers.get('allow')).toContain('POST');
  });

  it('an unknown name, or one of the other kind, isn’t exported', async () => {
    expect(await get(`/v1/filters/${freshName()}/export`)).toMatchObject({
      status: 404,
      body: { code: 'FILTER_NOT_FOUND' },
    });
    expect(await get(`/v1/visited-sets/${await smallFilter(app)}/export`)).toMatchObject({
      status: 404,
      body: { code: 'VISITED_SET_NOT_FOUND' },
    });
    expect((await get('/v1/filters/-bad/export')).status).toBe(400);
  });

  it('an export of a filter that is cleared half way is cut off, not ended', async () => {
    const name = freshName('large');
    const spec = { name, type: 'counting', capacity: 5_000_000, errorRate: 1e-3 };
    const made = (await call(app, 'POST', '/v1/filters', spec)).body as { geometry: { segments: number } };
    expect(made.geometry.segments).toBeGreaterThan(2);
    const answer = await answered(open(app, 'GET', `/v1/filters/${name}/export`));
    expect(answer.statusCode).toBe(200);
    await call(app, 'POST', `/v1/filters/${name}/clear`);
    const ended = await new Promise((resolve) => {
      answer.on('error', () => resolve('cut off')).on('end', () => resolve('ended'));
      answer.resume();
    });
    expect(ended).toBe('cut off');
    expect(answer.complete).toBe(false);
  });
});

describe.each(STORES)('limits of export and import on $name', ({ start }) => {
  let app: TestApp;
  afterEach(() => app.close());

  it('a filter larger than allowed, and a body longer than allowed, are refused', async () => {
    app = await start({ MAX_FILTER_BYTES: '65536', MAX_STREAM_BYTES: '1024' });
    const name = await smallFilter(app);
    const file = await download(app, `/v1/filters/${name}/export`);
    expect(file.length).toBeLessThan(1_024);
    const { header } = await readFile(file);
    const larger = await forged(file, { geometry: { ...header.geometry, pagesPerSegment: 4096 } });
    const tooLarge = await upload(app, `/v1/filters/import?name=${freshName()}`, larger);
    expect(tooLarge).toMatchObject({ status: 422, body: { code: 'FILTER_TOO_LARGE' } });
    const spec = { name: freshName(), type: 'counting', capacity: 1_000, errorRate: 1e-3 };
    await call(app, 'POST', '/v1/filters', spec);
    const long = await download(app, `/v1/filters/${spec.name}/export`);
    const copy = freshName();
    const tooLong = await upload(app, `/v1/filters/import?name=${copy}`, long);
    expect(tooLong).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
    expect((await upload(app, `/v1/filters/import?name=${copy}`, file)).status).toBe(201);
  });

  it('a client that pauses too long, on either side, is cut off', async () => {
    app = await start({ STREAM_IDLE_MS: '200' });
    const file = await download(app, `/v1/filters/${await smallFilter(app)}/export`);
    const name = freshName('slow');
    const sending = open(app, 'POST', `/v1/filters/import?name=${name}`, {
      'content-length': String(file.length),
    });
    sending.write(file.subarray(0, -1));
    expect((await answered(sending)).statusCode).toBe(408);
    sending.destroy();
    expect((await call(app, 'GET', `/v1/filters/${name}`)).status).toBe(404);

    const large = { name: freshName('large'), type: 'counting', capacity: 5_000_000, errorRate: 1e-3 };
    await call(app, 'POST', '/v1/filters', large);
    const answer = await answered(open(app, 'GET', `/v1/filters/${large.name}/export`));
    const cut = new Promise((resolve) => answer.on('error', () => resolve('cut off')));
    await untilIdle(app);
    answer.resume();
    expect(await cut).toBe('cut off');
  });
});

describe('an import', () => {
  it('that completed survives kill -9, and one in progress leaves nothing', async () => {
    const first = await startProcess();
    let url = await first.url();
    const post = (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' };
      return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    };
    await post('/v1/visited-sets', { name: 'kept', capacity: 2_000_000 });
    const urls = Array.from({ length: 5_000 }, (_, i) => `https://example.org/${i}`);
    await post('/v1/visited-sets/kept/urls/discover', { urls });
    const file = await download({ url }, '/v1/visited-sets/kept/export');
    expect((await upload({ url }, '/v1/visited-sets/import?name=copy', file)).status).toBe(201);
    const live = await generationsIn(first.dataDir);
    const sending = open({ url }, 'POST', '/v1/visited-sets/import?name=half');
    sending.write(file.subarray(0, -1));
    await until('the import is in progress', async () => {
      return (await generationsIn(first.dataDir)).length > live.length;
    });
    first.child.kill('SIGKILL');
    await first.exit();
    sending.destroy();

    const second = await startProcess({ DATA_DIR: first.dataDir });
    try {
      url = await second.url();
      const check = async (name: string) =>
        (
          await post(`/v1/visited-sets/${name}/urls/check`, { urls: [...urls, 'https://example.org/absent'] })
        ).json();
      expect(await check('copy')).toMatchObject({ results: [...urls.map(() => 'seen'), 'unseen'] });
      const described: unknown = await (await fetch(`${url}/v1/visited-sets/copy`)).json();
      expect(described).toMatchObject({ queue: { waiting: 5_000 } });
      expect(await check('half')).toMatchObject({ code: 'VISITED_SET_NOT_FOUND' });
      await until('the rest of the import is deleted', async () =>
        isDeepStrictEqual(await generationsIn(first.dataDir), live),
      );
      expect((await upload({ url }, '/v1/visited-sets/import?name=half', file)).status).toBe(201);
    } finally {
      await second.clean();
      await first.clean();
    }
  });
});

describe('docs/operations.md: backup', () => {
  const calls = documentedCalls('docs/operations.md').filter(({ command }) => /export|import/.test(command));

  it('is two calls', () => {
    expect(calls).toHaveLength(2);
  });

  it('works as pasted, from the embedded store to Redis', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'unseen-backup-'));
    const from = await startApp();
    const to = await BOTH_STORES[1]!.start();
    try {
      await call(from, 'POST', '/v1/visited-sets', { name: 'crawl', capacity: 1_000_000 });
      const urls = ['https://example.org/1', 'https://example.org/2'];
      await call(from, 'POST', '/v1/visited-sets/crawl/urls/discover', { urls });
      for (const { command, answer = '' } of calls) {
        const here = command
          .replaceAll('http://127.0.0.1:3000', from.url)
          .replaceAll('http://127.0.0.1:3001', to.url);
        const { stdout } = await run('bash', ['-c', here], { cwd: directory, timeout: patienceMs() });
        expect(stdout.trimEnd()).toMatch(promised(answer));
      }
      const leased = await call(to, 'POST', '/v1/visited-sets/crawl/queue/lease', {
        max: 9,
        leaseSeconds: 9,
      });
      const entries = (leased.body as { urls: { url: string }[] }).urls;
      expect(entries.map(({ url }) => url)).toEqual(urls);
      const again = await call(to, 'POST', '/v1/visited-sets/crawl/urls/discover', { urls });
      expect(again.body).toMatchObject({ results: ['seen', 'seen'] });
    } finally {
      await from.close();
      await to.close();
      await rm(directory, { recursive: true });
    }
  });
});

/** The places of some of a file's bytes: those of its head, one of every 32, and the last. */
function someBytesOf({ length }: Buffer): Set<number> {
  const places = Array.from({ length }, (_, at) => at);
  return new Set(places.filter((at) => at < 16 || at % 32 === Math.abs(SEED) % 32 || at === length - 1));
}

function open(
  app: { readonly url: string },
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientRequest {
  const type = method === 'POST' ? { 'content-type': TYPE } : {};
  const opened = request(`${app.url}${path}`, { method, headers: { ...type, ...headers } });
  // Connection errors don't matter here.
  opened.on('error', () => undefined);
  if (method === 'GET') opened.end();
  return opened;
}

function answered(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve).on('close', () => reject(new Error('there was no answer')));
  });
}
