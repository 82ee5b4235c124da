import type { RedisStoreOptions } from '#store/redis';
import { ConfigError, type SettingReader } from './reader.js';

/** The address of Redis, and options for using it. */
export type RedisSettings = Omit<RedisStoreOptions, 'maxRecordBytes'>;

/** The settings that name a Redis server. At most one of them may be set. */
const PLACES = ['REDIS_URL', 'REDIS_CLUSTER', 'REDIS_SENTINEL'];

/** Settings that are accepted without Redis if they have these default values. */
const DEFAULTS = [
  ['REDIS_TIMEOUT_MS', '2000'],
  ['REDIS_WAIT_REPLICAS', '0'],
  ['REDIS_TLS', 'false'],
] as const;

const PORT = /[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5]/;
const NODE = new RegExp(`^(\\[[0-9a-f:.]+\\]|[^\\s:/[\\]]+):(${PORT.source})$`, 'i');
const NODES = 'host:port,host:port,…';

/** Undefined if no setting names a Redis server. Throws ConfigError, without passwords in its message. */
export function redisSettings(read: SettingReader): RedisSettings | undefined {
  const place = PLACES.filter((name) => read.text(name, undefined) !== undefined);
  if (place.length > 1) throw new ConfigError(`${place.join(' and ')} are set; set only one of them`);
  const [placeName] = place;
  const url = read.url('REDIS_URL');
  const clusterNodes = read.list('REDIS_CLUSTER', NODE, NODES);
  const sentinel = sentinelSettings(read);
  const tls = tlsSettings(read, url);
  const common = {
    ...credentials(read, placeName),
    ...(tls && { tls }),
    timeoutMs: read.whole('REDIS_TIMEOUT_MS', 2_000, 10, 600_000),
    waitReplicas: read.whole('REDIS_WAIT_REPLICAS', 0, 0, 100),
  };
  if (clusterNodes.length > 0) return { ...common, clusterNodes };
  if (sentinel) return { ...common, sentinel };
  if (url !== undefined || read.text('STORE', undefined) === 'redis') {
    return { ...common, url: url ?? 'redis://127.0.0.1:6379' };
  }
  for (const [name, fallback] of DEFAULTS) {
    read.refuseWithout(name, `Redis (STORE=redis, or one of ${PLACES.join(', ')})`, fallback);
  }
  return undefined;
}

function sentinelSettings(read: SettingReader): RedisSettings['sentinel'] {
  const nodes = read.list('REDIS_SENTINEL', NODE, NODES);
  const master = read.text('REDIS_SENTINEL_MASTER', undefined);
  if (nodes.length > 0 !== (master !== undefined)) {
    throw new ConfigError('set both REDIS_SENTINEL and REDIS_SENTINEL_MASTER, or neither');
  }
  const username = read.text('REDIS_SENTINEL_USERNAME', undefined);
  const password = read.text('REDIS_SENTINEL_PASSWORD', undefined);
  if (master === undefined) {
    for (const name of ['REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD']) {
      read.refuseWithout(name, 'REDIS_SENTINEL');
    }
    return undefined;
  }
  needsPassword('REDIS_SENTINEL_USERNAME', username, 'REDIS_SENTINEL_PASSWORD', password);
  return {
    nodes,
    master,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

/** Credentials for the servers in a cluster or behind Sentinels. A URL has its own. */
function credentials(read: SettingReader, place: string | undefined) {
  const username = read.text('REDIS_USERNAME', undefined);
  const password = read.text('REDIS_PASSWORD', undefined);
  if (place !== 'REDIS_CLUSTER' && place !== 'REDIS_SENTINEL') {
    if (username !== undefined || password !== undefined) {
      throw new ConfigError(
        'REDIS_USERNAME and REDIS_PASSWORD apply only to REDIS_CLUSTER and REDIS_SENTINEL; for a single server, put the credentials into REDIS_URL',
      );
    }
    return {};
  }
  needsPassword('REDIS_USERNAME', username, 'REDIS_PASSWORD', password);
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function tlsSettings(read: SettingReader, url: string | undefined): RedisSettings['tls'] {
  const asked = read.oneOf('REDIS_TLS', ['true', 'false'], undefined);
  const encrypted = url === undefined ? asked === 'true' : url.startsWith('rediss:');
  if (url !== undefined && asked !== undefined && (asked === 'true') !== encrypted) {
    throw new ConfigError(
      `REDIS_TLS is "${asked}", but REDIS_URL contradicts it: rediss:// uses TLS, redis:// does not`,
    );
  }
  const [ca, cert, key] = ['REDIS_TLS_CA', 'REDIS_TLS_CERT', 'REDIS_TLS_KEY'].map((name) => {
    if (!encrypted) read.refuseWithout(name, 'TLS (REDIS_TLS=true, or a rediss:// URL)');
    return read.pemFile(name);
  });
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError('set both REDIS_TLS_CERT and REDIS_TLS_KEY, or neither');
  }
  if (!encrypted) return undefined;
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && key !== undefined && { cert, key }) };
}

/** Throws ConfigError if a user has no password. */
function needsPassword(
  userName: string,
  user: string | undefined,
  passwordName: string,
  password: string | undefined,
): void {
  if (user === undefined || password !== undefined) return;
  throw new ConfigError(`${userName} is set, but ${passwordName} is not; set both, or only the password`);
}
