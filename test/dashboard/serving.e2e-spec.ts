import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, startApp, type TestApp } from '../support/app.js';
import { bytesBelow, expectDocumentedSize } from '../support/documented-sizes.js';
import { RawClient } from '../support/raw-client.js';
import { statusOf } from '../support/status-of.js';
import { assertBuilt } from '../../scripts/built.mjs';

assertBuilt();

const ASSETS = join('dist', 'dashboard', 'assets');
const MOST_SCRIPT_BYTES = 64_500;
/** The scripts that load before the first render. */
const MOST_FIRST_BYTES = 47_500;

const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'));

describe('the dashboard’s files', () => {
  // With brotli, which browsers request over TLS and on loopback.
  it(`have at most ${MOST_SCRIPT_BYTES} bytes of script, compressed, ${MOST_FIRST_BYTES} of them at first`, () => {
    const bytesOf = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + readFileSync(join(ASSETS, `${name}.br`)).length, 0);
    const page = readFileSync(join(ASSETS, '..', 'index.html'), 'utf8');
    const first = scripts.filter((name) => page.includes(name));
    expect(first).toHaveLength(1);
    expect(bytesOf(first)).toBeLessThanOrEqual(MOST_FIRST_BYTES);
    expect(bytesOf(scripts)).toBeLessThanOrEqual(MOST_SCRIPT_BYTES);
  });

  it('have the documented size', () => {
    const sent = readdirSync(ASSETS).filter((name) => name.endsWith('.br'));
    const bytes = sent.reduce((sum, name) => sum + bytesBelow(join(ASSETS, name)), 0);
    expectDocumentedSize('the dashboard in a browser', 'download', bytes);
  });

  it('are equal after decompression', () => {
    for (const name of scripts) {
      const plain = readFileSync(join(ASSETS, name));
      expect(gunzipSync(readFileSync(join(ASSETS, `${name}.gz`)))).toEqual(plain);
      expect(brotliDecompressSync(readFileSync(join(ASSETS, `${name}.br`)))).toEqual(plain);
    }
  });
});

describe('a service with keys', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'keys' });
  });
  afterAll(() => app.close());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(app.url + path, { headers, redirect: 'manual' });

  it('serves the page to everyone, with a policy that allows no inline code and no other origins', async () => {
    const answer = await get('/dashboard');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|data:|\*/);
    const page = await answer.text();
    expect(page).not.toMatch(/<style|<script(?![^>]* src=)| style=| on\w+=/);
    for (const [, file = ''] of page.matchAll(/(?:src|href)="([^"]+)"/g)) {
      expect(file).toMatch(/^dashboard\/(?:assets\/|LICENSES\.txt$)/);
      expect(await statusOf(`${app.url}/${file}`)).toBe(200);
    }
    expect((await get('/dashboard/')).headers.get('location')).toBe('../dashboard');
  });

  it('serves the licences of the packages in the page, which links them', async () => {
    expect(await (await get('/dashboard')).text()).toContain(
      '<link rel="license" href="dashboard/LICENSES.txt" />',
    );
    const answer = await get('/dashboard/LICENSES.txt');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const licences = await answer.text();
    for (const name of ['preact', '@preact/signals', 'uplot']) {
      const { version, license } = JSON.parse(
        readFileSync(join('node_modules', name, 'package.json'), 'utf8'),
      ) as { version: string; license: string };
      expect(licences).toContain(`\n${name} ${version} (${license})\n`);
    }
  });

  it('doesn’t resend a page that the browser has cached', async () => {
    const { headers } = await get('/dashboard');
    expect(headers.get('cache-control')).toBe('no-cache');
    const again = await get('/dashboard', { 'if-none-match': headers.get('etag')! });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('serves the page’s files compressed and immutable', async () => {
    for (const name of scripts) {
      for (const encoding of ['br', 'gzip', 'identity']) {
        const answer = await get(`/dashboard/assets/${name}`, { 'accept-encoding': encoding });
        expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(answer.headers.get('vary')).toBe('accept-encoding');
        expect(answer.headers.get('content-type')).toMatch(/^text\/javascript/);
        expect(answer.headers.get('content-encoding') ?? 'identity').toBe(encoding);
        expect(await answer.text()).toBe(readFileSync(join(ASSETS, name), 'utf8'));
      }
    }
  });

  it('serves no other files', async () => {
    const names = [`${scripts[0]!}.gz`, '..%2findex.html', '%2e%2e/index.html', 'none.js', ''];
    for (const name of names) expect(await statusOf(`${app.url}/dashboard/assets/${name}`)).toBe(401);
    const raw = await RawClient.connect(app.port);
    raw.send(
      'GET /dashboard/assets/../../package.json HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n',
    );
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 401 /);
  });

  it('redirects browsers from / to the dashboard, and answers other clients as for any unknown path', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, 'dashboard']);
    expect((await get('/')).status).toBe(401);
    expect((await call(app, 'POST', '/', undefined, { accept: 'text/html' })).status).toBe(401);
    expect((await get('/nothing', { accept: 'text/html' })).status).toBe(401);
  });
});

describe('a service without keys', () => {
  it('answers programs at / with an unknown route', async () => {
    const app = await startApp();
    try {
      expect(await call(app, 'GET', '/')).toMatchObject({ status: 404, body: { code: 'ROUTE_NOT_FOUND' } });
    } finally {
      await app.close();
    }
  });
});
