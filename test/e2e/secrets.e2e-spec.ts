import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { RawClient } from '../support/raw-client.js';
import { runProgram, startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const KEY_ID = '0123456789abcdef';
/** Secrets, each with the words that must not appear. */
const SECRETS: readonly {
  readonly what: string;
  readonly text: string;
  readonly words: readonly string[];
}[] = [
  { what: 'a key', text: `unseen_${KEY_ID}_keyWord1${'x'.repeat(35)}`, words: ['keyWord1'] },
  {
    what: 'a key with a line break',
    text: `unseen_${KEY_ID}_keyWord2${'x'.repeat(15)}\n${'y'.repeat(10)}keyWord3`,
    words: ['keyWord2', 'keyWord3'],
  },
  {
    what: 'a key with a line break at its end',
    text: `unseen_${KEY_ID}_${'x'.repeat(35)}keyWord4\r\n`,
    words: ['keyWord4'],
  },
  {
    what: 'a token',
    text: `eyJ${'h'.repeat(20)}.eyJtokenWord1.tokenWord2${'g'.repeat(30)}`,
    words: ['tokenWord1', 'tokenWord2'],
  },
  { what: 'a password in a URL', text: 'https://joe:userWord1@example.org/a', words: ['userWord1'] },
  {
    what: 'a password with a line break in a URL',
    text: 'https://joe:userWord2\nuserWord3@example.org/a',
    words: ['userWord2', 'userWord3'],
  },
  {
    what: 'a password in a URL of Redis',
    text: 'redis://joe:user@Word4@h:1/0',
    words: ['user@Word4', 'Word4'],
  },
];

/** A request as sent on the wire. */
interface Way {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const SET = '/v1/visited-sets/crawl';

/** All places in a request that can contain the text. `raw` may contain line breaks where HTTP doesn't allow them. */
function waysOf(raw: string): readonly Way[] {
  const encoded = encodeURIComponent(raw);
  const headers = [
    ...['authorization', 'x-api-key', 'cookie', 'idempotency-key', 'content-type', 'accept'],
    ...['origin', 'host', 'referer', 'transfer-encoding', 'content-length', 'x-request-id', raw],
  ];
  const json = (path: string, body: unknown): Way => ({
    ...{ method: 'POST', path, headers: JSON_BODY },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const members = ['name', 'type', 'capacity', 'errorRate', 'growth', 'urlProfile', raw];
  return [
    ...headers.flatMap((name) => [
      { path: SET, headers: { [name]: raw } },
      { path: SET, headers: { [name]: `Bearer ${raw}` } },
      {
        ...json(`${SET}/urls/check`, { urls: ['https://example.org/'] }),
        headers: { ...JSON_BODY, [name]: raw },
      },
    ]),
    ...[encoded, raw].flatMap((text) => [
      ...['/', '/v1/', '/v1/filters/', `${SET}/syncs/`, '/dashboard/'].map((path) => ({ path: path + text })),
      ...['cursor', 'limit', 'prefix', 'results', 'ttlSeconds', text].map((name) => ({
        path: `/v1/filters?${name}=${text}`,
      })),
      ...['state', 'host', 'prefix', 'cursor'].map((name) => ({ path: `${SET}/queue/urls?${name}=${text}` })),
      { method: 'PUT', path: `/v1/filters?${text}` },
      { method: 'DELETE', path: `/v1/filters/${text}` },
      { method: 'DELETE', path: `/v1/keys/${text}` },
      ...['GET', 'PUT', 'DELETE'].map((method) => ({ method, path: `${SET}/hosts/${text}` })),
      { method: 'POST', path: `/v1/keys/${text}/rotate` },
      { method: 'POST', path: `/v1/visited-sets/import?name=${text}`, body: raw },
      { method: text, path: '/v1/filters' },
      json(`${SET}/urls/visit?ttlSeconds=${text}`, { urls: [] }),
    ]),
    ...['/v1/filters', '/v1/visited-sets', '/v1/plan', '/v1/keys'].flatMap((path) => [
      ...members.map((name) => json(path, { [name]: raw })),
      ...[raw, `"${raw}`, `{"name": ${raw}`, JSON.stringify(raw), [raw], { [raw]: raw }].map((body) =>
        json(path, body),
      ),
      json(path, { name: 'a', scopes: [raw], prefix: raw, expiresAt: raw, maxFilters: raw }),
    ]),
    ...['discover', 'visit', 'check', 'forget', 'explain'].flatMap((verb) => [
      json(`${SET}/urls/${verb}`, { urls: [raw, 7, { url: raw, [raw]: raw }], [raw]: raw }),
      json(`${SET}/urls/${verb}`, { urls: raw, results: raw, ttlSeconds: raw }),
      json(`${SET}/urls/${verb}`, { urls: [raw, 7] }),
      ...['text/plain', 'application/x-ndjson'].map((type) => ({
        ...{
          method: 'POST',
          path: `${SET}/urls/${verb}?results=${encoded}`,
          headers: { 'content-type': type },
        },
        body: `${raw}\n"${raw}\n{"url":${JSON.stringify(raw)},${JSON.stringify(raw)}:1}\n`,
      })),
      ...['text/plain', 'application/x-ndjson'].map((type) => ({
        ...{ method: 'POST', path: `${SET}/urls/${verb}`, headers: { 'content-type': type } },
        body: `${JSON.stringify(raw)}\n"${raw}\n`,
      })),
    ]),
    ...['lease', 'ack', 'release', 'extend', 'dead-letters/purge'].map((verb) =>
      json(`${SET}/queue/${verb}`, { ids: [raw, 7], max: raw, leaseSeconds: raw, reason: raw, [raw]: raw }),
    ),
    ...['state', 'host', 'prefix'].map((member) => json(`${SET}/queue/drop`, { [member]: raw, forget: raw })),
    json(`${SET}/syncs`, { capacity: raw, errorRate: raw, [raw]: raw }),
    json(`${SET}/syncs/${encoded}/commit`, { maxForgetShare: raw }),
  ];
}

describe('secrets in requests', () => {
  let service: ServiceProcess;
  let folder: string;
  let port: number;
  let key: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'unseen-secrets-'));
    const made = ['keys', '--offline', 'create', '--name', 'ops', '--scope', 'admin'];
    key = (await runProgram('cli/unseen.js', made, { DATA_DIR: folder })).stdout.trim();
    service = await startProcess({ AUTH: 'keys', LOG_LEVEL: 'trace', DATA_DIR: folder });
    const url = await service.url();
    port = Number(new URL(url).port);
    await new UnseenClient({ url, apiKey: key }).visitedSet('crawl').create({ capacity: 1_000 });
  });
  afterAll(async () => {
    await service.clean();
    await rm(folder, { recursive: true, force: true });
  });

  /** Sends the request as it is, and returns everything received until the connection ends. */
  async function send({ method = 'GET', path, headers = {}, body = '' }: Way): Promise<string> {
    const client = await RawClient.connect(port);
    const all = {
      ...{ host: `127.0.0.1:${port}`, authorization: `Bearer ${key}`, connection: 'close' },
      ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }),
      ...headers,
    };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    client.send(`${method} ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`);
    client.socket.end();
    return client.closed();
  }

  it.each(SECRETS)('$what appears in no error answer and no log line', async ({ text, words }) => {
    const answered = new Set<number>();
    for (const way of waysOf(text)) {
      const answer = await send(way);
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
      answered.add(status);
      // Other answers contain the caller's own data, as a lease contains its URLs and a key its name.
      const problems =
        status >= 400 ? [answer] : answer.split('\n').filter((line) => line.includes('"code"'));
      const leaks = problems.filter((problem) => words.some((word) => problem.includes(word)));
      expect({ way, leaks }).toEqual({ way, leaks: [] });
    }
    expect([...answered]).toEqual(expect.arrayContaining([200, 400, 404, 405, 415]));
    const lines = `${service.stdout()}\n${service.stderr()}`.split('\n');
    expect(lines.filter((line) => words.some((word) => line.includes(word)))).toEqual([]);
  });
});

