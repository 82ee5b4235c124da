import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../clock.js';

/** The Sentinels to ask for the master. */
export interface SentinelOptions {
  /** host:port of some Sentinels. */
  readonly nodes: readonly string[];
  /** Name of the master they watch. */
  readonly master: string;
  /** Credentials of the Sentinels themselves, if they require any. */
  readonly username?: string;
  readonly password?: string;
}

/** PEM texts for encrypted connections. Without `ca` the system's certificate authorities are trusted. */
export interface TlsSettings {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where Redis is. One of `url`, `clusterNodes` and `sentinel` is set. */
export interface ConnectionOptions {
  /** redis:// or rediss:// URL of a single server, with its credentials. */
  readonly url?: string;
  /** host:port of some nodes of a cluster. */
  readonly clusterNodes?: readonly string[];
  readonly sentinel?: SentinelOptions;
  /** Credentials of the servers of a cluster, or of those behind Sentinels. */
  readonly username?: string;
  readonly password?: string;
  /**
   * Encrypts connections to a cluster, or to Sentinels and the servers behind them. For a rediss:// URL it says what to
   * trust.
   */
  readonly tls?: TlsSettings;
  /** How long a store call may take, and how long a silent connection is kept, in ms. */
  readonly timeoutMs: number;
  /** Replicas that must have acknowledged a change before it is answered; 0 unless given. */
  readonly waitReplicas?: number;
  readonly clock?: Clock;
}

const RETRY_MOST_MS = 1000;
const retryDelay = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), RETRY_MOST_MS);

/** How long an orderly close of a connection may take before it is cut, in ms. */
const DISCONNECT_MS = 100;

/**
 * A client that neither queues commands while it is disconnected nor sends them again.
 *
 * @param silenceMs how long an answer may be overdue before its connection is closed, so that its commands do not run
 * later unseen.
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
    // Commands of a lost connection fail at once (null would leave them waiting for ever).
    maxRetriesPerRequest: 0,
    connectTimeout: options.timeoutMs,
    disconnectTimeout: DISCONNECT_MS,
    socketTimeout: silenceMs,
    keepAlive: 10_000,
    // It needs a permission that Redis 7.0 does not know.
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
    // The client follows MOVED and ASK. We repeat failed commands ourselves, since only we know which are safe to
    // repeat.
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
    // The connection leaves a master that was replaced as soon as a Sentinel says so, even if the master still answers.
    failoverDetector: true,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

/** Splits host:port. An IPv6 address is in brackets. */
function hostAndPort(node: string): { host: string; port: number } {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(node.slice(colon + 1)) };
}
