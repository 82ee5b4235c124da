import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { modulesRun } from '../support/modules-run.js';
import { startRedis } from '../support/redis-server.js';
import { startProcess, type ProcessOptions, type ServiceProcess } from '../support/service-process.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';

/** Timeouts that no test reaches, even on a slow machine. */
const PATIENT = { SHUTDOWN_GRACE_MS: '600000', STREAM_IDLE_MS: '3600000', STREAM_MIN_RATE: '1' };

const running: ServiceProcess[] = [];
const start = async (
  env: Record<string, string> = {},
  options: ProcessOptions = {},
): Promise<ServiceProcess> => {
  const service = await startProcess(env, options);
  running.push(service);
  return service;
};
afterEach(async () => {
  for (const service of running.splice(0)) await service.clean();
});

const post = async (url: string, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

describe('starting', () => {
  it('logs in one line its address, its docs, and its store', async () => {
    const service = await start();
    const url = await service.url();
    expect(service.stdout()).toBe(
      `Unseen is listening on ${url}, embedded store in ${service.dataDir}; docs: ${url}/docs\n`,
    );
    expect(service.stderr()).toBe('');
    expect(await statusOf(`${url}/docs`)).toBe(200);
  });

  it.each([
    [{ PORT: 'http' }, 'PORT is "http"; it must be a whole number from 0 to 65535'],
    [{ STORE: 'mongo' }, 'STORE is "mongo"; it must be one of embedded, redis'],
    [
      { LOG_LEVEL: 'loud' },
      'LOG_LEVEL is "loud"; it must be one of trace, debug, info, warn, error, fatal, silent',
    ],
    [{ AUTH: 'open' }, 'AUTH is "open"; it must be one of keys, none'],
    [{ HOST: '0.0.0.0' }, 'HOST is "0.0.0.0", which other machines may reach: set AUTH=keys'],
    [{ REDIS_URL: 'http://user:secret@host' }, 'REDIS_URL is not a Redis URL (its value is not shown)'],
  ])('refuses %j in one line', async (env, message) => {
    const service = await start(env);
    expect(await service.exit()).toBe(1);
    expect(service.stderr()).toContain(`Unseen cannot start: ${message}`);
    expect(service.stderr()).not.toContain('secret');
    expect(service.stderr().trimEnd().split('\n')).toHaveLength(1);
    expect(service.stdout()).toBe('');
  });

  it('runs no Redis client for the embedded store, with any settings', async () => {
    const { bundled } = await modulesRun({ RATE_LIMIT: '100' }, async (url) =>
      expect(await statusOf(`${url}/readyz`)).toBe(200),
    );
    const packages = new Set(bundled.map((path) => path.split('/')[1]));
    expect(packages).toContain('rate-limiter-flexible');
    expect(packages).not.toContain('ioredis');
    expect(bundled.filter((path) => path.startsWith('libs/store/src/redis/'))).toEqual([]);
  });

  it('emits no warning when many streams wait', async () => {
    const service = await start({ MAX_STREAMS: '40' });
    const url = await service.url();
    await post(`${url}/v1/visited-sets`, { name: 'many', capacity: 1_000, errorRate: 0.01 });
    const { port } = new URL(url);
    const head =
      'POST /v1/visited-sets/many/urls/visit HTTP/1.1\r\nHost: localhost\r\n' +
      'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n';
    const sockets = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1'));
    try {
      for (const socket of sockets) socket.write(head);
      await until('all streams wait', async () => {
        const text = await (await fetch(`${url}/metrics`)).text();
        return /^unseen_in_flight_requests\{[^}]*streams[^}]*\} 20$/m.test(text);
      });
      // Node.js emits a warning in a later turn, so wait for an answer first.
      await fetch(`${url}/healthz`);
      expect(service.stderr()).toBe('');
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('warns that AUTH=none lets everyone in', async () => {
    const service = await start({ HOST: '0.0.0.0', AUTH: 'none' });
    await service.url();
    await until('the service has warned', () =>
      Promise.resolve(service.stderr().includes('WARNING: AUTH=none')),
    );
  });

  it('refuses a port in use and a data directory in use, in one line', async () => {
    const first = await start();
    const { port } = new URL(await first.url());
    const second = await start({ PORT: port });
    expect(await second.exit()).toBe(1);
    expect(second.stderr()).toMatch(
      /^Unseen cannot start: .*another program is listening on this address.*\n$/,
    );
    const third = await start({ DATA_DIR: first.dataDir });
    expect(await third.exit()).toBe(1);
    expect(third.stderr()).toMatch(/^Unseen cannot start: [^\n]+\n$/);
    expect(third.stderr()).not.toContain('    at ');
    expect([second.stdout(), third.stdout()]).toEqual(['', '']);
    const fourth = await start({ DATA_DIR: join(first.dataDir, 'lock') });
    expect(await fourth.exit()).toBe(1);
    expect(fourth.stderr()).toMatch(/^Unseen cannot start: DATA_DIR "[^\n]+" cannot be used: [^\n]+\n$/);
  });

  it('refuses a Redis whose data has another key layout, in one line', async () => {
    const redis = await startRedis();
    try {
      const client = new Redis(redis.port, '127.0.0.1');
      await client.hset('unseen:{catalogue}:filters', '', '2');
      client.disconnect();
      const service = await start({ REDIS_URL: redis.url });
      expect(await service.exit()).toBe(1);
      expect(service.stderr()).toMatch(
        /^Unseen cannot start: Redis cannot be used: Redis has data in key layout 2, and this [^\n]+\n$/,
      );
    } finally {
      await redis.stop();
    }
  });

  it('starts without Redis, and says so', async () => {
    const service = await start({ REDIS_URL: 'redis://127.0.0.1:1', REDIS_TIMEOUT_MS: '200' });
    await service.url();
    await until('the service has warned', () =>
      Promise.resolve(/^WARNING: the store is not ready \([^\n]+\n$/.test(service.stderr())),
    );
  });
});

describe('ending', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'exits with 0 on %s, with or without idle connections, and keeps acknowledged changes',
    async (signal) => {
      // Longer than this test may take, so an exit shows that nothing waited for it.
      const service = await start({ SHUTDOWN_GRACE_MS: '600000' });
      const url = await service.url();
      await post(`${url}/v1/filters`, { name: 'kept', type: 'counting', capacity: 100, errorRate: 0.01 });
      await post(`${url}/v1/filters/kept/items/add`, { items: ['a'] });
      service.child.kill(signal);
      expect(await service.exit()).toBe(0);
      expect(service.stderr()).toBe('');
      const again = await start({ DATA_DIR: service.dataDir });
      const answer = await post(`${await again.url()}/v1/filters/kept/items/check`, { items: ['a', 'b'] });
      expect(await answer.json()).toEqual({ results: [true, false] });
    },
  );

  it('finishes requests in flight and accepts no new ones', async () => {
    const service = await start(PATIENT);
    const url = await service.url();
    await post(`${url}/v1/filters`, { name: 'f', type: 'counting', capacity: 10_000, errorRate: 0.01 });
    // Two connections, each with one request in flight and another to follow.
    const streams = [await openStream(url), await openStream(url)] as const;
    service.child.kill('SIGTERM');
    await untilEnding(url);
    for (const [i, path] of ['/v1/filters', '/readyz'].entries()) {
      const stream = streams[i] as OpenStream;
      const answer = await stream.finish(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      expect(answer).toContain('{"done":true,"counts":{"absent":1001,"present":0}}');
      expect(answer).toContain('HTTP/1.1 503 ');
      expect(answer).toContain(
        i === 0 ? '"code":"OVERLOADED"' : '{"status":"unready","reason":"the service is shutting down"}',
      );
      expect(answer).toContain('Connection: close');
    }
    expect(await service.exit()).toBe(0);
  });

  it('waits for them until the grace period ends, then ends streams with a line that gives the reason', async () => {
    const service = await start({ ...PATIENT, SHUTDOWN_GRACE_MS: '300' });
    const url = await service.url();
    await post(`${url}/v1/filters`, { name: 'f', type: 'counting', capacity: 10_000, errorRate: 0.01 });
    const stream = await openStream(url);
    service.child.kill('SIGTERM');
    const answer = await stream.ended;
    expect(answer).toMatch(/"code":"OVERLOADED".*the service is shutting down.*"line":1001\}/);
    expect(await service.exit()).toBe(0);
    expect(service.stdout()).not.toContain('STORE_UNAVAILABLE');
  });

  it('ends after the grace period although Redis hangs, without waiting for its timeout', async () => {
    const redis = await startRedis();
    const service = await start({
      ...PATIENT,
      ...{ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '600000', SHUTDOWN_GRACE_MS: '300' },
    });
    const url = await service.url();
    await post(`${url}/v1/filters`, { name: 'f', type: 'counting', capacity: 10_000, errorRate: 0.01 });
    const stream = await openStream(url);
    process.kill(redis.pid, 'SIGSTOP');
    try {
      const call = statusOf(`${url}/v1/filters`).catch(() => 'closed');
      expect(await statusOf(`${url}/healthz`)).toBe(200);
      service.child.kill('SIGTERM');
      expect(await service.exit()).toBe(0);
      await Promise.all([call, stream.ended]);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
      await redis.stop();
    }
  });

  it('exits immediately on a second signal', async () => {
    const service = await start(PATIENT);
    const url = await service.url();
    await post(`${url}/v1/filters`, { name: 'f', type: 'counting', capacity: 10_000, errorRate: 0.01 });
    await openStream(url);
    service.child.kill('SIGTERM');
    await untilEnding(url);
    expect(service.child.exitCode).toBeNull();
    service.child.kill('SIGTERM');
    expect(await service.exit()).toBe(1);
  });
});

/** Resolves once the service has begun to shut down. */
function untilEnding(url: string): Promise<void> {
  return until('no new connection is taken', () =>
    fetch(`${url}/readyz`).then(
      () => false,
      () => true,
    ),
  );
}

interface OpenStream {
  /** Ends the stream, sends `next` on the same connection, and returns everything received until it closes. */
  finish(next: string): Promise<string>;
  /** Everything received until the service closes the connection. */
  readonly ended: Promise<string>;
}

/** Opens a stream whose first 1,000 lines have their answers. */
async function openStream(url: string): Promise<OpenStream> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const closed = once(socket, 'close');
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const head = 'Host: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked';
  socket.write(`POST /v1/filters/f/items/check HTTP/1.1\r\n${head}\r\n\r\n${chunk('a\n'.repeat(1_000))}`);
  await until('the first lines are answered', () => Promise.resolve(answer.includes('"from":1,')));
  return {
    async finish(next) {
      socket.write(`${chunk('b\n')}0\r\n\r\n${next}`);
      await closed;
      return answer;
    },
    ended: closed.then(() => answer),
  };
}
