import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { RedisStore } from '#store/redis';
import { LOCKED } from '../support/lock-file.js';
import { modulesRun } from '../support/modules-run.js';
import { startRedis } from '../support/redis-server.js';
import { statusOf } from '../support/status-of.js';
import { until } from '../support/until.js';

const DOCKERFILE = await readFile('Dockerfile', 'utf8');
const COMPOSE = await readFile('docker-compose.yml', 'utf8');
const PATIENCE_MS = 60_000;

describe('the image', () => {
  it('contains every package that the service loads', async () => {
    const { bundled, packages } = await modulesRun({}, async (url) => {
      for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui.css', '/metrics', '/v1/filters']) {
        expect([path, await statusOf(url + path)]).toEqual([path, 200]);
      }
    });
    expect(bundled).toContain('node_modules/fastify/fastify.js');
    expect(packages).toEqual(expect.arrayContaining(['lmdb', 'fs-native-extensions']));
    // The service reads files of this one, and runs none.
    const absent = [...packages, 'swagger-ui-dist'].filter((name) => {
      const entry = LOCKED[`node_modules/${name}`];
      return entry === undefined || entry.dev === true;
    });
    expect(absent).toEqual([]);
  });

  it('pins its base’s version and those of the images beside it', () => {
    const images = [...DOCKERFILE.matchAll(/^FROM (\S+)/gm), ...COMPOSE.matchAll(/^ +image: (\S+)/gm)];
    expect(images.length).toBeGreaterThanOrEqual(3);
    for (const [, image] of images) expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+\.\d+(-|$)/);
  });
});

describe('docker compose', () => {
  it.each([
    ['as it is', {}],
    ['with a password of its own', { REDIS_PASSWORD: 'a1b2c3d4e5f6' }],
  ])('gives Redis and the service the same password, %s', async (_, env) => {
    const compose = substituted(env);
    const [command = ''] = /(?<=redis-server\n)(?: +- .*\n)+/.exec(compose) ?? [];
    const args = command
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^ +- '?(.*?)'?$/, '$1'));
    const url = new URL(/REDIS_URL: (\S+)/.exec(compose)?.[1] ?? '');
    const server = await startRedis({ args });
    try {
      const stranger = await RedisStore.open({ url: server.url, timeoutMs: 1_000 });
      expect((await stranger.readiness()).ready).toBe(false);
      await stranger.close();
      url.host = `127.0.0.1:${server.port}`;
      const store = await RedisStore.open({ url: url.href, timeoutMs: PATIENCE_MS });
      await until('the store is ready', async () => (await store.readiness()).ready);
      await store.close();
    } finally {
      await server.stop();
    }
  });
});

/** The compose file with its variables substituted, as docker compose does. */
function substituted(env: Readonly<Record<string, string>>): string {
  return COMPOSE.replace(/\$\{(\w+):-(\w*)\}/g, (_, name: string, fallback: string) => env[name] ?? fallback);
}