describe('an unavailable Redis', () => {
  const THEIR_WORDS =
    /max retries|maxRetriesPerRequest|enableOfflineQueue|isn't writeable|Connection is closed|ioredis/;
  let service: ServiceProcess | undefined;
  let redis: RedisServer | undefined;
  afterAll(async () => {
    await service?.clean();
    await redis?.stop();
  });

  it('is reported in the service’s own words, at startup, in answers, and in the log', async () => {
    const redisPort = await freePort();
    service = await startProcess({
      ...{ AUTH: 'none', LOG_LEVEL: 'trace', REDIS_TIMEOUT_MS: '500' },
      REDIS_URL: `redis://joe:redisWord1@127.0.0.1:${redisPort}`,
    });
    const url = await service.url();
    const detail = async (): Promise<string> =>
      ((await (await fetch(`${url}${SET}`)).json()) as { detail: string }).detail;
    expect(await detail()).toBe('Redis cannot be reached; retry later');
    const args = ['--user', 'joe', 'on', '>redisWord1', '~*', '&*', '+@all'];
    redis = await startRedis({ port: redisPort, args });
    await until('the service has found Redis', async () =>
      (await detail()).startsWith('visited set "crawl" does not exist'),
    );
    await redis.stop();
    redis = undefined;
    expect(await detail()).toMatch(/^Redis (cannot be reached|does not answer)\; retry later$/);
    expect(service.stderr()).toContain('the store is not ready (Redis cannot be reached)');
    const output = service.stdout() + service.stderr();
    expect(output).toContain('STORE_UNAVAILABLE');
    expect(output).not.toMatch(THEIR_WORDS);
    expect(output).not.toContain('redisWord1');
  });
});

describe('the client', () => {
  it.each(SECRETS.slice(1, 2))('doesn’t show $what that it can’t send', ({ text, words }) => {
    const refused = (): unknown => new UnseenClient({ apiKey: text });
    expect(refused).toThrow('apiKey must contain only visible ASCII characters');
    expect(refused).not.toThrow(words[0]);
  });
});
