import { StoreError } from '../../errors.js';

/** Server errors after which the same call may succeed. It did nothing, or is safe to repeat. */
const PASSING =
  /^(LOADING|TRYAGAIN|ASK|MOVED|NOSCRIPT|CLUSTERDOWN|MASTERDOWN|READONLY|BUSY|NOREPLICAS|UNBLOCKED)\b/;

const NOT_PERMITTED = /\bNOPERM\b|ACL failure in script|^ERR The user executing the script can't/;
const NOT_LET_IN = /\b(NOAUTH|WRONGPASS)\b/;

/** Codes of TLS handshake errors: an untrusted certificate, or a peer that does not speak TLS. */
const UNTRUSTED = /CERT|SIGNATURE|^ERR_(TLS|SSL)|^EPROTO$/;

/** Words in these errors' messages, for clients that pass on only the message. */
const UNTRUSTED_WORDS = /certificate|\bSSL\b|\bTLS\b/;

/**
 * The error to throw after a failed call, or undefined if a retry can help: STORE_FULL, STORE_DATA_LOST,
 * STORE_UNAVAILABLE, or the error itself if it is a defect.
 */
export function finalError(error: unknown, clustered: boolean): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name !== 'ReplyError') {
    // A bug in this code, not a connection fault.
    return error instanceof TypeError || error instanceof RangeError ? error : undefined;
  }
  const { message } = error;
  if (/^OOM\b/.test(message)) return new StoreError('STORE_FULL', 'Redis is out of memory (maxmemory)');
  if (/^(WRONGTYPE|UNSEEN)\b/.test(message)) {
    return new StoreError('STORE_DATA_LOST', "another program changed one of the filter's Redis keys");
  }
  if (/^MOVED\b/.test(message) && !clustered) {
    return unavailable('this Redis server is a cluster node; name the nodes in REDIS_CLUSTER instead', error);
  }
  if (PASSING.test(message)) return undefined;
  if (NOT_LET_IN.test(message)) return unavailable('Redis refuses the credentials', error);
  if (NOT_PERMITTED.test(message))
    return unavailable(`Redis denies permission: ${notPermitted(message)}`, error);
  if (/^MISCONF\b/.test(message))
    return unavailable('Redis refuses writes, because it cannot save its data to disk (MISCONF)', error);
  return error;
}

export function unavailable(message: string, cause: unknown): StoreError {
  return new StoreError('STORE_UNAVAILABLE', message, { cause });
}

/**
 * The error for a lost or silent connection, described by `fault`. Its message is public, and its cause is for the log.
 */
export function away(fault: string, cause: unknown): StoreError {
  const message = `${fault}; retry later`;
  return new StoreError('STORE_UNAVAILABLE', message, { cause: inOurWords(cause), isPublic: true });
}

/**
 * The client's messages, and how this service words them. The client's own wording names options that users can't set.
 */
const CLIENT_WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /^(Connection is closed|Reached the max retries|Stream isn't writeable)/,
    'the connection to Redis was lost',
  ],
  [/^(Command timed out|Socket timeout)/, 'Redis did not answer in time'],
  [
    /^(Cluster isn't ready|Failed to refresh slots|None of startup nodes|Cluster is ended)/,
    'no Redis cluster node can be reached',
  ],
  [/^All sentinels are unreachable/, 'no Sentinel can be reached, or none knows the master'],
];

/** Translates the client's errors, and returns all others unchanged. */
export function inOurWords(error: unknown): unknown {
  const message = text(error, 'message');
  const [, words] = CLIENT_WORDS.find(([theirs]) => theirs.test(message)) ?? [];
  if (words === undefined) return error;
  const cause = error instanceof Error ? inOurWords(error.cause) : undefined;
  return new Error(words, cause === undefined ? {} : { cause });
}

/** Redis 7.0 does not name the command if it is inside a script. */
function notPermitted(message: string): string {
  const command = /'([\w|-]+)' command/.exec(message)?.[1];
  return `its user may not run ${command ?? 'a command in a script, or may not use its key'}`;
}

/** Why there is no connection, without a host name or a secret. A cluster client hides the code of a TLS error. */
export function faultOf(error: unknown, encrypted: boolean): string {
  const origin = originOf(error);
  const message = text(origin, 'message');
  const code = text(origin, 'code');
  if (NOT_LET_IN.test(message) || NOT_PERMITTED.test(message)) return 'Redis refuses the credentials';
  if (UNTRUSTED.test(code)) return `Redis cannot be reached: the TLS handshake failed (${code})`;
  if (UNTRUSTED_WORDS.test(message)) return 'Redis cannot be reached: the TLS handshake failed';
  return encrypted ? 'Redis cannot be reached over TLS' : 'Redis cannot be reached';
}

/** The error that made a cluster's client give up on all nodes. */
export function originOf(error: unknown): unknown {
  return isObject(error) && isObject(error['lastNodeError']) ? error['lastNodeError'] : error;
}

/**
 * Removes the command that the client attaches to an error. Its arguments may be keys, items or the password of an
 * AUTH.
 */
export function withoutCommand(error: unknown): unknown {
  for (const own of [error, originOf(error)]) {
    if (isObject(own)) Reflect.deleteProperty(own, 'command');
  }
  return error;
}

function text(error: unknown, member: 'message' | 'code'): string {
  const value = isObject(error) ? error[member] : undefined;
  return typeof value === 'string' ? value : '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
