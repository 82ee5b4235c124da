import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { RespClient } from '../support/resp-client.js';
import { BOTH_STORES } from './stores.js';

const [A, B, C] = ['https://a.example/', 'https://b.example/', 'https://c.example/'];

interface Entry {
  readonly id: string;
  readonly url: string;
  readonly attempt: number;
  readonly payload?: string;
}

describe.each(BOTH_STORES)('UNSEEN.* over the Redis protocol, $name store', ({ start }) => {
  let app: TestApp;
  let redis: Redis;
  const clients: RespClient[] = [];
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0', MAX_BATCH_ITEMS: '500' });
    redis = new Redis(app.respPort!, '127.0.0.1', { maxRetriesPerRequest: 0 });
  });
  afterAll(async () => {
    redis.disconnect();
    for (const client of clients) client.destroy();
    await app.close();
  });

  const unseen = (verb: string, ...args: (string | number | Buffer)[]): Promise<unknown> =>
    redis.call(`UNSEEN.${verb}`, ...args);
  const lease = async (...args: (string | number)[]): Promise<Entry[]> =>
    ((await unseen('LEASE', ...args)) as unknown[][]).map((flat) => {
      const pairs = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
      return Object.fromEntries(pairs) as Entry;
    });
  const idsOf = (entries: readonly Entry[]): string[] => entries.map(({ id }) => id);
  const urlsOf = (entries: readonly Entry[]): string[] => entries.map(({ url }) => url);
  const connect = async (): Promise<RespClient> => {
    const client = await RespClient.connect(app.respPort);
    clients.push(client);
    return client;
  };
  const made = async (options: object = {}): Promise<string> => {
    const name = freshName();
    const set = { name, capacity: 1_000, errorRate: 1e-9, ...options };
    expect((await call(app, 'POST', '/v1/visited-sets', set)).status).toBe(201);
    return name;
  };
  const http = (name: string, path: string, body: object, key?: string) =>
    call(app, 'POST', `/v1/visited-sets/${name}/${path}`, body, key ? { 'idempotency-key': key } : {});
  const queueOf = async (name: string): Promise<unknown> =>
    ((await call(app, 'GET', `/v1/visited-sets/${name}`)).body as { queue: unknown }).queue;

  it('replies with maps in RESP 3, and arrays in RESP 2, with payloads', async () => {
    const name = await made();
    await http(name, 'urls/discover', { urls: [{ url: A, payload: 'é' }, B] });
    const client = await connect();
    const id = String.raw`\$2\r\nid\r\n\$\d+\r\n[^\r]+\r\n`;
    const url = (url: string): string => `\\$3\\r\\nurl\\r\\n\\$18\\r\\n${url}\\r\\n`;
    const attempt = String.raw`\$7\r\nattempt\r\n:1\r\n`;
    expect(await client.call('UNSEEN.LEASE', name)).toMatch(
      new RegExp(String.raw`^\*1\r\n\*8\r\n${id}${url(A)}\$7\r\npayload\r\n\$2\r\né\r\n${attempt}$`),
    );
    await client.call('HELLO', '3');
    expect(await client.call('UNSEEN.LEASE', name)).toMatch(
      new RegExp(String.raw`^\*1\r\n%3\r\n${id}${url(B)}${attempt}$`),
    );
    expect(await client.call('UNSEEN.CHECK', name, 'URLS', A)).toBe('*1\r\n$4\r\nseen\r\n');
  });

  it('puts `invalid` in the place of an invalid URL, and handles the others', async () => {
    const name = await made();
    for (const verb of ['DISCOVER', 'VISIT', 'CHECK', 'FORGET']) {
      const reply = await unseen(verb, name, 'URLS', 'mailto:x', A, '');
      expect(reply).toEqual(['invalid', expect.stringMatching(/^(new|seen|forgotten)$/), 'invalid']);
    }
    const client = await connect();
    expect(await client.call('UNSEEN.CHECK', name, 'URLS', Buffer.from([0xff]))).toBe(
      '-ERR an item must be valid UTF-8, not "\\xff"\r\n',
    );
  });

  it('gives a repeat with the same KEY the first results, after a reconnect and over HTTP', async () => {
    const name = await made();
    const key = randomUUID();
    const options = ['KEY', key, 'PRIORITY', 'High', 'DELAY', '0'];
    const discover = ['UNSEEN.DISCOVER', name, ...options, 'URLS', A, 'no URL', B];
    const first = await (await connect()).call(...discover);
    expect(first).toBe('*3\r\n$3\r\nnew\r\n$7\r\ninvalid\r\n$3\r\nnew\r\n');
    // The order of options doesn't matter.
    expect(
      await (
        await connect()
      ).call(
        ...['UNSEEN.DISCOVER', name, 'DELAY', '0', 'priority', 'high', 'key', key, 'URLS', A, 'no URL', B],
      ),
    ).toBe(first);
    const body = { urls: [A, 'no URL', B], priority: 'high', delaySeconds: 0 };
    const overHttp = await http(name, 'urls/discover', body, key);
    expect(overHttp).toMatchObject({ status: 200, body: { results: ['new', 'invalid', 'new'] } });
    expect(await queueOf(name)).toMatchObject({ waiting: 2 });

    const [leaseKey, ackKey] = [randomUUID(), randomUUID()];
    const leased = await lease(name, 'KEY', leaseKey, 'MAX', 2, 'SECONDS', 600);
    expect(leased).toHaveLength(2);
    expect(await lease(name, 'SECONDS', 600, 'MAX', 2, 'BLOCK', 30_000, 'KEY', leaseKey)).toEqual(leased);
    const again = await http(name, 'queue/lease', { max: 2, leaseSeconds: 600 }, leaseKey);
    expect(again.body).toMatchObject({ urls: leased });
    const ids = idsOf(leased);
    const acked = await http(name, 'queue/ack', { ids }, ackKey);
    expect(acked.body).toEqual({ results: ['acked', 'acked'] });
    expect(await unseen('ACK', name, 'KEY', ackKey, 'IDS', ...ids)).toEqual(['acked', 'acked']);
    expect(await unseen('ACK', name, 'IDS', ...ids)).toEqual(['expired', 'expired']);

    const keys = ['VISIT', 'FORGET'].map((verb) => [verb, randomUUID()] as const);
    for (const [verb, key] of keys) {
      const results = await unseen(verb, name, 'KEY', key, 'URLS', C);
      expect(await unseen(verb, name, 'KEY', key, 'URLS', C)).toEqual(results);
      expect(await unseen(verb, name, 'URLS', C)).not.toEqual(results);
    }
    await expect(unseen('DISCOVER', name, 'KEY', key, 'URLS', C)).rejects.toThrow(
      `IDEMPOTENCY_KEY_REUSED KEY ${key} was already used for another request; nothing was changed`,
    );
    // Also in one pipeline.
    const replies = await (await connect()).pipeline([discover, discover, [...discover, C]]);
    expect(replies).toEqual([first, first, expect.stringMatching(/^-IDEMPOTENCY_KEY_REUSED /)]);
  });

  it('repeats RELEASE and EXTEND with the same KEY', async () => {
    const name = await made();
    await unseen('DISCOVER', name, 'URLS', A);
    const [{ id } = { id: '' }] = await lease(name, 'SECONDS', 600);
    const [extend, release] = [randomUUID(), randomUUID()];
    const extended = ['EXTEND', name, 'KEY', extend, 'SECONDS', 700, 'IDS', id] as const;
    const released = ['RELEASE', name, 'REASON', '503', 'KEY', release, 'DELAY', 0, 'IDS', id] as const;
    expect(await unseen(...extended)).toEqual(['extended']);
    expect(await unseen(...released)).toEqual(['released']);
    expect(await unseen(...released)).toEqual(['released']);
    expect(await unseen(...extended)).toEqual(['extended']);
    const again = await http(name, 'queue/release', { ids: [id], delaySeconds: 0, reason: '503' }, release);
    expect(again.body).toEqual({ results: ['released'] });
  });

  it('keeps the options and results of discoveries in a pipeline apart', async () => {
    const name = await made();
    const client = await connect();
    const urls = Array.from({ length: 400 }, (_, n) => `https://a.example/${n}`);
    const replies = await client.pipeline([
      ...urls.map((url) => ['UNSEEN.DISCOVER', name, 'PRIORITY', 'low', 'URLS', url]),
      ['UNSEEN.DISCOVER', name, 'PRIORITY', 'high', 'URLS', A, urls[0]!],
      ['UNSEEN.DISCOVER', name, 'PRIORITY', 'no', 'URLS', B],
      ['UNSEEN.DISCOVER', name, 'PRIORITY', 'high', 'URLS', 'x', C],
      ['UNSEEN.CHECK', name, 'URLS', B],
      ['UNSEEN.CHECK', name, 'URLS', C, 'x'],
    ]);
    expect(new Set(replies.slice(0, 400))).toEqual(new Set(['*1\r\n$3\r\nnew\r\n']));
    expect(replies.slice(400)).toEqual([
      '*2\r\n$3\r\nnew\r\n$4\r\nseen\r\n',
      '-ERR PRIORITY must be high, normal or low, not "no"\r\n',
      '*2\r\n$7\r\ninvalid\r\n$3\r\nnew\r\n',
      '*1\r\n$6\r\nunseen\r\n',
      '*2\r\n$4\r\nseen\r\n$7\r\ninvalid\r\n',
    ]);
    expect(urlsOf(await lease(name, 'MAX', 3))).toEqual([A, C, urls[0]]);
  });

  it('appear in the metrics, with the verbs of HTTP', async () => {
    const name = await made();
    const scrape = async (): Promise<string> => (await fetch(`${app.url}/metrics`)).text();
    const figures = (metrics: string): number[] =>
      [
        'unseen_items_total{verb="discover",verdict="new"}',
        'unseen_resp_commands_total{command="UNSEEN.DISCOVER",outcome="ok"}',
        'unseen_resp_commands_total{command="UNSEEN.LEASE",outcome="ok"}',
        'unseen_resp_commands_total{command="UNSEEN.LEASE",outcome="VALIDATION_FAILED"}',
      ].map((figure) => Number(metrics.split(`\n${figure} `)[1]?.split('\n')[0] ?? 0));
    const before = figures(await scrape());
    const client = await connect();
    await client.pipeline([
      ['UNSEEN.DISCOVER', name, 'URLS', A, B],
      ['UNSEEN.LEASE', name],
      ['UNSEEN.LEASE', name, 'MAX', '0'],
    ]);
    const after = figures(await scrape());
    expect(after.map((figure, i) => figure - before[i]!)).toEqual([2, 1, 1, 1]);
  });

  it('limits hosts: `limited`, MAXPERHOST and HOSTDELAY', async () => {
    const name = await made({ perHost: { maxUrls: 2 } });
    const urls = ['1', '2', '3'].map((page) => `${A}${page}`);
    expect(await unseen('DISCOVER', name, 'URLS', ...urls, B)).toEqual(['new', 'new', 'limited', 'new']);
    const leased = await lease(name, 'MAX', 10, 'MAXPERHOST', 1);
    expect(urlsOf(leased).sort()).toEqual([urls[0], B]);
    const [ofA] = leased.filter(({ url }) => url === urls[0]);
    expect(await unseen('RELEASE', name, 'HOSTDELAY', 600, 'IDS', ofA!.id)).toEqual(['released']);
    expect(await lease(name, 'MAX', 10)).toEqual([]);
  });

  it('schedules URLs: DELAY and AGAIN', async () => {
    const name = await made();
    await unseen('DISCOVER', name, 'DELAY', 3_600, 'URLS', A);
    await unseen('DISCOVER', name, 'URLS', B);
    const leased = await lease(name, 'MAX', 10);
    expect(urlsOf(leased)).toEqual([B]);
    expect(await unseen('ACK', name, 'AGAIN', 3_600, 'IDS', ...idsOf(leased))).toEqual(['acked']);
    expect(await queueOf(name)).toMatchObject({ scheduled: 2 });
    const ageing = await made({ maxAgeSeconds: 3_600 });
    expect(await unseen('DISCOVER', ageing, 'TTL', 60, 'URLS', A)).toEqual(['new']);
    const [{ id } = { id: '' }] = await lease(ageing);
    await expect(unseen('ACK', ageing, 'AGAIN', 60, 'IDS', id)).rejects.toThrow(
      `ERR AGAIN is not allowed (got 60): visited set "${ageing}" has maxAgeSeconds`,
    );
    await expect(unseen('VISIT', ageing, 'TTL', 3_601, 'URLS', A)).rejects.toThrow(
      'ERR TTL must be at most 3600',
    );
    await expect(unseen('DISCOVER', ageing, 'TTL', 60, 'DELAY', 60, 'URLS', B)).rejects.toThrow(
      'ERR DELAY must be less than 60, the time to live of the URLs, not 60',
    );
  });

  it('refuses bad options, and names the value and the limit', async () => {
    const name = await made();
    const filter = freshName();
    await call(app, 'POST', '/v1/filters', {
      name: filter,
      capacity: 100,
      errorRate: 0.01,
      type: 'counting',
    });
    const many = Array.from({ length: 501 }, (_, n) => `${A}${n}`);
    const syntax = 'ERR syntax error: ';
    for (const [args, error] of [
      [['DISCOVER', name, A, B], `${syntax}"${A}" is none of KEY, TTL, PRIORITY, DELAY, URLS`],
      [['DISCOVER', name, 'KEY', 'k', 'URLS'], `${syntax}URLS and at least one URL must follow the options`],
      [['CHECK', name, 'KEY', 'k', 'URLS', A], `${syntax}"KEY" is none of URLS`],
      [['ACK', name, 'KEY', 'k', 'IDS'], `${syntax}IDS and at least one id must follow the options`],
      [['ACK', name, 'URLS', A], `${syntax}"URLS" is none of KEY, AGAIN, IDS`],
      [['LEASE', name, 'MAX', 1, 'MAX', 2], `${syntax}MAX may be given once`],
      [['LEASE', name, 'MAX'], `${syntax}MAX needs a value`],
      [['LEASE', name, 'URLS'], `${syntax}"URLS" is none of KEY, MAX, SECONDS, MAXPERHOST, BLOCK`],
      [['LEASE', name, 'MAX', 0], 'ERR MAX must be a whole number from 1 to 1000, not 0'],
      [['LEASE', name, 'MAX', 'x'], 'ERR MAX must be a whole number from 1 to 1000, not "x"'],
      [['LEASE', name, 'SECONDS', '1e3'], 'ERR SECONDS must be a whole number from 1 to 86400, not "1e3"'],
      [
        ['LEASE', name, 'SECONDS', 0, 'MAX', 1_001],
        'ERR MAX must be a whole number from 1 to 1000, not 1001; SECONDS must be',
      ],
      [['LEASE', name, 'BLOCK', 30_001], 'ERR BLOCK must be a whole number from 1 to 30000, not 30001'],
      [['LEASE', name, 'BLOCK', 0], 'ERR BLOCK must be a whole number from 1 to 30000, not 0'],
      [['LEASE', name, 'MAXPERHOST', 1], `ERR MAXPERHOST is not allowed (got 1): visited set "${name}" was`],
      [['LEASE', name, 'KEY', 'a b'], 'ERR KEY must be 1 to 255 visible ASCII characters, not "a b"'],
      [['DISCOVER', name, 'KEY', '', 'URLS', A], 'ERR KEY must be 1 to 255 visible ASCII characters, not ""'],
      [
        ['DISCOVER', name, 'DELAY', -1, 'URLS', A],
        'ERR DELAY must be a whole number from 0 to 315360000, not "-1"',
      ],
      [['DISCOVER', name, 'TTL', 60, 'URLS', A], `ERR TTL is not allowed (got 60): visited set "${name}"`],
      [['DISCOVER', name, 'URLS', ...many], 'ERR a command may have at most 500 items, not 501'],
      [['ACK', name, 'AGAIN', 0, 'IDS', 'x'], 'ERR AGAIN must be a whole number from 1 to 315360000, not 0'],
      [['ACK', name, 'IDS', ...many], 'ERR ids must have at most 500 entries, not 501'],
      [['ACK', name, 'IDS', ''], 'ERR ids[0] must not be empty'],
      [['ACK', name, 'IDS', 'x', 'again', 60], `${syntax}AGAIN must come before IDS`],
      [
        ['RELEASE', name, 'REASON', Buffer.from('a\xff', 'latin1'), 'IDS', 'x'],
        `${syntax}REASON must be valid UTF-8, not "a\\xff"`,
      ],
      [
        ['RELEASE', name, 'REASON', 'x'.repeat(2_000), 'IDS', 'x'],
        'ERR REASON must be a string of well-formed',
      ],
      [['EXTEND', name, 'KEY', 'k', 'IDS', 'x'], 'ERR SECONDS is missing; it must be a whole number from 1'],
      [['LEASE'], "ERR wrong number of arguments for 'unseen.lease' command"],
      [['CHECK', name, 'URLS'], "ERR wrong number of arguments for 'unseen.check' command"],
      [['LEASE', freshName()], 'ERR not found: visited set'],
      [['LEASE', 'no/name'], 'ERR name must be'],
      [['CHECK', filter, 'URLS', A], `WRONGTYPE "${filter}" is a filter, and UNSEEN.* needs a visited set`],
      [['LEASE', filter], `WRONGTYPE "${filter}" is a filter`],
    ] as const) {
      const [verb, ...rest] = args;
      await expect(unseen(verb, ...rest)).rejects.toThrow(error);
    }
    expect(await queueOf(name)).toMatchObject({ waiting: 0, leased: 0 });
  });
});
