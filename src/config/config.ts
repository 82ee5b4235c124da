import { isAbsolute, join } from 'node:path';
import { allowedHosts, authMode, oidcSettings, webOrigins, type OidcSettings } from './auth.js';
import { admissionSettings, type AdmissionSettings } from './admission.js';
import { ConfigError, SettingReader, type Environment } from './reader.js';
import { redisSettings, type RedisSettings } from './redis.js';
import { tracingSettings } from './tracing.js';
import type { TracingSettings } from '../tracing/settings.js';

export { ConfigError };

const MIB = 1024 * 1024;

/** Default of MAX_ITEM_BYTES. */
export const DEFAULT_MAX_ITEM_BYTES = 8_192;

/** Every setting of the service. docs/settings.md lists them in a table. */
export interface Config extends AdmissionSettings {
  readonly host: string;
  readonly port: number;
  /** The port for the Redis protocol. Undefined: not open. */
  readonly respPort: number | undefined;
  readonly store: 'embedded' | 'redis';
  readonly dataDir: string;
  readonly embeddedFsync: boolean;
  /** Undefined if no setting names a Redis server. Contains passwords. */
  readonly redis: RedisSettings | undefined;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /**
   * `keys`: the service requires credentials. `open`: it requires them once the store has keys (only on loopback).
   * `none`: it never requires them, and the operator must choose this explicitly.
   */
  readonly auth: 'keys' | 'open' | 'none';
  /**
   * Lower-case names that a Host header may have, besides loopback names. If empty, `keys` allows any name and `none`
   * any address.
   */
  readonly allowedHosts: readonly string[];
  /** Origins whose web pages may use the service. */
  readonly corsOrigins: readonly string[];
  /** The issuer whose tokens are accepted in addition to keys. Undefined for none. */
  readonly oidc: OidcSettings | undefined;
  readonly maxBatchItems: number;
  readonly maxItemBytes: number;
  readonly maxBodyBytes: number;
  readonly maxStreamBytes: number;
  readonly streamIdleMs: number;
  readonly requestTimeoutMs: number;
  readonly maxFilterBytes: number;
  readonly operationRecordBytes: number;
  /** How long a sync may go without a call before the service abandons it. */
  readonly syncIdleMs: number;
  /** Share of the items that a sync may forget, 0 to 1. A commit can override it. */
  readonly syncMaxForgetShare: number;
  readonly shutdownGraceMs: number;
  /** Undefined if no traces are sent. May contain credentials. */
  readonly tracing: TracingSettings | undefined;
}

/** The Nest token of the settings. */
export const Config = Symbol('Config');

/** Command-line settings from the environment. */
export interface CommandLineEnvironment {
  /** UNSEEN_URL */
  readonly url: string | undefined;
  /** UNSEEN_API_KEY */
  readonly apiKey: string | undefined;
  /** The folder for checkpoints, below XDG_STATE_HOME or HOME. Undefined if neither is set. */
  readonly stateFolder: string | undefined;
}

/** Reads the environment for the command line. An empty value counts as absent. */
export function commandLineEnvironment(env: Environment = process.env): CommandLineEnvironment {
  const { UNSEEN_URL, UNSEEN_API_KEY, XDG_STATE_HOME, HOME } = env;
  const text = (value: string | undefined): string | undefined => (value === '' ? undefined : value);
  const home = text(HOME);
  const given = text(XDG_STATE_HOME);
  // XDG's specification says to ignore relative paths.
  const absolute = given !== undefined && isAbsolute(given) ? given : undefined;
  const state = absolute ?? (home === undefined ? undefined : join(home, '.local', 'state'));
  return {
    url: text(UNSEEN_URL),
    apiKey: text(UNSEEN_API_KEY),
    stateFolder: state === undefined ? undefined : join(state, 'unseen'),
  };
}

/** The process environment plus the given variables, for a child process. */
export function environmentWith(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...more };
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Reads the process environment. No other code reads it. Throws ConfigError. */
export function configFromEnvironment(): Config {
  return readConfig(process.env);
}

/** Reads settings from `env`. An empty value counts as absent. Throws ConfigError. */
export function readConfig(env: Environment): Config {
  const read = new SettingReader(env);
  const host = read.text('HOST', '127.0.0.1');
  const redis = redisSettings(read);
  const oidc = oidcSettings(read);
  const auth = authMode(read, host, oidc !== undefined);
  const store = read.oneOf('STORE', ['embedded', 'redis'], redis ? 'redis' : 'embedded');
  const embeddedFsync = read.oneOf('EMBEDDED_FSYNC', ['true', 'false'], 'false') === 'true';
  if (store !== 'embedded') read.refuseWithout('EMBEDDED_FSYNC', 'STORE=embedded', 'false');
  const port = read.whole('PORT', 3000, 0, 65_535);
  const respPort = read.optionalWhole('RESP_PORT', 0, 65_535);
  if (respPort === port && port !== 0) {
    throw new ConfigError(`RESP_PORT and PORT are both ${port}; the Redis protocol needs its own port`);
  }
  const maxBodyBytes = read.whole('MAX_BODY_BYTES', 4 * MIB, 1_024, 1_024 * MIB);
  return {
    host,
    port,
    respPort,
    store,
    dataDir: read.text('DATA_DIR', './data'),
    embeddedFsync,
    redis,
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    auth,
    allowedHosts: allowedHosts(read, host, auth),
    corsOrigins: webOrigins(read),
    oidc,
    maxBatchItems: read.whole('MAX_BATCH_ITEMS', 10_000, 1, 1_000_000),
    maxItemBytes: read.whole('MAX_ITEM_BYTES', DEFAULT_MAX_ITEM_BYTES, 1, MIB),
    maxBodyBytes,
    maxStreamBytes: read.whole('MAX_STREAM_BYTES', 16 * 1_024 * MIB, 1_024, Number.MAX_SAFE_INTEGER),
    streamIdleMs: read.whole('STREAM_IDLE_MS', 30_000, 10, 3_600_000),
    ...admissionSettings(read, maxBodyBytes),
    requestTimeoutMs: read.whole('REQUEST_TIMEOUT_MS', 30_000, 10, 3_600_000),
    maxFilterBytes: read.whole('MAX_FILTER_BYTES', 4 * 1_024 * MIB, 1_024, Number.MAX_SAFE_INTEGER),
    operationRecordBytes: read.whole('OPERATION_RECORD_BYTES', 64 * MIB, 4 * MIB, 16 * 1_024 * MIB),
    syncIdleMs: 1_000 * read.whole('SYNC_IDLE_SECONDS', 3_600, 10, 31_536_000),
    syncMaxForgetShare: read.share('SYNC_MAX_FORGET_SHARE', 0.5),
    shutdownGraceMs: read.whole('SHUTDOWN_GRACE_MS', 10_000, 0, 600_000),
    tracing: tracingSettings(read),
  };
}
