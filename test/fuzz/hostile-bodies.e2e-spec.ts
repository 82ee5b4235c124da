import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { Wire } from './wire.js';

let app: TestApp;
let items: string;
let urls: string;

beforeAll(async () => {
  app = await startApp({ MAX_BODY_BYTES: String(2 ** 20) });
  const [filter, set] = [freshName(), freshName('v')];
  await call(app, 'POST', '/v1/filters', {
    name: filter,
    type: 'counting',
    capacity: 10_000,
    errorRate: 1e-6,
  });
  await call(app, 'POST', '/v1/visited-sets', { name: set, capacity: 10_000, errorRate: 1e-6 });
  [items, urls] = [`/v1/filters/${filter}/items`, `/v1/visited-sets/${set}/urls`];
});
afterAll(() => app.close());

const TYPES = ['application/json', 'application/x-ndjson', 'text/plain'];

async function post(
  path: string,
  type: string,
  body: Buffer,
  headers: Record<string, string> = {},
): Promise<object> {
  const init = { method: 'POST', headers: { 'content-type': type, ...headers }, body };
  const response = await fetch(app.url + path, init);
  return { status: response.status, ...((await response.json()) as { code: string; detail: string }) };
}

const REFUSED = { status: 400, code: 'VALIDATION_FAILED' };

