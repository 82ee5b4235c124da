import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { ERROR_CODES } from '../../src/errors/error-codes.js';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand } from '../support/command-line.js';
import { freePort, startRedis } from '../support/redis-server.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';
import { STORES } from './stores.js';

describe.each(STORES)('operation over HTTP, $name store', ({ start }) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  it('is alive and ready', async () => {
    expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    await until('the store is ready', async () => (await call(app, 'GET', '/readyz')).status === 200);
    const { body } = await call(app, 'GET', '/readyz');
    expect(body).toEqual({ status: 'ready', warnings: expect.any(Array) });
  });
});

describe.each(STORES)('copies inside one request, $name store', ({ start }) => {
  it('count as seen in the answer, the description and the metrics, and a repeat counts once', async () => {
    const app = await start();
    try {
      const name = freshName();
      await call(app, 'POST', '/v1/visited-sets', { name, capacity: 1_000 });
      const set = `/v1/visited-sets/${name}`;
      const urls = Array.from({ length: 5 }, () => 'https://example.org/a');
      const body = { results: ['new', 'seen', 'seen', 'seen', 'seen'], counts: { new: 1, seen: 4 } };
      for (const verb of ['visit', 'discover']) {
        const key = { 'idempotency-key': `${name}-${verb}` };
        for (let time = 0; time < 2; time++) {
          const answer = await call(app, 'POST', `${set}/urls/${verb}`, { urls }, key);
          if (verb === 'visit') expect(answer.body).toMatchObject(body);
        }
      }
      // The set had the URL before the second request, so all five copies are duplicates.
      expect((await call(app, 'GET', set)).body).toMatchObject({ added: 1, duplicate: 9 });
      const lines = (await (await fetch(`${app.url}/metrics`)).text()).split('\n');
      // The metrics count answers, so the repeat counts too.
      expect(lines).toContain('unseen_items_total{verb="visit",verdict="seen"} 8');
      expect(lines).toContain('unseen_items_total{verb="discover",verdict="seen"} 10');
    } finally {
      await app.close();
    }
  });
});

