import { describe, expect, it } from '@jest/globals';
import { commandLineEnvironment, ConfigError, readConfig } from './config.js';

describe('settings', () => {
  it('have defaults for everything', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 3000,
      store: 'embedded',
      dataDir: './data',
      embeddedFsync: false,
      redis: undefined,
      logLevel: 'info',
      auth: 'open',
      allowedHosts: ['127.0.0.1'],
      corsOrigins: [],
      oidc: undefined,
      maxBatchItems: 10_000,
      maxItemBytes: 8_192,
      maxBodyBytes: 4 * 1024 ** 2,
      maxStreamBytes: 16 * 1024 ** 3,
      streamIdleMs: 30_000,
      streamMinBytesPerSecond: 100,
      maxRequestsInFlight: 64,
      maxBytesInFlight: 64 * 1024 ** 2,
      maxStreams: 16,
      maxConnections: 2_000,
      rateLimit: undefined,
      requestTimeoutMs: 30_000,
      maxFilterBytes: 4 * 1024 ** 3,
      operationRecordBytes: 64 * 1024 ** 2,
      syncIdleMs: 3_600_000,
      syncMaxForgetShare: 0.5,
      shutdownGraceMs: 10_000,
    });
  });

  it('accept shares from 0 to 1', () => {
    const share = (SYNC_MAX_FORGET_SHARE: string) => readConfig({ SYNC_MAX_FORGET_SHARE }).syncMaxForgetShare;
    expect(['0', '1', '0.25', '1.0'].map(share)).toEqual([0, 1, 0.25, 1]);
  });

  it('treat an empty value as unset', () => {
    expect(readConfig({ PORT: '', REDIS_URL: ' ', STORE: '' })).toEqual(readConfig({}));
  });

  it('choose Redis if REDIS_URL is set', () => {
    expect(readConfig({ REDIS_URL: 'redis://h:1' })).toMatchObject({
      store: 'redis',
      redis: { url: 'redis://h:1', timeoutMs: 2_000, waitReplicas: 0 },
    });
    expect(readConfig({ REDIS_CLUSTER: 'a:1, b:2,[::1]:3' })).toMatchObject({
      store: 'redis',
      redis: { clusterNodes: ['a:1', 'b:2', '[::1]:3'] },
    });
    expect(readConfig({ STORE: 'redis' })).toMatchObject({ redis: { url: 'redis://127.0.0.1:6379' } });
    expect(readConfig({ STORE: 'embedded', REDIS_URL: 'redis://h:1' })).toMatchObject({ store: 'embedded' });
  });

  it('leave the service open only on loopback addresses', () => {
    for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
      expect(readConfig({ HOST })).toMatchObject({ auth: 'open' });
    }
    for (const HOST of [
      '0.0.0.0',
      '::',
      '192.168.0.1',
      'example.org',
      '127.example.org',
      '::ffff:10.0.0.1',
    ]) {
      expect(() => readConfig({ HOST })).toThrow(`HOST is "${HOST}"`);
      expect(readConfig({ HOST, AUTH: 'none' })).toMatchObject({ auth: 'none' });
    }
  });

  it('accept more host names for the service', () => {
    expect(readConfig({ HOST: '::1', ALLOWED_HOSTS: 'A.example, [FD00::1]' }).allowedHosts).toEqual([
      'a.example',
      '[fd00::1]',
      '[::1]',
    ]);
    expect(readConfig({ AUTH: 'none', HOST: '0.0.0.0' }).allowedHosts).toEqual([]);
    expect(readConfig({ AUTH: 'none', HOST: '0.0.0.0', ALLOWED_HOSTS: 'unseen' }).allowedHosts).toEqual([
      'unseen',
      '0.0.0.0',
    ]);
  });

  it.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '0x10'],
    ['PORT', '3000.5'],
    ['STORE', 'Redis'],
    ['EMBEDDED_FSYNC', 'yes'],
    ['REDIS_CLUSTER', 'host'],
    ['REDIS_CLUSTER', 'host:65536'],
    ['REDIS_CLUSTER', 'host:1,'],
    ['REDIS_TIMEOUT_MS', '1'],
    ['LOG_LEVEL', 'verbose'],
    ['AUTH', 'open'],
    ['ALLOWED_HOSTS', 'host:80'],
    ['ALLOWED_HOSTS', 'http://host'],
    ['MAX_BATCH_ITEMS', '0'],
    ['MAX_FILTER_BYTES', '1e9'],
    ['SHUTDOWN_GRACE_MS', ' 5s'],
    ['SYNC_IDLE_SECONDS', '9'],
    ['SYNC_MAX_FORGET_SHARE', '1.01'],
    ['SYNC_MAX_FORGET_SHARE', '50%'],
    ['SYNC_MAX_FORGET_SHARE', '-0'],
    ['SYNC_MAX_FORGET_SHARE', '.5'],
  ])('refuse %s=%s, with variable and value in the message', (name, value) => {
    const read = (): unknown => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} is "${value.trim()}"; it must be .+$`));
  });

  it('refuse one port for both protocols', () => {
    expect(() => readConfig({ RESP_PORT: '3000' })).toThrow(
      'RESP_PORT and PORT are both 3000; the Redis protocol needs its own port',
    );
    expect(readConfig({ PORT: '0', RESP_PORT: '0' })).toMatchObject({ port: 0, respPort: 0 });
  });

  it('refuse settings that have no effect with the chosen store', () => {
    expect(() => readConfig({ EMBEDDED_FSYNC: 'true', REDIS_URL: 'redis://h' })).toThrow(
      'EMBEDDED_FSYNC is set, but has no effect without STORE=embedded',
    );
    expect(() => readConfig({ REDIS_WAIT_REPLICAS: '1' })).toThrow(/^REDIS_WAIT_REPLICAS is set, but/);
    const harmless = { REDIS_TIMEOUT_MS: '2000', REDIS_WAIT_REPLICAS: '0', REDIS_TLS: 'false' };
    expect(readConfig(harmless)).toEqual(readConfig({}));
    // The container image sets DATA_DIR.
    const image = { DATA_DIR: '/data', EMBEDDED_FSYNC: 'false', REDIS_URL: 'redis://h' };
    expect(readConfig(image)).toMatchObject({ store: 'redis' });
  });

  it('refuse invalid Redis URLs, and never show the password', () => {
    expect(() => readConfig({ REDIS_URL: 'tcp://user:secret@a' })).toThrow(/^REDIS_URL (?!.*secret)/);
    expect(() => readConfig({ REDIS_URL: 'redis://user:secret%@a' })).toThrow(/^REDIS_URL (?!.*secret)/);
  });
});

describe('the folder for checkpoints', () => {
  it.each([
    [{}, undefined],
    [{ HOME: '/home/me' }, '/home/me/.local/state/unseen'],
    [{ HOME: '/home/me', XDG_STATE_HOME: '/state' }, '/state/unseen'],
    [{ HOME: '/home/me', XDG_STATE_HOME: '' }, '/home/me/.local/state/unseen'],
    [{ HOME: '/home/me', XDG_STATE_HOME: 'relative' }, '/home/me/.local/state/unseen'],
  ])('with %j is %s', (env, folder) => {
    expect(commandLineEnvironment(env).stateFolder).toBe(folder);
  });
});
