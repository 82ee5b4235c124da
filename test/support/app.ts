import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Clock, createApp, readConfig, RespServer, shutDown } from './in-process.js';
import type { MovedClock } from './moved-clock.js';

const { default: supertest } = (await importNatively('supertest')) as {
  default: typeof import('supertest');
};

/** The real service, listening on a free loopback port. */
export interface TestApp {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly port: number;
  /** The port for the Redis protocol, if RESP_PORT is set. */
  readonly respPort: number | undefined;
  /** Moves the service's clock by `ms`, and the service's view of its Redis's clock. */
  advance(ms: number): void;
  /** The service's time, in ms since the epoch. */
  now(): number;
  close(): Promise<void>;
}

/** Longer than any wait for Redis on a busy machine, so that only the tests about timeouts meet one. */
const PATIENT = { REDIS_TIMEOUT_MS: '60000' };
const NAMES_REDIS = ['REDIS_URL', 'REDIS_CLUSTER', 'REDIS_SENTINEL'];

/** Starts the service with settings from `env` instead of the environment. Logs are off by default. */
export async function startApp(env: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'unseen-e2e-'));
  const config = readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    SHUTDOWN_GRACE_MS: '2000',
    ...(NAMES_REDIS.some((name) => name in env) && PATIENT),
    ...env,
  });
  const app = await createApp(config);
  await app.listen(config.port, config.host);
  const resp = app.get(RespServer);
  await resp.listen();
  const { port } = app.getHttpServer().address() as AddressInfo;
  const clock = app.get<MovedClock>(Clock);
  return {
    app,
    port,
    respPort: resp.port,
    url: `http://127.0.0.1:${port}`,
    advance: (ms) => clock.advance(ms),
    now: clock.now,
    async close() {
      await shutDown(app, config.shutdownGraceMs);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A JSON response, parsed. `body` is undefined if it is empty. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Sends JSON, or broken JSON given as text, and reads JSON. */
export async function call(
  app: Pick<TestApp, 'url'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
  const test = supertest(app.url)[verb](path).set(headers);
  if (body !== undefined) {
    const raw = typeof body === 'string' ? body : JSON.stringify(body);
    if (headers['content-type'] === undefined) test.type('application/json');
    test.send(raw);
  }
  const answer = await test;
  return {
    status: answer.status,
    headers: new Headers(answer.headers),
    body: answer.text ? JSON.parse(answer.text) : undefined,
  };
}

let names = 0;

/** Returns a name that no other test uses, so that tests need not clear the store. */
export function freshName(prefix = 'f'): string {
  names++;
  return `${prefix}-${process.pid}-${Date.now().toString(36)}-${names}`;
}