describe('the API description', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  // To update it: UPDATE_OPENAPI=1 npm test -- test/e2e/operation
  it('is the one in docs/openapi.json', async () => {
    const file = join('docs', 'openapi.json');
    const served = `${await (await fetch(`${app.url}/openapi.json`)).text()}\n`;
    if (process.env.UPDATE_OPENAPI === '1') await writeFile(file, served);
    expect(JSON.parse(served)).toEqual(JSON.parse(await readFile(file, 'utf8')));
  });

  it('knows every route, code and stream', async () => {
    const { body } = await call(app, 'GET', '/openapi.json');
    const document = body as {
      paths: Record<
        string,
        Record<string, { requestBody?: { content: object }; parameters?: { name: string }[] }>
      >;
      components: { schemas: { Problem: { properties: { code: { enum: string[] } } } } };
    };
    expect(document.components.schemas.Problem.properties.code.enum).toEqual(ERROR_CODES);
    expect(
      Object.entries(document.paths)
        .flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`))
        .sort(),
    ).toEqual(
      [
        ...['get /healthz', 'get /readyz', 'get /metrics', 'post /v1/plan'],
        ...[
          'get /v1/keys',
          'post /v1/keys',
          'delete /v1/keys/{id}',
          'post /v1/keys/{id}/rotate',
          'get /v1/me',
        ],
        ...['filters', 'visited-sets'].flatMap((kind) => [
          ...[`get /v1/${kind}`, `post /v1/${kind}`, `get /v1/${kind}/{name}`, `delete /v1/${kind}/{name}`],
          ...[`get /v1/${kind}/{name}/history`, `get /v1/${kind}/{name}/counters`],
          `post /v1/${kind}/{name}/clear`,
          ...[`get /v1/${kind}/{name}/export`, `post /v1/${kind}/import`],
          ...[`post /v1/${kind}/{name}/syncs`, `get /v1/${kind}/{name}/syncs/{id}`],
          `post /v1/${kind}/{name}/syncs/{id}/commit`,
          `delete /v1/${kind}/{name}/syncs/{id}`,
        ]),
        ...['add', 'check', 'remove', 'count', 'explain'].map(
          (verb) => `post /v1/filters/{name}/items/${verb}`,
        ),
        ...['discover', 'visit', 'check', 'forget', 'explain'].map(
          (verb) => `post /v1/visited-sets/{name}/urls/${verb}`,
        ),
        ...['lease', 'ack', 'release', 'extend', 'drop', 'dead-letters/put-back', 'dead-letters/purge'].map(
          (verb) => `post /v1/visited-sets/{name}/queue/${verb}`,
        ),
        ...['urls', 'dead-letters'].map((list) => `get /v1/visited-sets/{name}/queue/${list}`),
        'get /v1/visited-sets/{name}/hosts',
        ...['get', 'put', 'delete'].map((method) => `${method} /v1/visited-sets/{name}/hosts/{host}`),
        'post /v1/filters/{name}/syncs/{id}/items',
        'post /v1/visited-sets/{name}/syncs/{id}/urls',
      ].sort(),
    );
    const add = document.paths['/v1/filters/{name}/items/add']?.post;
    expect(Object.keys(add?.requestBody?.content ?? {})).toEqual([
      'application/json',
      'application/x-ndjson',
      'text/plain',
    ]);
    expect(add?.parameters?.map(({ name }) => name)).toContain('Idempotency-Key');
    expect(JSON.stringify(document)).not.toContain('x-unseen');
  });

  it('suits client generators: ids as method names, plain schema names, visited sets first and keys last', async () => {
    const { body } = await call(app, 'GET', '/openapi.json');
    const document = body as {
      paths: Record<string, Record<string, { operationId: string; tags: [string] }>>;
      components: { schemas: object };
      tags: { name: string }[];
    };
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+(?:[A-Z][a-z]+)+$/);
    expect(ids).toEqual(
      expect.arrayContaining(['createVisitedSet', 'discoverUrls', 'leaseUrls', 'addItems']),
    );
    for (const name of Object.keys(document.components.schemas)) expect(name).not.toMatch(/(?:Dto|View)$/);
    const tags = document.tags.map(({ name }) => name);
    expect([tags[0], tags.at(-1)]).toEqual(['Visited sets', 'Keys']);
    expect([...new Set(operations.map(({ tags: [tag] }) => tag))]).toEqual(tags);
  });

  it('has a page that loads nothing from other origins', async () => {
    const page = await fetch(`${app.url}/docs`);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    const html = await page.text();
    const links = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link as string);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) {
      const url = new URL(link, page.url);
      expect(url.origin).toBe(app.url);
      expect(await statusOf(url.href)).toBe(200);
    }
    const redirected = await fetch(`${app.url}/docs/`);
    await redirected.arrayBuffer();
    expect(redirected.url).toBe(`${app.url}/docs`);
  });
});

describe('without Redis', () => {
  it('starts, says so, and recovers by itself when it appears', async () => {
    const port = await freePort();
    const app = await startApp({
      REDIS_URL: `redis://user:secret@127.0.0.1:${port}`,
      REDIS_TIMEOUT_MS: '500',
      // Only Redis knows whether keys exist.
      AUTH: 'none',
    });
    try {
      expect(await call(app, 'GET', '/healthz')).toMatchObject({ status: 200 });
      const unready = await call(app, 'GET', '/readyz');
      expect(unready).toMatchObject({ status: 503, body: { status: 'unready', reason: expect.any(String) } });
      const filter = { name: freshName(), type: 'counting', capacity: 100, errorRate: 0.01 };
      const failed = await call(app, 'POST', '/v1/filters', filter);
      expect(failed).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
      expect(failed.headers.get('retry-after')).toBe('1');
      const { reason } = unready.body as { reason: string };
      await expect(new UnseenClient({ url: app.url }).ready()).rejects.toMatchObject({
        ...{ name: 'UnavailableError', code: 'STORE_UNAVAILABLE', retryAfterSeconds: 1 },
        message: `STORE_UNAVAILABLE: ${reason} (GET /readyz)`,
      });
      expect(await runCommand(['list'], { env: { UNSEEN_URL: app.url } })).toEqual({
        ...{ code: 3, stdout: '' },
        stderr: `unseen: STORE_UNAVAILABLE: ${reason} (GET /readyz)\n`,
      });
      const metrics = await (await fetch(`${app.url}/metrics`)).text();
      expect(metrics).toContain('unseen_store_ready 0');
      expect(metrics).toContain('unseen_store_scrape_success 0');
      for (const text of [unready.body, failed.body].map((body) => JSON.stringify(body))) {
        expect(text).not.toMatch(/secret|127\.0\.0\.1|localhost|redis:\/\//);
        expect(text).not.toContain(String(port));
      }
      const redis = await startRedis({
        port,
        args: ['--user', 'user', 'on', '>secret', '~*', '&*', '+@all'],
      });
      try {
        await until('the service is ready', async () => (await call(app, 'GET', '/readyz')).status === 200);
        // On a slow machine, a call may exceed the limit and is retried.
        await until(
          'a filter is made',
          async () => (await call(app, 'POST', '/v1/filters', filter)).status < 300,
        );
      } finally {
        await redis.stop();
      }
      await until('the service is unready', async () => (await call(app, 'GET', '/readyz')).status === 503);
    } finally {
      await app.close();
    }
  });
});