describe('bytes that aren’t UTF-8', () => {
  const BROKEN: readonly (readonly [string, number[]])[] = [
    ['an overlong slash', [0xc0, 0xaf]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['an overlong letter of three bytes', [0xe0, 0x81, 0x81]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a pair of surrogates (CESU-8)', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
    ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['a continuation without a start', [0x80]],
    ['a start without its continuation', [0xe2, 0x82]],
    ['Latin-1', [0xe9]],
    ['bytes that no encoding has', [0xff, 0xfe]],
  ];

  it.each(BROKEN)('%s', async (_, bytes) => {
    const text = {
      'application/json': ['{"items":["a', '"]}'],
      'application/x-ndjson': ['"a', '"\n'],
      'text/plain': ['a', '\n'],
    };
    for (const [type, [before, after]] of Object.entries(text)) {
      const body = Buffer.concat([Buffer.from(before!), Buffer.from(bytes), Buffer.from(after!)]);
      expect(await post(`${items}/add`, type, body)).toMatchObject(REFUSED);
    }
  });

  it.each(['utf16le', 'utf16be'])('a body of %s, with and without its byte order mark', async (encoding) => {
    for (const [type, text] of [
      [TYPES[0]!, '{"items":["a"]}'],
      [TYPES[1]!, '"a"\n'],
      [TYPES[2]!, '\u00e9\u00e8\n'],
    ] as const) {
      for (const mark of ['', '\ufeff']) {
        const body = Buffer.from(mark + text, 'utf16le');
        if (encoding === 'utf16be') body.swap16();
        expect(await post(`${items}/add`, type, body)).toMatchObject(REFUSED);
      }
    }
  });

  it('lone surrogates by escapes: the items are refused, the URLs are invalid', async () => {
    for (const escape of ['\\ud800', '\\udc00', '\\udc00\\ud800', 'a\\uD83Db', '\\ud83d\\u0041']) {
      expect(await call(app, 'POST', `${items}/add`, `{"items":["${escape}"]}`)).toMatchObject({
        status: 400,
      });
      expect(await post(`${items}/add`, TYPES[1]!, Buffer.from(`"${escape}"\n`))).toMatchObject(REFUSED);
      expect(
        await call(app, 'POST', `${urls}/visit`, `{"urls":["http://a.example/${escape}"]}`),
      ).toMatchObject({
        body: { results: ['invalid'] },
      });
    }
  });
});

describe('JSON that readers disagree about', () => {
  const plan = (capacity: string, errorRate = '0.01'): Promise<{ status: number; body: unknown }> =>
    call(app, 'POST', '/v1/plan', `{"type":"counting","capacity":${capacity},"errorRate":${errorRate}}`);

  it.each([
    '1e400',
    '-1e400',
    '-0',
    '0',
    '1e-400',
    '9007199254740993',
    '1.5',
    '1'.repeat(5_000),
    '"10"',
    '[10]',
    '{}',
    '01',
    '+1',
    '1_0',
  ])('a capacity of %.20s is refused', async (capacity) => {
    expect(await plan(capacity)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it.each(['10.0', '1e1', '1E+1', '100e-1'])('a capacity of %s is 10', async (capacity) => {
    expect(await plan(capacity)).toMatchObject({ status: 200, body: { capacity: 10 } });
  });

  it('a repeated member’s last occurrence counts', async () => {
    expect(await plan('1,"capacity":7')).toMatchObject({ status: 200, body: { capacity: 7 } });
    expect(await plan('7,"capacity":"x"')).toMatchObject({ status: 400 });
  });

  it.each(['{"0":"a","length":1}', '{"length":1e9}', '"a"', '{"toString":null}', '[{"toJSON":1}]'])(
    'items that aren’t an array of strings, %s',
    async (value) => {
      expect(await call(app, 'POST', `${items}/add`, `{"items":${value}}`)).toMatchObject({ status: 400 });
    },
  );

  it.each(['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'then', 'toJSON'])(
    'the member %s is refused and touches nothing',
    async (member) => {
      for (const value of ['{"polluted":true}', '{"prototype":{"polluted":true}}', 'null']) {
        const body = `{"items":["a"],"${member}":${value}}`;
        expect(await call(app, 'POST', `${items}/check`, body)).toMatchObject({ status: 400 });
        const profile = `{"name":"p","capacity":10,"urlProfile":{"${member}":${value}}}`;
        expect(await call(app, 'POST', '/v1/visited-sets', profile)).toMatchObject({ status: 400 });
      }
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    },
  );

  it.each([
    ['arrays', '['.repeat(400_000), ']'.repeat(400_000)],
    ['objects', '{"a":'.repeat(100_000), `1${'}'.repeat(100_000)}`],
    ['arrays without an end', '['.repeat(900_000), ''],
  ])('%s nested as deep as a body allows', async (_, open, close) => {
    for (const body of [
      `${open}${close}`,
      `{"items":${open}${close}}`,
      `{"items":["a"],"x":${open}${close}}`,
    ]) {
      expect(await call(app, 'POST', `${items}/add`, body)).toMatchObject({ status: 400 });
    }
    expect(await post(`${items}/add`, TYPES[1]!, Buffer.from(`${open.slice(0, 40_000)}\n`))).toMatchObject(
      REFUSED,
    );
  });
});

describe('bodies that expand', () => {
  it.each([
    ['arrays in one another', `${'['.repeat(400_000)}${']'.repeat(400_000)}`],
    ['arrays after one another', `{"items":[${'[],'.repeat(200_000)}[]]}`],
    ['members', `{${Array.from({ length: 60_000 }, (_, i) => `"k${i}":1`).join(',')}}`],
    ['numbers', `{"items":[${'1,'.repeat(400_000)}1]}`],
    ['brackets that are not closed', '['.repeat(900_000)],
  ])('%s are refused without parsing', async (_, body) => {
    for (const path of [`${items}/add`, '/v1/plan']) {
      expect(await call(app, 'POST', path, body)).toMatchObject({
        status: 400,
        body: {
          code: 'VALIDATION_FAILED',
          detail: 'the body has more than 41000 arrays, objects, members and elements in total',
        },
      });
    }
  });

  it.each(TYPES)('compressed %s is refused on its head, before any body', async (type) => {
    // 100 MB of zeros in 100 kB.
    const bomb = gzipSync(Buffer.alloc(100 * 2 ** 20));
    for (const encoding of [
      'gzip',
      'deflate',
      'br',
      'zstd',
      'gzip, gzip',
      'x-gzip',
      'identity, gzip',
      'compress',
    ]) {
      expect(await post(`${items}/add`, type, bomb, { 'content-encoding': encoding })).toMatchObject({
        status: 415,
        code: 'UNSUPPORTED_MEDIA_TYPE',
      });
    }
    expect(await post(`${items}/add`, type, bomb)).toMatchObject(REFUSED);
  });

  it('a compressed body gets its answer before it arrives', async () => {
    const wire = new Wire(app.port);
    const head = `POST ${items}/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1000000\r\n\r\n`;
    const { answers } = await wire.exchange(Buffer.from(head));
    wire.close();
    expect(answers).toMatchObject([{ status: 415 }]);
  });

  it('an endless line is refused long before the stream ends', async () => {
    for (const type of [TYPES[1]!, TYPES[2]!]) {
      const wire = new Wire(app.port);
      const head = `POST ${items}/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 9000000000\r\n\r\n`;
      const { answers } = await wire.exchange(Buffer.from(head + 'a'.repeat(100_000)));
      wire.close();
      expect(answers).toMatchObject([{ status: 400 }]);
    }
  });
});

describe('polluted query parameters', () => {
  it.each([
    'limit=1&limit=2',
    'limit[]=1',
    'limit[a]=1',
    '__proto__[limit]=1',
    '__proto__=1',
    'limit=1&=',
    'limit=%00',
    'limit=1e1',
    'limit=01',
    'limit= 1',
    'limit=%EF%BC%91',
  ])('%s', async (query) => {
    expect(await call(app, 'GET', `/v1/filters?${query}`)).toMatchObject({ status: 400 });
  });

  it.each(['..', '%2e%2e', 'a%2fb', '%00', ':a', '', '__proto__', 'x'.repeat(65), 'a%CC%81', '%F0%9F%98%80'])(
    'the cursor %j',
    async (cursor) => {
      expect(await call(app, 'GET', `/v1/filters?cursor=${cursor}`)).toMatchObject({
        status: 400,
      });
    },
  );

  it('limits of 1 and 1000 are valid, as are unknown cursors between names', async () => {
    for (const query of [
      'limit=1',
      'limit=1000',
      'cursor=zzz',
      'cursor=constructor',
      'cursor=A:b',
      'limit=1&cursor=0',
    ]) {
      expect(await call(app, 'GET', `/v1/filters?${query}`)).toMatchObject({ status: 200 });
    }
  });
});
