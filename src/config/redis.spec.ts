import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, SettingReader, type Environment } from './reader.js';
import { redisSettings } from './redis.js';

const CA = 'test/data/tls/ca.pem';
const CERT = 'test/data/tls/client.pem';
const KEY = 'test/data/tls/client.key';

const NO_URL =
  /^REDIS_URL is not a Redis URL \(its value is not shown\); it must be redis:.*, with a number as db$/;

const read = (env: Environment) => redisSettings(new SettingReader(env));
const cluster = { REDIS_CLUSTER: 'a:1' };
const sentinel = { REDIS_SENTINEL: 'a:1,b:2', REDIS_SENTINEL_MASTER: 'main' };

describe('Redis settings', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'unseen-settings-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it('are undefined if nothing names a Redis server', () => {
    expect(read({})).toBeUndefined();
    expect(read({ STORE: 'redis' })).toEqual({
      url: 'redis://127.0.0.1:6379',
      timeoutMs: 2_000,
      waitReplicas: 0,
    });
  });

  it.each(['redis://h', 'redis://h/', 'redis://h:1/15', 'rediss://u:p%23@[::1]:6379/0', 'redis://:p@h'])(
    'accept the URL %s',
    (url) => {
      expect(read({ REDIS_URL: url })).toMatchObject({ url });
    },
  );

  it('include Sentinels, their master, and the credentials of both', () => {
    const env = { ...sentinel, REDIS_SENTINEL_PASSWORD: 's', REDIS_USERNAME: 'u', REDIS_PASSWORD: 'p' };
    expect(read(env)).toMatchObject({
      sentinel: { nodes: ['a:1', 'b:2'], master: 'main', password: 's' },
      username: 'u',
      password: 'p',
    });
  });

  it('wait for replicas, and use TLS with their own files', () => {
    const env = { ...cluster, REDIS_TLS: 'true', REDIS_TLS_CA: CA, REDIS_TLS_CERT: CERT, REDIS_TLS_KEY: KEY };
    expect(read({ ...env, REDIS_WAIT_REPLICAS: '2' })).toMatchObject({
      clusterNodes: ['a:1'],
      tls: {
        ca: readFileSync(CA, 'utf8'),
        cert: readFileSync(CERT, 'utf8'),
        key: readFileSync(KEY, 'utf8'),
      },
      waitReplicas: 2,
    });
    expect(read({ REDIS_URL: 'rediss://h', REDIS_TLS_CA: CA })?.tls?.ca).toBe(readFileSync(CA, 'utf8'));
    expect(read({ REDIS_URL: 'rediss://h' })?.tls).toEqual({});
    expect(read({ REDIS_URL: 'redis://h' })?.tls).toBeUndefined();
  });

  it.each<[Environment, RegExp]>([
    [{ REDIS_URL: 'redis://h', ...cluster }, /^REDIS_URL and REDIS_CLUSTER are set/],
    [{ ...cluster, ...sentinel }, /^REDIS_CLUSTER and REDIS_SENTINEL are set/],
    [{ REDIS_SENTINEL: 'a:1' }, /^set both REDIS_SENTINEL and REDIS_SENTINEL_MASTER, or neither/],
    [{ REDIS_SENTINEL_MASTER: 'a' }, /^set both REDIS_SENTINEL and REDIS_SENTINEL_MASTER, or neither/],
    [{ REDIS_SENTINEL_PASSWORD: 'hidden' }, /^REDIS_SENTINEL_PASSWORD is set, but/],
    [{ ...sentinel, REDIS_SENTINEL_USERNAME: 'u' }, /^REDIS_SENTINEL_USERNAME is set, but/],
    [
      { REDIS_URL: 'redis://h', REDIS_PASSWORD: 'hidden' },
      /^REDIS_USERNAME and REDIS_PASSWORD apply only to/,
    ],
    [{ REDIS_PASSWORD: 'hidden' }, /^REDIS_USERNAME and REDIS_PASSWORD apply only to/],
    [{ REDIS_URL: 'redis://u:hidden@h:1/abc' }, NO_URL],
    [{ REDIS_URL: 'redis://u:hidden@h:1/0/1' }, NO_URL],
    [{ REDIS_URL: 'redis://h:1?password=hidden' }, NO_URL],
    [{ REDIS_URL: 'redis://h:1/0?' }, NO_URL],
    [{ REDIS_URL: 'rediss://h:1#hidden' }, NO_URL],
    [{ REDIS_URL: 'redis://u:hid#den@h:1' }, NO_URL],
    [{ REDIS_URL: 'redis:///0' }, NO_URL],
    [{ REDIS_WAIT_REPLICAS: '1' }, /^REDIS_WAIT_REPLICAS is set, but has no effect without Redis/],
    [{ REDIS_TIMEOUT_MS: '100' }, /^REDIS_TIMEOUT_MS is set, but has no effect without Redis/],
    [{ REDIS_TLS: 'true' }, /^REDIS_TLS is set, but has no effect without Redis/],
    [
      { REDIS_CLUSTER: 'redis://u:hidden@h:1' },
      /^REDIS_CLUSTER is "redis:\/\/\*\*\*@h:1"; it must be host:port/,
    ],
    [
      { ...sentinel, REDIS_SENTINEL: 'u:hidden@h:1,b:1' },
      /^REDIS_SENTINEL is "u:\*\*\*@h:1,b:1"; it must be/,
    ],
    [{ ...cluster, REDIS_USERNAME: 'u' }, /^REDIS_USERNAME is set, but REDIS_PASSWORD is not/],
    [{ ...cluster, REDIS_TLS: 'yes' }, /^REDIS_TLS is "yes"; it must be one of true, false$/],
    [{ REDIS_URL: 'redis://h', REDIS_TLS: 'true' }, /^REDIS_TLS is "true", but REDIS_URL/],
    [{ REDIS_URL: 'redis://h', REDIS_TLS_CA: CA }, /^REDIS_TLS_CA is set, but has no effect without TLS/],
    [
      { ...cluster, REDIS_TLS: 'true', REDIS_TLS_CERT: CERT },
      /^set both REDIS_TLS_CERT and REDIS_TLS_KEY, or neither/,
    ],
    [
      { ...cluster, REDIS_WAIT_REPLICAS: '-1' },
      /^REDIS_WAIT_REPLICAS is "-1"; it must be a whole number from 0/,
    ],
  ])('refuse %p, without the password in the message', (env, message) => {
    expect(() => read(env)).toThrow(ConfigError);
    expect(() => read(env)).toThrow(message);
    expect(() => read(env)).not.toThrow(/hidden/);
  });

  it('refuse an unreadable or invalid PEM file, with its name in the message', () => {
    const env = { ...cluster, REDIS_TLS: 'true' };
    const absent = join(dir, 'absent.pem');
    expect(() => read({ ...env, REDIS_TLS_CA: absent })).toThrow(
      `REDIS_TLS_CA is "${absent}", which cannot be read (ENOENT); it must be a PEM file`,
    );
    expect(() => read({ ...env, REDIS_TLS_CA: dir })).toThrow('cannot be read (EISDIR)');
    const binary = join(dir, 'ca.der');
    writeFileSync(binary, 'no certificate');
    expect(() => read({ ...env, REDIS_TLS_CA: binary })).toThrow('has no PEM block');
  });
});
