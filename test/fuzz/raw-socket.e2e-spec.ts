import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { problemFaults, type ApiDocument } from './api.js';
import { Wire, type Exchange } from './wire.js';

let app: TestApp;
let path: string;
let document: ApiDocument;

beforeAll(async () => {
  app = await startApp();
  const name = freshName();
  await call(app, 'POST', '/v1/filters', { name, type: 'counting', capacity: 100_000, errorRate: 0.001 });
  path = `/v1/filters/${name}/items`;
  document = (await call(app, 'GET', '/openapi.json')).body as ApiDocument;
});
afterAll(() => app.close());

/** The answers to these bytes on a new connection, one character per byte. */
async function send(text: string, expected = 1): Promise<Exchange> {
  const wire = new Wire(app.port);
  try {
    return await wire.exchange(Buffer.from(text, 'latin1'), expected);
  } finally {
    wire.close();
  }
}

/** Sends `text`, then `more` after `sign` has arrived. Returns everything received until the service closes. */
async function conversation(text: string, sign: string, more: string): Promise<string> {
  const socket = connect(app.port, '127.0.0.1', () => socket.write(text));
  let all = '';
  let said = false;
  for await (const chunk of socket) {
    all += (chunk as Buffer).toString('latin1');
    if (!said && all.includes(sign)) said = socket.write(more);
  }
  return all;
}

const BODY = '{"items":["a"]}';
const CHUNKED = `f\r\n${BODY}\r\n0\r\n\r\n`;
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const HOST = 'Host: localhost\r\n';
const get = (headers: string, target = '/healthz'): string => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const check = (headers: string, body: string): string =>
  `POST ${path}/check HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${headers}\r\n${body}`;

/** Bytes that are refused, with the answer's status. The service never reads the bytes that follow them. */
const REFUSED: readonly (readonly [string, () => string])[] = [
  // Request smuggling. Two readers of one connection must not disagree about where a body ends.
  ['Transfer-Encoding and Content-Length', () => check(`Transfer-Encoding: chunked\r\n${LENGTH}`, CHUNKED)],
  ['Content-Length and Transfer-Encoding', () => check(`${LENGTH}Transfer-Encoding: chunked\r\n`, CHUNKED)],
  ['two equal Content-Lengths', () => check(LENGTH + LENGTH, BODY)],
  ['two Content-Lengths', () => check(`${LENGTH}Content-Length: 16\r\n`, BODY)],
  ['a list of Content-Lengths', () => check('Content-Length: 15, 15\r\n', BODY)],
  ['a negative Content-Length', () => check('Content-Length: -1\r\n', BODY)],
  ['a signed Content-Length', () => check('Content-Length: +15\r\n', BODY)],
  ['a hexadecimal Content-Length', () => check('Content-Length: 0xf\r\n', BODY)],
  ['a Content-Length beyond 64 bits', () => check(`Content-Length: ${'9'.repeat(20)}\r\n`, BODY)],
  ['Transfer-Encoding: identity', () => check('Transfer-Encoding: identity\r\n', BODY)],
  ['Transfer-Encoding: xchunked', () => check('Transfer-Encoding: xchunked\r\n', CHUNKED)],
  ['Transfer-Encoding twice', () => check('Transfer-Encoding: chunked\r\n'.repeat(2), CHUNKED)],
  ['a space before the colon', () => check('Transfer-Encoding : chunked\r\n', CHUNKED)],
  ['a chunk without a size', () => check('Transfer-Encoding: chunked\r\n', `zz\r\n${BODY}`)],
  ['a chunk of negative size', () => check('Transfer-Encoding: chunked\r\n', `-f\r\n${BODY}`)],
  ['a chunk beyond 64 bits', () => check('Transfer-Encoding: chunked\r\n', `${'f'.repeat(18)}\r\n${BODY}`)],
  [
    'a chunk with 30 kB of extensions',
    () => check('Transfer-Encoding: chunked\r\n', `f;a="${'b'.repeat(30_000)}"\r\n${BODY}\r\n0\r\n\r\n`),
  ],
  ['chunks ended by LF alone', () => check('Transfer-Encoding: chunked\r\n', `f\n${BODY}\n0\n\n`)],
  // Bytes that aren't HTTP/1.
  ['lines ended by LF alone', () => 'GET /healthz HTTP/1.1\nHost: localhost\n\n'],
  ['a folded header', () => get(`${HOST}X: a\r\n b\r\n`)],
  ['NUL in a header', () => get(`${HOST}X: a\0b\r\n`)],
  ['a control character in a header', () => get(`${HOST}X: a\x01b\r\n`)],
  ['CR in a header', () => get(`${HOST}X: a\rb\r\n`)],
  ['a header without a name', () => get(`${HOST}: a\r\n`)],
  ['a header name that is none', () => get(`${HOST}X(Y): a\r\n`)],
  ['a header of 64 KiB', () => get(`${HOST}X: ${'y'.repeat(65_536)}\r\n`)],
  ['an Idempotency-Key of 64 KiB', () => check(`${LENGTH}Idempotency-Key: ${'y'.repeat(65_536)}\r\n`, BODY)],
  ['a target of 64 KiB', () => get(HOST, `/${'y'.repeat(65_536)}`)],
  ['Latin-1 in the target', () => get(HOST, '/v1/filters/\xe9')],
  ['NUL in the target', () => get(HOST, '/v1/filters/a\0b')],
  ['a tab in the target', () => get(HOST, '/v1/filters/a\tb')],
  ['an unknown method', () => `FOO /healthz HTTP/1.1\r\n${HOST}\r\n`],
  ['a method in lower case', () => `get /healthz HTTP/1.1\r\n${HOST}\r\n`],
  ['HTTP/1.2', () => `GET /healthz HTTP/1.2\r\n${HOST}\r\n`],
  ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['TLS', () => '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1'],
];

