import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, freshName, type Answer } from '../support/app.js';
import { bearer } from '../support/credentials.js';
import { startRedis, type RedisServer } from '../support/redis-server.js';
import { runProgram, startProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const URL = 'https://example.org/';

/** All other tests move the clock. Here, real time passes: the built service knows only the machine's clock. */
describe.each(['embedded', 'redis'])('in real time, %s store', (name) => {
  let redis: RedisServer | undefined;
  let env: Record<string, string> = {};
  const running: ServiceProcess[] = [];
  const start = async (more: Readonly<Record<string, string>> = {}): Promise<{ url: string }> => {
    const service = await startProcess({ ...env, ...more }, { main: 'dist/service/main.js' });
    running.push(service);
    return { url: await service.url() };
  };

  beforeAll(async () => {
    if (name === 'embedded') return;
    redis = await startRedis();
    env = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' };
  });
  afterAll(async () => {
    for (const service of running) await service.clean();
    await redis?.stop();
  });

  it('a lease ends, a delay ends, and an idle sync is abandoned', async () => {
    const app = await start({ SYNC_IDLE_SECONDS: '10' });
    const path = `/v1/visited-sets/${freshName('set')}`;
    const post = async (route: string, body: object): Promise<Answer> => call(app, 'POST', route, body);
    const described = async () => (await call(app, 'GET', path)).body as { queue: object; sync?: object };
    const lease = async (leaseSeconds: number) => {
      const { body } = await post(`${path}/queue/lease`, { max: 1, leaseSeconds, waitSeconds: 5 });
      return (body as { urls: { id: string; attempt: number }[] }).urls;
    };
    const leaseAgain = async (leaseSeconds: number) => {
      let urls: { id: string; attempt: number }[] = [];
      await until('the URL can be leased', async () => (urls = await lease(leaseSeconds)).length === 1);
      return urls[0]!;
    };
    await post('/v1/visited-sets', { name: path.slice('/v1/visited-sets/'.length), capacity: 1_000 });
    await post(`${path}/syncs`, {});
    await post(`${path}/urls/discover`, { urls: [URL] });
    expect(await lease(1)).toMatchObject([{ attempt: 1 }]);
    const { id, attempt } = await leaseAgain(600);
    expect(attempt).toBe(2);
    await post(`${path}/queue/release`, { ids: [id], delaySeconds: 1 });
    expect(await leaseAgain(600)).toMatchObject({ attempt: 3 });
    expect(await described()).toHaveProperty('queue.leased', 1);
    await until('the sync is abandoned', async () => (await described()).sync === undefined);
  });

  if (name === 'redis')
    it('a key expires', async () => {
      const app = await start({ AUTH: 'keys' });
      const args = ['keys', '--offline', 'create', '--name', 'ops', '--scope', 'admin'];
      const ops = (await runProgram('cli/unseen.js', args, env)).stdout.trim();
      const status = async (key: string) => (await call(app, 'GET', '/v1/me', undefined, bearer(key))).status;
      await until('the service knows the operator', async () => (await status(ops)) === 200);
      const make = async (limits: object): Promise<string | undefined> => {
        const options = { name: 'reader', scopes: ['read'], ...limits };
        return ((await call(app, 'POST', '/v1/keys', options, bearer(ops))).body as { key?: string }).key;
      };
      const lasting = (await make({}))!;
      let ending = '';
      // On a slow machine, a key may expire before the service creates it, which is refused.
      const inSeconds = (seconds: number) => new Date(Date.now() + 1_000 * seconds).toISOString();
      await until(
        'a key is made',
        async () => (ending = (await make({ expiresAt: inSeconds(5) })) ?? '') !== '',
      );
      await until('the service refuses a call', async () => (await status(ending)) === 401);
      expect(await status(lasting)).toBe(200);
    });
});
