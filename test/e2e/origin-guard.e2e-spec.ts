import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';

interface Answer {
  status: number;
  code?: string;
}

/** Sends any headers, because fetch sets Host and refuses Origin. */
function get(app: TestApp, headers: Record<string, string>, path = '/healthz'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ port: app.port, host: '127.0.0.1', path, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () =>
        resolve({ ...(JSON.parse(text) as { code?: string }), status: response.statusCode ?? 0 }),
      );
    })
      .on('error', reject)
      .end();
  });
}

const FORBIDDEN = { status: 403, code: 'FORBIDDEN' };

describe('start rules without keys', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ ALLOWED_HOSTS: 'unseen.internal, [fd00::1]' });
  });
  afterAll(() => app.close());

  it.each([
    'localhost',
    'LOCALHOST:80',
    '127.0.0.1',
    '[::1]:3000',
    'unseen.internal',
    'Unseen.Internal:8080',
    '[fd00::1]:1',
  ])('accepts Host %s', async (host) => {
    expect(await get(app, { host })).toMatchObject({ status: 200 });
  });

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '169.254.169.254',
    'localhost:80:80',
    'a@localhost',
  ])('refuses Host %j, on every path', async (host) => {
    for (const path of ['/healthz', '/v1/filters', '/docs', '/nowhere']) {
      expect(await get(app, { host }, path)).toMatchObject(FORBIDDEN);
    }
  });

  it('accepts requests only from its own pages', async () => {
    const host = `localhost:${app.port}`;
    for (const origin of [`http://${host}`, `https://${host}`]) {
      expect(await get(app, { host, origin })).toMatchObject({ status: 200 });
    }
    for (const origin of [
      'http://evil.example',
      'null',
      'http://localhost:1',
      `http://${host}.evil.example`,
      '',
    ]) {
      expect(await get(app, { host, origin })).toMatchObject(FORBIDDEN);
    }
    expect(await get(app, { host, 'sec-fetch-site': 'cross-site' })).toMatchObject(FORBIDDEN);
    for (const site of ['same-origin', 'none']) {
      expect(await get(app, { host, 'sec-fetch-site': site })).toMatchObject({ status: 200 });
    }
  });
});

describe.each(['0.0.0.0', '127.0.0.1'])('start rules with AUTH=none, listening on %s', (address) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'none', HOST: address });
  });
  afterAll(() => app.close());

  it.each(['10.0.0.7:3000', '[fd00::1]:3000', 'localhost', '127.0.0.1'])(
    'accepts Host %s, but no page from another origin',
    async (host) => {
      expect(await get(app, { host })).toMatchObject({ status: 200 });
      expect(await get(app, { host, origin: `http://${host}` })).toMatchObject({ status: 200 });
      expect(await get(app, { host, origin: 'http://evil.example' })).toMatchObject(FORBIDDEN);
      expect(await get(app, { host, 'sec-fetch-site': 'cross-site' })).toMatchObject(FORBIDDEN);
    },
  );

  it.each(['unseen.example', '10.0.0.7.evil.example', '0x7f.1', '[evil]'])(
    'refuses Host %j, which isn’t configured: an attacker’s name may resolve to this address',
    async (host) => {
      expect(await get(app, { host })).toMatchObject(FORBIDDEN);
    },
  );
});

describe('start rules with AUTH=none and ALLOWED_HOSTS', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ AUTH: 'none', HOST: '0.0.0.0', ALLOWED_HOSTS: 'unseen' });
  });
  afterAll(() => app.close());

  it('accepts only configured and loopback names, so that no attacker’s name can reach it', async () => {
    for (const host of ['unseen', 'unseen:3000', 'localhost:3000']) {
      expect(await get(app, { host })).toMatchObject({ status: 200 });
    }
    const rebound = { host: 'evil.example', origin: 'http://evil.example' };
    expect(await get(app, rebound)).toMatchObject(FORBIDDEN);
  });
});
