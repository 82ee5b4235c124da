import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../clock.js';
import type { StoreObserver } from '../../port/index.js';

/** How to reach the master through Sentinels. */
export interface SentinelOptions {
  /** host:port of some Sentinels. */
  readonly nodes: readonly string[];
  /** The Sentinels' name for the master. */
  readonly master: string;
  /** Credentials of the Sentinels, if they require any. */
  readonly username?: string;
  readonly password?: string;
}

/** PEM texts for encrypted connections. Without `ca`, the system's certificate authorities are trusted. */
export interface TlsSettings {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Address of Redis. One of `url`, `clusterNodes` and `sentinel` is set. */
export interface ConnectionOptions {
  /** redis:// or rediss:// URL of a single server, with its credentials. */
  readonly url?: string;
  /** host:port of some nodes of a cluster. */
  readonly clusterNodes?: readonly string[];
  readonly sentinel?: SentinelOptions;
  /** Credentials of the servers in a cluster or behind Sentinels. */
  readonly username?: string;
  readonly password?: string;
  /**
   * Encrypts connections to a cluster, or to Sentinels and the servers behind them. A rediss:// URL uses its
   * certificates too.
   */
  readonly tls?: TlsSettings;
  /** Timeout of a store call, and of a connection that gets no replies, in ms. */
  readonly timeoutMs: number;
  /** Number of replicas that must acknowledge a change before the call returns. Default: 0. */
  readonly waitReplicas?: number;
  readonly clock?: Clock;
  readonly observer?: StoreObserver;
}

const RETRY_MOST_MS = 1000;
const retryDelay = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), RETRY_MOST_MS);

/** Maximum time for an orderly close before the connection is cut, in ms. */
const DISCONNECT_MS = 100;

/**
 * Creates a client that neither queues commands while disconnected nor sends them again.
 *
 * @param silenceMs how late a reply may be before the connection is closed. Otherwise, its commands could run unnoticed
 * later.
 */
export function connect(options: ConnectionOptions, silenceMs: number): Redis | Cluster {
  const shared = sharedOptions(options, silenceMs);
  const { clusterNodes, sentinel, tls } = options;
  if (clusterNodes) return connectCluster(clusterNodes, options, shared);
  if (sentinel) return connectSentinel(sentinel, options, shared);
  const url = options.url ?? 'redis://127.0.0.1:6379';
  const secure = url.startsWith('rediss:') ? encrypted(tls ?? {}) : {};
  return new Redis(url, { ...shared, ...secure, enableOfflineQueue: false, retryStrategy: retryDelay });
}

type SharedOptions = ReturnType<typeof sharedOptions>;

function sharedOptions(options: ConnectionOptions, silenceMs: number) {
  return {
    autoResendUnfulfilledCommands: false,
    // The client subscribes again without handling errors. If the connection is lost again meanwhile, that would end the
    // process. The store subscribes again by itself.
    autoResubscribe: false,
    // Makes commands fail as soon as their connection is lost. With null, they would wait forever.
    maxRetriesPerRequest: 0,
    connectTimeout: options.timeoutMs,
    disconnectTimeout: DISCONNECT_MS,
    socketTimeout: silenceMs,
    keepAlive: 10_000,
    // Client info needs a permission that Redis 7.0 doesn't have.
    disableClientInfo: true,
    ...(options.username !== undefined && { username: options.username }),
    ...(options.password !== undefined && { password: options.password }),
  };
}

function encrypted(tls: TlsSettings | undefined): { tls?: TlsOptions } {
  return tls ? { tls: { ...tls } } : {};
}

function connectCluster(
  nodes: readonly string[],
  options: ConnectionOptions,
  shared: SharedOptions,
): Cluster {
  return new Cluster([...nodes], {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelay,
    slotsRefreshTimeout: options.timeoutMs,
    scaleReads: 'master',
    // The client only follows MOVED and ASK. The store itself repeats failed commands, since only it knows which are
    // safe to repeat.
    maxRedirections: 4,
    retryDelayOnTryAgain: 10,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: { ...shared, ...encrypted(options.tls) },
  });
}

function connectSentinel(
  sentinel: SentinelOptions,
  options: ConnectionOptions,
  shared: SharedOptions,
): Redis {
  const { nodes, master, username, password } = sentinel;
  const { tls } = encrypted(options.tls);
  return new Redis({
    ...shared,
    enableOfflineQueue: false,
    sentinels: nodes.map(hostAndPort),
    name: master,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: options.timeoutMs,
    sentinelRetryStrategy: retryDelay,
    retryStrategy: retryDelay,
    // Leaves a replaced master as soon as a Sentinel reports the failover, even if the old master still responds.
    failoverDetector: true,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

/** Splits host:port. An IPv6 address is in brackets. */
function hostAndPort(node: string): { host: string; port: number } {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
}
