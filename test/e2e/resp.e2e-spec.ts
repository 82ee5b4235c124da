import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type TestApp } from '../support/app.js';
import { RespClient } from '../support/resp-client.js';
import { BOTH_STORES } from './stores.js';

describe.each(BOTH_STORES)('the Redis protocol, $name store', ({ start }) => {
  let app: TestApp;
  let redis: Redis;
  beforeAll(async () => {
    app = await start({ RESP_PORT: '0' });
    redis = new Redis(app.respPort!, '127.0.0.1', { maxRetriesPerRequest: 0 });
  });
  afterAll(async () => {
    redis.disconnect();
    await app.close();
  });

  const command = (...[name, ...args]: [string, ...(string | number)[]]): Promise<unknown> =>
    redis.call(name, ...args);
  const reserved = async (kind: 'CF' | 'BF', capacity = 1_000, ...options: string[]): Promise<string> => {
    const name = freshName();
    const rate = kind === 'BF' ? ['0.001'] : [];
    expect(await command(`${kind}.RESERVE`, name, ...rate, capacity, ...options)).toBe('OK');
    return name;
  };
  const made = async (path: string, body: object): Promise<string> => {
    const name = freshName();
    const answer = await call(app, 'POST', path, { name, capacity: 1_000, ...body });
    expect(answer.status).toBe(201);
    return name;
  };

  it('counts items in a CF filter, and removes them exactly', async () => {
    const name = await reserved('CF');
    expect(await command('TYPE', name)).toBe('MBbloomCF');
    expect(await command('CF.EXISTS', name, 'a')).toBe(0);
    expect(await command('CF.ADD', name, 'a')).toBe(1);
    expect(await command('CF.ADD', name, 'a')).toBe(1);
    expect(await command('CF.INSERT', name, 'NOCREATE', 'ITEMS', 'b', 'c')).toEqual([1, 1]);
    expect(await command('CF.COUNT', name, 'a')).toBe(2);
    expect(await command('CF.MEXISTS', name, 'a', 'b', 'x')).toEqual([1, 1, 0]);
    expect(await command('CF.DEL', name, 'a')).toBe(1);
    expect(await command('CF.DEL', name, 'a')).toBe(1);
    expect(await command('CF.DEL', name, 'a')).toBe(0);
    expect(await command('CF.EXISTS', name, 'a')).toBe(0);
    const info = (await command('CF.INFO', name)) as (string | number)[];
    expect(info).toHaveLength(16);
    expect(info.slice(6, 10)).toEqual(['Number of items inserted', 2, 'Number of items deleted', 2]);
  });

  it('adds an item to a CF filter only if it is absent, with NX', async () => {
    const name = await reserved('CF');
    expect(await command('CF.ADDNX', name, 'a')).toBe(1);
    expect(await command('CF.ADDNX', name, 'a')).toBe(0);
    expect(await command('CF.INSERTNX', name, 'ITEMS', 'a', 'b', 'b')).toEqual([0, 1, 0]);
    expect(await command('CF.COUNT', name, 'b')).toBe(1);
    expect(await command('CF.ADD', name, 'b')).toBe(1);
    expect(await command('CF.COUNT', name, 'b')).toBe(2);
  });

  it('takes the options for creation in an insertion, which have no effect on a filter that exists', async () => {
    const [cf, bf] = [await reserved('CF'), await reserved('BF')];
    const create = ['CAPACITY', 5, 'ERROR', 0.1, 'EXPANSION', 4, 'NONSCALING'];
    expect(await command('CF.INSERT', cf, 'CAPACITY', 5, 'ITEMS', 'a')).toEqual([1]);
    expect(await command('CF.INSERTNX', cf, 'CAPACITY', 5, 'NOCREATE', 'ITEMS', 'a', 'b')).toEqual([0, 1]);
    expect(await command('BF.INSERT', bf, ...create, 'ITEMS', 'capacity', 'items')).toEqual([1, 1]);
    expect(await command('BF.INFO', bf, 'CAPACITY')).toEqual([1_000]);
    const absent = freshName();
    await expect(command('BF.INSERT', absent, ...create, 'ITEMS', 'a')).rejects.toThrow('ERR not found: ');
    await expect(command('BF.INSERT', bf, 'CAPACITY', 'ITEMS', 'a')).rejects.toThrow(
      'ERR argument 3 must be a number without a sign, not "ITEMS"',
    );
    await expect(command('BF.INSERT', bf, 'ITEMS')).rejects.toThrow('ERR wrong number of arguments');
    await expect(command('BF.INSERT', bf, 'NOCREATE', 'CAPACITY')).rejects.toThrow(
      'ERR syntax error: CAPACITY needs a value',
    );
    await expect(command('CF.INSERT', cf, ...create, 'ITEMS', 'a')).rejects.toThrow(
      'ERR syntax error: ITEMS is missing before the items',
    );
  });

  it('adds an item once to a BF filter', async () => {
    const name = await reserved('BF', 1_000, 'NONSCALING');
    expect(await command('TYPE', name)).toBe('MBbloom--');
    expect(await command('BF.ADD', name, 'a')).toBe(1);
    expect(await command('BF.ADD', name, 'a')).toBe(0);
    expect(await command('BF.MADD', name, 'a', 'b', 'b')).toEqual([0, 1, 0]);
    expect(await command('BF.INSERT', name, 'ITEMS', 'b', 'c')).toEqual([0, 1]);
    expect(await command('BF.EXISTS', name, 'c')).toBe(1);
    expect(await command('BF.MEXISTS', name, 'c', 'd')).toEqual([1, 0]);
    expect(await command('BF.CARD', name)).toBe(3);
    expect(await command('BF.INFO', name, 'ITEMS')).toEqual([3]);
    expect(await command('BF.INFO', name)).toEqual([
      ...['Capacity', 1_000, 'Size', expect.any(Number), 'Number of filters', 1],
      ...['Number of items inserted', 3, 'Expansion rate', null],
    ]);
  });

  it('takes URLs as a visited set’s members, by their URL keys', async () => {
    const name = await made('/v1/visited-sets', {});
    expect(await redis.type(name)).toBe('set');
    expect(await redis.sadd(name, 'https://example.org/a?b=1', 'HTTPS://EXAMPLE.ORG:443/a?b=1')).toBe(1);
    expect(await redis.sadd(name, 'https://example.org/a?b=1')).toBe(0);
    expect(await redis.sismember(name, 'https://example.org/a?b=1#top')).toBe(1);
    expect(await redis.smismember(name, 'https://example.org/a?b=1', 'https://example.org/c')).toEqual([
      1, 0,
    ]);
    expect(await redis.scard(name)).toBe(1);
    expect(await redis.srem(name, 'https://example.org/a?b=1', 'https://example.org/c')).toBe(1);
    expect(await redis.scard(name)).toBe(0);
    const { body } = await call(app, 'GET', `/v1/visited-sets/${name}`);
    expect(body).toMatchObject({ queue: { waiting: 0 } });
  });

  it('names a member that isn’t a URL, and adds the others', async () => {
    const name = await made('/v1/visited-sets', {});
    await expect(redis.sadd(name, 'https://example.org/', 'mailto:me@example.org')).rejects.toThrow(
      'ERR "mailto:***@example.org" is not a URL for this set (scheme not http or https); ' +
        'the valid URLs of this call were handled',
    );
    expect(await redis.scard(name)).toBe(1);
  });

  it('takes any text as members of a counting filter with set semantics', async () => {
    const name = await made('/v1/filters', { type: 'counting', errorRate: 0.001 });
    expect(await redis.sadd(name, 'da39a3ee5e6b4b0d3255bfef95601890afd80709', 'é', 'é')).toBe(2);
    expect(await redis.sismember(name, 'é')).toBe(1);
    expect(await redis.srem(name, 'é', 'x')).toBe(1);
    expect(await redis.scard(name)).toBe(1);
  });

  it('shares its data with HTTP', async () => {
    const name = await reserved('CF');
    await call(app, 'POST', `/v1/filters/${name}/items/add`, { items: ['over http'] });
    expect(await command('CF.EXISTS', name, 'over http')).toBe(1);
    await command('CF.ADD', name, 'over resp');
    const answer = await call(app, 'POST', `/v1/filters/${name}/items/check`, { items: ['over resp', 'x'] });
    expect(answer.body).toEqual({ results: [true, false] });
  });

  it('deletes and finds filters of every kind by name', async () => {
    const names = [
      await reserved('CF'),
      await reserved('BF'),
      await made('/v1/visited-sets', {}),
      await made('/v1/filters', { type: 'counting', errorRate: 0.01 }),
    ];
    const absent = freshName();
    expect(await redis.exists(...names, names[0]!, absent)).toBe(5);
    expect(await redis.type(absent)).toBe('none');
    expect(await redis.del(names[0]!, absent, names[1]!)).toBe(2);
    expect(await redis.unlink(names[2]!, names[3]!, names[3]!)).toBe(2);
    expect(await redis.exists(...names)).toBe(0);
  });

  it('refuses a command on a filter of another type, and one on a name that doesn’t exist', async () => {
    const [cf, bf, set] = [await reserved('CF'), await reserved('BF'), await made('/v1/visited-sets', {})];
    const wrong = 'WRONGTYPE Operation against a key holding the wrong kind of value: ';
    await expect(command('BF.ADD', cf, 'a')).rejects.toThrow(
      `${wrong}"${cf}" has the type MBbloomCF; use the commands CF.*`,
    );
    await expect(command('CF.ADD', bf, 'a')).rejects.toThrow(
      `${wrong}"${bf}" has the type MBbloom--; use the commands BF.*`,
    );
    await expect(command('CF.ADD', set, 'a')).rejects.toThrow(
      `${wrong}"${set}" has the type set; use SADD, SREM, SISMEMBER, SMISMEMBER and SCARD`,
    );
    const absent = freshName();
    for (const args of [
      ['CF.ADD', absent, 'a'],
      ['BF.EXISTS', absent, 'a'],
      ['BF.CARD', absent],
    ] as const) {
      await expect(command(...(args as unknown as [string, string]))).rejects.toThrow(
        `ERR not found: filter "${absent}" does not exist; check the name, or create the filter`,
      );
    }
    await expect(redis.sadd(absent, 'a')).rejects.toThrow(`ERR not found: visited set "${absent}"`);
    await expect(command('CF.ADD', 'no/name', 'a')).rejects.toThrow('ERR name must be');
    await expect(command('CF.RESERVE', cf, 1_000)).rejects.toThrow(`ERR item exists: "${cf}"`);
    await expect(command('CF.RESERVE', cf, 2_000)).rejects.toThrow('ERR item exists: ');
    await expect(command('CF.RESERVE', freshName(), 0)).rejects.toThrow('ERR capacity must be');
  });

  it('refuses each command that has no meaning here, and names the alternative', async () => {
    await expect(redis.get('x')).rejects.toThrow('ERR GET is not supported: Unseen keeps sets and filters');
    await expect(redis.lpush('x', 'a')).rejects.toThrow(
      'ERR LPUSH is not supported: queue URLs with UNSEEN.',
    );
    await expect(command('CF.SCANDUMP', 'x', 0)).rejects.toThrow('ERR CF.SCANDUMP is not supported: use GET');
    await expect(redis.multi({ pipeline: false })).rejects.toThrow(
      'ERR MULTI is not supported: commands that arrive together',
    );
    await expect(command('DISCARD')).rejects.toThrow('ERR DISCARD is not supported: ');
    await expect(command('NO.SUCH', 'x')).rejects.toThrow('ERR unknown command "NO.SUCH"');
    await expect(command('CF.ADD', 'x')).rejects.toThrow(
      "ERR wrong number of arguments for 'cf.add' command",
    );
  });

  it('answers the commands that clients send first', async () => {
    expect(await redis.ping()).toBe('PONG');
    expect(await redis.echo('é')).toBe('é');
    expect(await redis.select(0)).toBe('OK');
    await expect(redis.select(1)).rejects.toThrow('ERR the only database is 0, not "1"');
    expect(await redis.client('SETNAME', 'crawler')).toBe('OK');
    expect(await redis.client('GETNAME')).toBe('crawler');
    expect(await redis.client('SETINFO', 'LIB-NAME', 'ioredis')).toBe('OK');
    expect(await redis.client('INFO')).toMatch(
      new RegExp(
        '^id=\\d+ addr=127\\.0\\.0\\.1 name=crawler age=\\d+ idle=0 db=0 sub=0 psub=0 multi=-1 ' +
          'qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=0 resp=[23]\\n$',
      ),
    );
    for (const line of ['redis_version:7.0.0', 'arch_bits:64', 'cluster_enabled:0']) {
      expect(await redis.info()).toContain(`${line}\r\n`);
    }
    expect(await redis.info('cluster')).toBe('# Cluster\r\ncluster_enabled:0\r\n');
    expect(await command('COMMAND', 'DOCS')).toEqual([]);
    await expect(command('CLIENT', 'TRACKING', 'ON')).rejects.toThrow(
      'ERR CLIENT "TRACKING" is not supported',
    );
  });

  it('answers in RESP 3 types after HELLO 3', async () => {
    const [cf, bf] = [await reserved('CF'), await reserved('BF', 1_000, 'NONSCALING')];
    const client = await RespClient.connect(app.respPort);
    const hello = await client.call('HELLO', '3');
    expect(hello).toMatch(/^%7\r\n\$6\r\nserver\r\n\$6\r\nunseen\r\n/);
    expect(
      await client.pipeline([
        ['CF.ADD', cf, 'a'],
        ['CF.EXISTS', cf, 'a'],
        ['CF.MEXISTS', cf, 'a', 'b'],
        ['CF.COUNT', cf, 'a'],
        ['CF.DEL', cf, 'b'],
        ['BF.ADD', bf, 'a'],
        ['BF.MADD', bf, 'a', 'b'],
        ['EXISTS', cf],
        ['CLIENT', 'GETNAME'],
      ]),
    ).toEqual([
      '#t\r\n',
      '#t\r\n',
      '*2\r\n#t\r\n#f\r\n',
      ':1\r\n',
      '#f\r\n',
      '#t\r\n',
      '*2\r\n#f\r\n#t\r\n',
      ':1\r\n',
      '_\r\n',
    ]);
    expect(await client.call('CF.INFO', cf)).toMatch(/^%8\r\n\$4\r\nSize\r\n:\d+\r\n/);
    expect(await client.call('BF.INFO', bf)).toMatch(/\$14\r\nExpansion rate\r\n_\r\n$/);
    expect(
      await client.pipeline(
        [['RESET'], ['CF.EXISTS', cf, 'a'], ['HELLO', '4'], ['QUIT'], ['PING']].slice(0, 4),
      ),
    ).toEqual([
      '+RESET\r\n',
      ':1\r\n',
      '-NOPROTO the protocol version must be 2 or 3, not "4"\r\n',
      '+OK\r\n',
    ]);
    await client.closed();
  });

  it('adds all URLs of a command to a set with maxUrls, or none, even if two clients fill the set', async () => {
    // The set has one layer.
    const own = await start({ RESP_PORT: '0', MAX_FILTER_BYTES: '100000' });
    const connect = (): Promise<RespClient> => RespClient.connect(own.respPort);
    try {
      const [name, each] = [freshName(), 500];
      const set = { name, capacity: 2_000, errorRate: 1e-9, perHost: { maxUrls: 1 } };
      expect((await call(own, 'POST', '/v1/visited-sets', set)).status).toBe(201);
      const pipelines = ['a', 'b'].map((client) =>
        ['x', 'y', 'z'].map((command) =>
          Array.from({ length: each }, (_, n) => `http://${client}${command}${n}.example/`),
        ),
      );
      // A pipeline runs as one batch, which has more hosts than one change of the embedded store takes.
      const replies = await Promise.all(
        pipelines.map(async (pipeline) => {
          const client = await connect();
          return client.pipeline(pipeline.map((urls) => ['SADD', name, ...urls]));
        }),
      );
      const client = await connect();
      for (const [n, urls] of pipelines.flat().entries()) {
        const found = await client.call('SMISMEMBER', name, ...urls);
        const present = found.split(':1').length - 1;
        const reply = replies.flat()[n]!;
        // A few URLs may test positive, because the set is beyond its capacity.
        if (reply.startsWith('-FILTER_FULL ')) expect(present).toBeLessThan(each / 10);
        else expect([present, Number(reply.slice(1)) > each * 0.9]).toEqual([each, true]);
      }
    } finally {
      await own.close();
    }
  });
});
