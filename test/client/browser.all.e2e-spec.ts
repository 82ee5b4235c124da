import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import type * as Client from '#client';
import { describeInBrowser, sharedBrowser, why } from '../dashboard/browser.js';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { makeKey, type TestKey } from '../support/credentials.js';

const browser = sharedBrowser();

/** The client as the page sees it. */
type Unseen = { readonly unseen: typeof Client };

/** The client's sources as a script for a page. */
async function script(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, '../../libs/client/src/index.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'unseen',
    platform: 'browser',
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}

/** Serves a page from an origin other than the service's. */
async function startPage(): Promise<Server> {
  const client = await script();
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`<!doctype html><script>${client}</script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describeInBrowser(`the client in a page of another origin${why}`, () => {
  let server: Server;
  let app: TestApp;
  let key: TestKey;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    server = await startPage();
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    app = await startApp({ AUTH: 'keys', CORS_ORIGINS: origin });
    key = await makeKey(app, 'admin');
    context = await browser.newContext();
    page = await context.newPage();
    await page.goto(origin);
  });
  afterAll(async () => {
    await context.close();
    await app.close();
    server.close();
  });

  it('joins calls, reads and writes lists, and throws error classes for refusals', async () => {
    const calls: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') calls.push(new URL(request.url()).pathname);
    });
    const name = freshName('seen');
    const answers = await page.evaluate(
      async ([url, apiKey, called]) => {
        const { UnseenClient, ConflictError, ValidationError } = (globalThis as unknown as Unseen).unseen;
        const client = new UnseenClient({ url, apiKey });
        const set = client.visitedSet(called);
        await set.create({ capacity: 10_000, errorRate: 1e-9 });
        const again = await set.create({ capacity: 20_000 }).catch((error: unknown) => error);
        const bad = await client
          .visitedSet('Bad Name')
          .create({ capacity: 1 })
          .catch((error: unknown) => error);
        const urls = Array.from({ length: 2_500 }, (_, i) => `https://example.org/${i}`);
        const results: Record<string, number> = {};
        for await (const [, result] of set.visit(urls.values())) results[result] = (results[result] ?? 0) + 1;
        const single = await Promise.all(urls.slice(2_400).map((one) => set.check(one)));
        return {
          refused: [again instanceof ConflictError, bad instanceof ValidationError],
          results,
          single: [...new Set(single)],
          forgotten: await set.forget(urls.slice(0, 2)),
        };
      },
      [app.url, key.key, name] as const,
    );
    expect(answers).toEqual({
      refused: [true, true],
      results: { new: 2_500 },
      single: ['seen'],
      forgotten: ['forgotten', 'forgotten'],
    });
    // A hundred simultaneous calls were sent in one request.
    expect(calls.filter((path) => path === `/v1/visited-sets/${name}/urls/check`)).toHaveLength(1);
  });

  it('processes a queue, and copies a set through its export', async () => {
    const name = freshName('queue');
    const answers = await page.evaluate(
      async ([url, apiKey, called]) => {
        const { UnseenClient, Worker } = (globalThis as unknown as Unseen).unseen;
        const client = new UnseenClient({ url, apiKey });
        const set = client.visitedSet(called);
        await set.create({ capacity: 1_000, errorRate: 1e-9 });
        const urls = Array.from({ length: 40 }, (_, i) => `https://example.org/${i}`);
        await set.discover(urls);
        const done: string[] = [];
        const work = await new Worker(set, async (task) => void done.push(task.url), {
          untilEmpty: true,
        }).run();
        const file = await new Response(await set.export()).blob();
        const copy = client.visitedSet(`${called}-copy`);
        await copy.import(file);
        const stopped = new AbortController();
        stopped.abort(new Error('nobody waits'));
        const late = await set.describe({ signal: stopped.signal }).catch((error: unknown) => String(error));
        return { work, done: done.length, copied: [...new Set(await copy.check(urls))], late };
      },
      [app.url, key.key, name] as const,
    );
    expect(answers).toEqual({
      work: { done: 40, failed: 0, lost: 0, released: 0 },
      done: 40,
      copied: ['seen'],
      late: 'Error: nobody waits',
    });
  });
});