describe('bytes that aren’t a request', () => {
  it.each(REFUSED)('%s: 400 as a problem, and nothing after it is read', async (_, bytes) => {
    const { answers } = await send(bytes() + get(HOST), 2);
    expect(answers).toHaveLength(1);
    const [answer] = answers;
    expect(answer).toMatchObject({ status: 400 });
    expect(answer!.headers.get('connection')).toBe('close');
    expect(problemFaults(answer!, document.components.schemas)).toEqual({
      code: 'VALIDATION_FAILED',
      faults: [],
    });
  });
});

describe('odd requests', () => {
  const answersOf = async (bytes: string, expected = 1): Promise<object[]> =>
    (await send(bytes, expected)).answers.map(({ status, body }) => ({
      status,
      ...(status >= 400 && { code: (JSON.parse(body) as { code: string }).code }),
    }));
  const refused = (status: number, code: string): object[] => [{ status, code }];

  it('have one Host, or use HTTP/1.0', async () => {
    expect(await answersOf(get(''))).toEqual(refused(400, 'VALIDATION_FAILED'));
    expect(await answersOf(get(`${HOST}hOST: evil.example\r\n`))).toEqual(refused(400, 'VALIDATION_FAILED'));
    expect(await answersOf(`GET /healthz HTTP/1.0\r\n${HOST}\r\n`)).toEqual([{ status: 200 }]);
    // Without API keys, the service accepts only known host names, and a missing name is unknown. But load balancers
    // probe with HTTP/1.0.
    for (const probe of ['/healthz', '/readyz', '/metrics']) {
      expect(await answersOf(`GET ${probe} HTTP/1.0\r\n\r\n`)).toEqual([{ status: 200 }]);
      expect(await answersOf(`GET ${probe} HTTP/1.0\r\nHost:\r\n\r\n`)).toEqual(refused(403, 'FORBIDDEN'));
    }
    expect(await answersOf('GET /v1/filters HTTP/1.0\r\n\r\n')).toEqual(refused(403, 'FORBIDDEN'));
    expect(await answersOf('GET /healthz HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n')).toEqual(
      refused(403, 'FORBIDDEN'),
    );
    expect(await answersOf(get('Host: evil.example\r\n', 'http://localhost/healthz'))).toEqual(
      refused(403, 'FORBIDDEN'),
    );
  });

  it('get their answers in order if pipelined', async () => {
    const pipelined = [
      get(HOST),
      get(HOST, '/nope'),
      check(LENGTH, BODY),
      get(`${HOST}Connection: close\r\n`),
    ];
    expect(await answersOf(pipelined.join(''), 4)).toEqual([
      { status: 200 },
      { status: 404, code: 'ROUTE_NOT_FOUND' },
      { status: 200 },
      { status: 200 },
    ]);
  });

  it('don’t end early: the rest of a body isn’t read as a request', async () => {
    const inner = get(HOST, '/nope');
    const getWithBody = `GET /healthz HTTP/1.1\r\n${HOST}Content-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(await answersOf(getWithBody + get(HOST), 2)).toEqual([{ status: 200 }, { status: 200 }]);
    const noRoute = `POST /nope HTTP/1.1\r\n${HOST}Content-Length: ${inner.length}\r\n\r\n${inner}`;
    expect(await answersOf(noRoute + get(HOST), 2)).toEqual([
      { status: 404, code: 'ROUTE_NOT_FOUND' },
      { status: 200 },
    ]);
  });

  it.each([
    ['Transfer-Encoding: gzip, chunked', 415, CHUNKED],
    [`Content-Encoding: gzip\r\n${LENGTH.trim()}`, 415, BODY],
    [`Content-Encoding: identity, gzip\r\n${LENGTH.trim()}`, 415, BODY],
    ['Content-Length: 9007199254740993', 413, BODY],
  ])('are refused for their bodies’ framing: %s', async (header, status, body) => {
    expect(await answersOf(check(`${header}\r\n`, body))).toMatchObject([{ status }]);
  });

  it.each([
    'Idempotency-Key: a\r\nIdempotency-Key: b',
    'Idempotency-Key: \xe9',
    'Idempotency-Key: ',
    'Idempotency-Key: a b',
  ])('have one Idempotency-Key of visible ASCII: %j', async (header) => {
    const add = check(`${header}\r\n${LENGTH}`, BODY).replace('/check', '/add');
    expect(await answersOf(add)).toEqual(refused(400, 'VALIDATION_FAILED'));
  });

  it('may have an unknown Expect, trailers, and many headers', async () => {
    expect(await answersOf(check(`Expect: the-unexpected\r\n${LENGTH}`, BODY))).toEqual([{ status: 200 }]);
    const trailers = CHUNKED.replace('0\r\n', '0\r\nHost: evil.example\r\nX: 1\r\n');
    expect(await answersOf(check('Transfer-Encoding: chunked\r\n', trailers))).toEqual([{ status: 200 }]);
    const many = Array.from({ length: 900 }, (_, i) => `h${i}: ${i}\r\n`).join('');
    expect(await answersOf(get(HOST + many))).toEqual([{ status: 200 }]);
  });

  // The fuzz test found this. The service closed the connection silently, and the next request on it was lost.
  it('announce that their connection closes, on errors too', async () => {
    for (const bytes of [
      check(`Expect: 100-continue\r\n${LENGTH}`, 'no JSON at all!'),
      get(`${HOST}Connection: close\r\n`, '/%zz'),
    ]) {
      const { answers } = await send(bytes);
      expect(answers).toMatchObject([{ status: 400 }]);
      expect(answers[0]!.headers.get('connection')).toBe('close');
    }
  });

  // The first request was executed. The client would read an error about the second as its answer.
  it('don’t get the next request’s fault as their answer', async () => {
    for (const garbage of ['NONSENSE\r\n\r\n', '\0'.repeat(100)]) {
      const add = check(LENGTH, BODY).replace('/check', '/add');
      expect(await send(add + garbage, 3)).toMatchObject({
        answers: [{ status: 200, body: expect.stringContaining('results') }, { status: 400 }],
        rest: '',
        closed: true,
      });
    }
    expect(await answersOf(check(LENGTH, BODY))).toEqual([{ status: 200 }]);
    // Several requests come before it, the first one long. The fault is in a body whose head is valid.
    const many = JSON.stringify({ items: Array.from({ length: 10_000 }, (_, i) => `pipelined ${i}`) });
    const long = check(`Content-Length: ${many.length}\r\n`, many).replace('/check', '/add');
    const bad = check('Transfer-Encoding: chunked\r\n', 'ZZZ\r\n');
    const { answers, closed } = await send(long + check(LENGTH, BODY) + bad, 4);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400]);
    expect((JSON.parse(answers[0]!.body) as { results: boolean[] }).results).toHaveLength(10_000);
    expect(closed).toBe(true);
    const lines = 'a line\n'.repeat(1_000);
    const stream = check('Transfer-Encoding: chunked\r\n', `${lines.length.toString(16)}\r\n${lines}\r\n`);
    const all = await conversation(stream.replace('application/json', 'text/plain'), '"from":1', 'zz\r\n');
    expect(all).toContain('HTTP/1.1 200');
    expect(all).not.toContain('HTTP/1.1 400');
  });

  it('get a known path’s allowed methods, for every HTTP method', async () => {
    const methods = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'CONNECT'].includes(method));
    expect(methods).toContain('PROPFIND');
    for (const method of methods) {
      const { answers } = await send(`${method} /v1/filters HTTP/1.1\r\n${HOST}\r\n`);
      expect([method, answers[0]?.status, answers[0]?.headers.get('allow')]).toEqual([
        method,
        405,
        'GET, HEAD, POST',
      ]);
      // QUERY without a body is refused earlier.
      if (method === 'QUERY') continue;
      expect([method, ...(await answersOf(`${method} /nowhere HTTP/1.1\r\n${HOST}\r\n`))]).toEqual([
        method,
        ...refused(404, 'ROUTE_NOT_FOUND'),
      ]);
    }
  });

  it('don’t switch protocols', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      expect(await answersOf(get(`${HOST}Upgrade: ${protocol}\r\nConnection: Upgrade\r\n`))).toEqual([
        { status: 200 },
      ]);
    }
    expect(await answersOf(`TRACE /healthz HTTP/1.1\r\n${HOST}\r\n`)).toEqual(
      refused(405, 'METHOD_NOT_ALLOWED'),
    );
    expect(await send(`CONNECT evil.example:80 HTTP/1.1\r\n${HOST}\r\n`)).toMatchObject({
      answers: [],
      closed: true,
    });
  });
});
