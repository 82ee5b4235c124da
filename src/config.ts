import { isIP } from 'node:net';

const MIB = 1024 * 1024;

/** Every setting of the service; the README has the table. */
export interface Config {
  readonly host: string;
  readonly port: number;
  readonly store: 'embedded' | 'redis';
  readonly dataDir: string;
  readonly embeddedFsync: boolean;
  readonly redisUrl: string | undefined;
  /** host:port of some masters; empty when not on a cluster. */
  readonly redisCluster: readonly string[];
  readonly redisTimeoutMs: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** `open`: loopback without keys. `none`: said aloud, anywhere. */
  readonly auth: 'open' | 'none';
  /** Lower-case names that a Host header may have, besides the loopback ones; empty: any, with AUTH=none. */
  readonly allowedHosts: readonly string[];
  readonly maxBatchItems: number;
  readonly maxItemBytes: number;
  readonly maxBodyBytes: number;
  readonly maxStreamBytes: number;
  readonly streamIdleMs: number;
  readonly requestTimeoutMs: number;
  readonly maxFilterBytes: number;
  readonly operationRecordBytes: number;
  readonly shutdownGraceMs: number;
}

/** The Nest token of the settings. */
export const Config = Symbol('Config');

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** A setting that cannot be used. The message names variable, value and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the process's environment: the only place that does. Throws ConfigError. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}

/** Reads settings from `env`; an empty value counts as absent. Throws ConfigError. */
export function readConfig(env: Environment): Config {
  const read = new Reader(env);
  const host = read.text('HOST', '127.0.0.1');
  const redisUrl = read.url('REDIS_URL');
  const redisCluster = read.list(
    'REDIS_CLUSTER',
    /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+):\d{1,5}$/i,
    'host:port,host:port,…',
  );
  if (redisUrl !== undefined && redisCluster.length > 0) {
    throw new ConfigError('REDIS_URL and REDIS_CLUSTER are both set: allowed is one of them');
  }
  const auth = authFor(read, host);
  const onRedis = redisUrl !== undefined || redisCluster.length > 0;
  const store = read.oneOf('STORE', ['embedded', 'redis'], onRedis ? 'redis' : 'embedded');
  return {
    host,
    port: read.whole('PORT', 3000, 0, 65_535),
    store,
    dataDir: read.text('DATA_DIR', './data'),
    embeddedFsync: read.oneOf('EMBEDDED_FSYNC', ['true', 'false'], 'false') === 'true',
    redisUrl: store === 'redis' && !onRedis ? 'redis://127.0.0.1:6379' : redisUrl,
    redisCluster,
    redisTimeoutMs: read.whole('REDIS_TIMEOUT_MS', 2_000, 10, 600_000),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    auth,
    allowedHosts: allowedHosts(read, host, auth),
    maxBatchItems: read.whole('MAX_BATCH_ITEMS', 10_000, 1, 1_000_000),
    maxItemBytes: read.whole('MAX_ITEM_BYTES', 8_192, 1, MIB),
    maxBodyBytes: read.whole('MAX_BODY_BYTES', 16 * MIB, 1_024, 1_024 * MIB),
    maxStreamBytes: read.whole('MAX_STREAM_BYTES', 16 * 1_024 * MIB, 1_024, Number.MAX_SAFE_INTEGER),
    streamIdleMs: read.whole('STREAM_IDLE_MS', 30_000, 10, 3_600_000),
    requestTimeoutMs: read.whole('REQUEST_TIMEOUT_MS', 30_000, 10, 3_600_000),
    maxFilterBytes: read.whole('MAX_FILTER_BYTES', 4 * 1_024 * MIB, 1_024, Number.MAX_SAFE_INTEGER),
    operationRecordBytes: read.whole('OPERATION_RECORD_BYTES', 64 * MIB, 4 * MIB, 16 * 1_024 * MIB),
    shutdownGraceMs: read.whole('SHUTDOWN_GRACE_MS', 10_000, 0, 600_000),
  };
}

function authFor(read: Reader, host: string): Config['auth'] {
  const auth = read.oneOf('AUTH', ['keys', 'none'], undefined);
  if (auth === 'keys') {
    throw new ConfigError(
      'AUTH is "keys", but this version has no API keys yet: allowed is "none", or leave it unset',
    );
  }
  if (auth === undefined && !isLoopback(host)) {
    throw new ConfigError(
      `HOST is "${host}", which other machines may reach, and no keys are set: ` +
        'listen on 127.0.0.1, or say AUTH=none to let everyone in who can reach it',
    );
  }
  return auth === 'none' ? 'none' : 'open';
}

/** Empty with AUTH=none unless said: only the operator knows under which names others reach the service. */
function allowedHosts(read: Reader, host: string, auth: Config['auth']): string[] {
  const names = read.list(
    'ALLOWED_HOSTS',
    /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)$/i,
    'host names without ports, comma separated',
  );
  if (auth === 'none' && names.length === 0) return [];
  return [...names, isIP(host) === 6 ? `[${host}]` : host].map((name) => name.toLowerCase());
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Typed access to the environment, with errors that say what to do. */
class Reader {
  constructor(private readonly env: Environment) {}

  text<T extends string | undefined>(name: string, fallback: T): string | T {
    const value = this.env[name]?.trim();
    return value === undefined || value === '' ? fallback : value;
  }

  whole(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name, undefined);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new ConfigError(
      `${name} is ${JSON.stringify(value)}: allowed is a whole number from ${min} to ${max}`,
    );
  }

  oneOf<T extends string, F extends T | undefined>(name: string, allowed: readonly T[], fallback: F): T | F {
    const value = this.text(name, undefined);
    if (value === undefined) return fallback;
    const found = allowed.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    throw new ConfigError(`${name} is ${JSON.stringify(value)}: allowed is ${allowed.join(', ')}`);
  }

  list(name: string, entry: RegExp, allowed: string): string[] {
    const value = this.text(name, undefined);
    if (value === undefined) return [];
    const entries = value.split(',').map((part) => part.trim());
    if (entries.every((part) => entry.test(part))) return entries;
    throw new ConfigError(`${name} is ${JSON.stringify(value)}: allowed is ${allowed}`);
  }

  /** The value is not shown: it may hold a password. */
  url(name: string): string | undefined {
    const value = this.text(name, undefined);
    if (value === undefined || (/^rediss?:\/\/./.test(value) && URL.canParse(value))) return value;
    throw new ConfigError(
      `${name} is not a URL of Redis (its value is not shown): allowed is redis://[user:password@]host[:port][/db]`,
    );
  }
}
