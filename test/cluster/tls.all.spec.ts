import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisStore, type RedisStoreOptions } from '#store/redis';
import { add, check, expectRefusal, filterSpec, items, keyed, makeFilter } from '../contract/calls.js';
import { startCluster } from '../support/redis-cluster.js';
import { freePort, startRedis, type RedisServer } from '../support/redis-server.js';
import { supportsTls, TLS_FILES, TLS_TEXTS, tlsArgs } from '../support/redis-tls.js';
import { startProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const TIMEOUT_MS = 10_000;
const PASSWORD = 'never-to-be-shown';

if (supportsTls()) describe('TLS', () => tlsTests());
else it.skip('TLS: not tested, because this redis-server was built without it', () => undefined);

function tlsTests(): void {
  let server: RedisServer;
  let port: number;
  const stores: RedisStore[] = [];

  beforeAll(async () => {
    port = await freePort();
    server = await startRedis({ args: [...tlsArgs(port), '--requirepass', PASSWORD] });
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.stop();
  });

  async function open(options: Omit<RedisStoreOptions, 'timeoutMs'>): Promise<RedisStore> {
    const store = await RedisStore.open({ ...options, timeoutMs: TIMEOUT_MS });
    stores.push(store);
    return store;
  }

  const url = (host = '127.0.0.1') => `rediss://:${PASSWORD}@${host}:${port}`;

  async function expectServes(store: RedisStore): Promise<void> {
    const filter = await makeFilter(store);
    expect(await add(store, filter, items(50))).toEqual(items(50).map(() => 1));
    expect(await check(store, filter, items(50))).toEqual(items(50).map(() => 1));
  }

  it.each(['127.0.0.1', 'localhost'])('serves %s with its own certificate', async (host) => {
    await expectServes(await open({ url: url(host), tls: TLS_TEXTS }));
  });

  it('serves a cluster, waiting for replicas', async () => {
    const cluster = await startCluster({ replicas: 1, tls: true });
    try {
      const options = { clusterNodes: cluster.nodes, tls: TLS_TEXTS, waitReplicas: 1 };
      await expectServes(await open(options));
      const stranger = await open({ clusterNodes: cluster.nodes, tls: {} });
      expect((await stranger.readiness()).reason).toBe('Redis cannot be reached over TLS');
    } finally {
      await Promise.all(stores.splice(0).map((store) => store.close()));
      await cluster.stop();
    }
  });

  it.each([
    ['an authority that did not sign the certificate', { ca: readFileSync(TLS_FILES.otherCa, 'utf8') }],
    ['the authorities of Node.js', {}],
  ])('with %s: STORE_UNAVAILABLE, and readiness says why', async (_, trusted) => {
    const { cert, key } = TLS_TEXTS;
    const tls = { cert, key, ...trusted };
    const store = await open({ url: url(), tls });
    await expectRefusal(store.create(filterSpec(), keyed()), 'STORE_UNAVAILABLE');
    const { ready, reason } = await store.readiness();
    expect([ready, reason]).toEqual([
      false,
      expect.stringMatching(/^Redis cannot be reached: the TLS handshake failed \(\w+\)$/),
    ]);
  });

  it('without a client certificate, and without TLS: STORE_UNAVAILABLE', async () => {
    for (const options of [
      { url: url(), tls: { ca: TLS_TEXTS.ca } },
      { url: url().replace('rediss:', 'redis:') },
    ]) {
      const store = await open(options);
      await expectRefusal(store.create(filterSpec(), keyed()), 'STORE_UNAVAILABLE');
      expect((await store.readiness()).ready).toBe(false);
    }
  });

  it('the service keeps running with the wrong authority, says so, and shows no password', async () => {
    const env = { REDIS_URL: url(), REDIS_TLS_CA: TLS_FILES.otherCa, REDIS_TIMEOUT_MS: '1000' };
    const service = await startProcess(env);
    try {
      const base = await service.url();
      let readiness = '';
      // On a busy machine, the first attempts to connect may time out.
      await until('readiness names the reason', async () => {
        const answer = await fetch(`${base}/readyz`);
        expect(answer.status).toBe(503);
        readiness = await answer.text();
        return readiness.includes('the TLS handshake failed');
      });
      const refused = await fetch(`${base}/v1/filters`);
      expect(refused.status).toBe(503);
      const body = await refused.text();
      await until('the log names the cause', async () => /certificate/.test(service.stdout()));
      expect(readiness + body + service.stdout() + service.stderr()).not.toContain(PASSWORD);
      expect(service.child.exitCode).toBeNull();
    } finally {
      await service.clean();
    }
  });
}
