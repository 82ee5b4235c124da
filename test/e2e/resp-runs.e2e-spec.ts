import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, startApp, type TestApp } from '../support/app.js';
import { startRedis } from '../support/redis-server.js';
import { RespClient, respCommand } from '../support/resp-client.js';
import { untilIdle } from './in-flight.js';
import { BOTH_STORES } from './stores.js';

const YES = ':1\r\n';
const NO = ':0\r\n';

describe.each(BOTH_STORES)('pipelined commands, $name store', ({ start }) => {
  let app: TestApp;
  let client: RespClient;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0', MAX_ITEM_BYTES: '100', MAX_BATCH_ITEMS: '500' });
    client = await RespClient.connect(app.respPort);
  });
  afterAll(async () => {
    client.destroy();
    await app.close();
  });

  const reserved = async (capacity = 1_000, ...options: string[]): Promise<string> => {
    const name = freshName();
    expect(await client.call('CF.RESERVE', name, String(capacity), ...options)).toBe('+OK\r\n');
    return name;
  };
  const scrape = async (): Promise<string> => (await fetch(`${app.url}/metrics`)).text();
  const figure = (metrics: string, line: string): number =>
    Number(new RegExp(`^${line} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 0);

  it('may be large even if the first command to a service without keys is', async () => {
    const items = Array.from({ length: 50 }, (_, i) => `item ${i}`);
    expect(await client.call('CF.MEXISTS', 'absent', ...items)).toMatch(/^-ERR not found: /);
  });

  it('aren’t executed after MULTI', async () => {
    const name = await reserved();
    const replies = await client.pipeline([
      ['MULTI'],
      ['CF.ADD', name, 'a'],
      ['CF.ADD', name, 'b'],
      ['PING'],
      ['EXEC'],
      ['CF.MEXISTS', name, 'a', 'b'],
      ['MULTI'],
      ['DISCARD'],
      ['CF.ADD', name, 'a'],
    ]);
    const refused = '-ERR not executed, because MULTI is not supported; send DISCARD to go on\r\n';
    expect(replies.slice(1, 4)).toEqual([refused, refused, refused]);
    expect(replies[4]).toBe('-EXECABORT MULTI is not supported: nothing was executed\r\n');
    expect(replies[5]).toBe('*2\r\n:0\r\n:0\r\n');
    expect(replies[8]).toBe(YES);
  });

  it('delete all names or none, and at most 100 at a time', async () => {
    const name = await reserved();
    expect(await client.call('DEL', name, 'a name')).toMatch(/^-ERR name must /);
    const names = Array.from({ length: 101 }, () => name);
    for (const command of ['DEL', 'UNLINK', 'EXISTS']) {
      expect(await client.call(command, ...names)).toBe(
        '-ERR a command may list at most 100 names, not 101\r\n',
      );
    }
    expect(await client.call('EXISTS', ...names.slice(1))).toBe(':100\r\n');
  });

  it('get their answers in order, each with its own result', async () => {
    const name = await reserved();
    const items = Array.from({ length: 300 }, (_, i) => `item ${i}`);
    const added = await client.pipeline(items.slice(0, 200).map((item) => ['CF.ADD', name, item]));
    expect(added).toEqual(items.slice(0, 200).map(() => YES));
    const found = await client.pipeline(items.map((item) => ['CF.EXISTS', name, item]));
    expect(found).toEqual(items.map((_, i) => (i < 200 ? YES : NO)));
  });

  it('take effect in order, across commands and filters', async () => {
    const [one, other] = [await reserved(), await reserved()];
    expect(
      await client.pipeline([
        ['CF.EXISTS', one, 'a'],
        ['CF.ADD', one, 'a'],
        ['CF.ADD', one, 'a'],
        ['CF.COUNT', one, 'a'],
        ['PING'],
        ['CF.EXISTS', other, 'a'],
        ['CF.DEL', one, 'a'],
        ['CF.DEL', one, 'a'],
        ['CF.DEL', one, 'a'],
        ['cf.exists', one, 'a'],
        ['DEL', one],
        ['EXISTS', one, other],
      ]),
    ).toEqual([NO, YES, YES, ':2\r\n', '+PONG\r\n', NO, YES, YES, NO, NO, YES, YES]);
  });

  it('of one command reach the filter that each of them names', async () => {
    const [one, other] = [await reserved(), await reserved()];
    expect(
      await client.pipeline([
        ['CF.ADD', one, 'x'],
        ['CF.ADD', other, 'y'],
        ['CF.EXISTS', one, 'x'],
        ['CF.EXISTS', other, 'x'],
        ['CF.EXISTS', other, 'y'],
        ['CF.EXISTS', one, 'y'],
      ]),
    ).toEqual([YES, YES, YES, NO, YES, NO]);
  });

  it('fail alone if an item or the command is invalid', async () => {
    const name = await reserved();
    const replies = await client.pipeline([
      ['CF.ADD', name, 'a'],
      ['CF.ADD', name, ''],
      ['CF.ADD', name, 'x'.repeat(101)],
      ['CF.ADD', name, Buffer.from([0xff])],
      ['CF.ADD', name],
      ['CF.ADD', name, 'b'],
      ['CF.INSERT', name, 'ITEMS', 'c', ''],
      ['CF.INSERT', name, 'c'],
      ['CF.INSERT', name, 'ITEMS', 'd'],
      ['CF.MEXISTS', name, 'a', 'b', 'c', 'd'],
    ]);
    expect(replies).toEqual([
      YES,
      '-ERR an item must not be empty\r\n',
      '-ERR an item may have at most 100 bytes, not 101\r\n',
      '-ERR an item must be valid UTF-8, not "\\xff"\r\n',
      "-ERR wrong number of arguments for 'cf.add' command\r\n",
      YES,
      '-ERR an item must not be empty\r\n',
      expect.stringMatching(/^-ERR wrong number of arguments|^-ERR syntax error/),
      `*1\r\n${YES}`,
      `*4\r\n${YES}${YES}${NO}${YES}`,
    ]);
  });

  it('succeed until the filter is full', async () => {
    const name = await reserved(10, 'EXPANSION', '0');
    const items = Array.from({ length: 40 }, (_, i) => `item ${i}`);
    const replies = await client.pipeline(items.map((item) => ['CF.ADD', name, item]));
    const full = `-FILTER_FULL `;
    const kinds = new Set(replies.map((reply) => (reply.startsWith(full) ? 'full' : reply)));
    expect(kinds).toEqual(new Set([YES, 'full']));
    const found = await client.pipeline(items.map((item) => ['CF.EXISTS', name, item]));
    // False positives are possible, but every added item must be present.
    replies.forEach((reply, i) => reply === YES && expect(found[i]).toBe(YES));
    const [inserted] = await client.pipeline([['CF.INSERT', name, 'ITEMS', ...items]]);
    expect(inserted).toMatch(/^\*40\r\n(:-?1\r\n){40}$/);
    expect(inserted).toContain(':-1\r\n');
  });

  it('of one command and filter run as one batch', async () => {
    const name = await reserved();
    const before = await scrape();
    await client.pipeline(Array.from({ length: 400 }, (_, i) => ['CF.ADD', name, `item ${i}`]));
    await client.pipeline([
      ['CF.DEL', name, 'item 1'],
      ['CF.NONE', name],
      ['CF.ADD', name, ''],
    ]);
    const after = await scrape();
    const grown = (line: string): number => figure(after, line) - figure(before, line);
    expect(grown('unseen_resp_commands_total\\{command="CF.ADD",outcome="ok"\\}')).toBe(400);
    expect(grown('unseen_resp_commands_total\\{command="CF.ADD",outcome="VALIDATION_FAILED"\\}')).toBe(1);
    expect(grown('unseen_resp_commands_total\\{command="unknown",outcome="VALIDATION_FAILED"\\}')).toBe(1);
    expect(grown('unseen_items_total\\{verb="add",verdict="new"\\}')).toBe(400);
    expect(grown('unseen_items_total\\{verb="remove",verdict="removed"\\}')).toBe(1);
    expect(figure(after, 'unseen_resp_connections')).toBe(1);
    const { body } = await call(app, 'GET', `/v1/filters/${name}`);
    expect(body).toMatchObject({ added: 400, removed: 1 });
  });

  it('may have more items than a batch', async () => {
    const name = await reserved(10_000);
    const items = Array.from({ length: 1_200 }, (_, i) => `item ${i}`);
    const replies = await client.pipeline(items.map((item) => ['CF.ADD', name, item]));
    expect(new Set(replies)).toEqual(new Set([YES]));
    expect(await client.call('CF.INSERT', name, 'ITEMS', ...items.slice(0, 501))).toBe(
      '-ERR a command may have at most 500 items, not 501\r\n',
    );
    expect(await client.call('CF.MEXISTS', name, ...items.slice(0, 500))).toBe(`*500\r\n${YES.repeat(500)}`);
    expect((await call(app, 'GET', `/v1/filters/${name}`)).body).toMatchObject({ added: 1_200 });
  });

  it('may be 100,000 in one write', async () => {
    const name = await reserved(1_000);
    const count = 100_000;
    const one = respCommand('CF.EXISTS', name, 'a');
    client.send(Buffer.concat(new Array<Buffer>(count).fill(one)));
    expect(new Set(await client.answers(count))).toEqual(new Set([NO]));
    await untilIdle(app);
  });

  it('may arrive byte by byte', async () => {
    const name = await reserved();
    const bytes = Buffer.concat([respCommand('CF.ADD', name, 'é'), respCommand('CF.EXISTS', name, 'é')]);
    for (const byte of bytes) client.send(Buffer.from([byte]));
    expect(await client.answers(2)).toEqual([YES, YES]);
  });

  it('keep their bytes in replies', async () => {
    const every = Buffer.from(Array.from({ length: 128 }, (_, i) => i));
    expect(await client.call('ECHO', every)).toBe(`$128\r\n${every.toString('latin1')}\r\n`);
    expect(await client.call('PING', 'é')).toBe('$2\r\né\r\n');
  });
});

it('a command sees the filter with which another instance has replaced the one it knew', async () => {
  const redis = await startRedis();
  const [one, other] = [await startOn(redis.url), await startOn(redis.url)];
  try {
    const [mine, theirs] = [await RespClient.connect(one.respPort), await RespClient.connect(other.respPort)];
    const name = freshName();
    const replace = async (...create: string[]): Promise<void> => {
      await theirs.call('DEL', name);
      expect(await theirs.call(...create)).toBe('+OK\r\n');
    };
    await replace('CF.RESERVE', name, '100');
    expect(await mine.call('CF.ADD', name, 'a')).toBe(YES);
    await replace('BF.RESERVE', name, '0.01', '100');
    expect(await mine.call('CF.ADD', name, 'b')).toMatch(/^-WRONGTYPE /);
    expect(await mine.call('BF.EXISTS', name, 'b')).toBe(NO);
    await replace('CF.RESERVE', name, '100');
    expect(await mine.call('CF.ADD', name, 'c')).toBe(YES);
    await theirs.call('DEL', name);
    expect(
      await mine.pipeline([
        ['TYPE', name],
        ['EXISTS', name],
      ]),
    ).toEqual(['+none\r\n', NO]);
    const set = { name, capacity: 100 };
    expect((await call(other, 'POST', '/v1/visited-sets', set)).status).toBe(201);
    expect(await mine.call('SADD', name, 'https://example.org/')).toBe(YES);
    await replace('CF.RESERVE', name, '100');
    expect(await mine.call('CF.ADD', name, 'd')).toBe(YES);
    for (const client of [mine, theirs]) client.destroy();
  } finally {
    await one.close();
    await other.close();
    await redis.stop();
  }
});

function startOn(url: string): Promise<TestApp> {
  return startApp({ REDIS_URL: url, RESP_PORT: '0' });
}
