import { StoreError } from '../errors.js';

/** Server errors after which the same call may succeed: nothing was done, or it is safe to do again. */
const PASSING =
  /^(LOADING|TRYAGAIN|ASK|MOVED|NOSCRIPT|CLUSTERDOWN|MASTERDOWN|READONLY|BUSY|NOREPLICAS|UNBLOCKED)\b/;

const NOT_PERMITTED = /\bNOPERM\b|ACL failure in script|^ERR The user executing the script can't/;
const NOT_LET_IN = /\b(NOAUTH|WRONGPASS)\b/;

/** Codes of errors in the handshake of TLS: a certificate that is not trusted, or no TLS at the other end. */
const UNTRUSTED = /CERT|SIGNATURE|^ERR_(TLS|SSL)|^EPROTO$/;

/** Words for the same, where a client hands on nothing but the message. */
const UNTRUSTED_WORDS = /certificate|\bSSL\b|\bTLS\b/;

/**
 * The error to give up with after a failed call, or undefined if trying again can help: STORE_FULL, STORE_DATA_LOST,
 * STORE_UNAVAILABLE, or the error itself where it is a defect.
 */
export function finalError(error: unknown, clustered: boolean): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name !== 'ReplyError') {
    // A defect of ours, not a fault of the connection.
    return error instanceof TypeError || error instanceof RangeError ? error : undefined;
  }
  const { message } = error;
  if (/^OOM\b/.test(message)) return new StoreError('STORE_FULL', 'Redis is out of memory (maxmemory)');
  if (/^(WRONGTYPE|UNSEEN)\b/.test(message)) {
    return new StoreError('STORE_DATA_LOST', 'a key of the filter was changed by another program');
  }
  if (/^MOVED\b/.test(message) && !clustered) {
    return unavailable('Redis is a node of a cluster: name the cluster instead', error);
  }
  if (PASSING.test(message)) return undefined;
  if (NOT_LET_IN.test(message)) return unavailable('Redis refuses the credentials', error);
  if (NOT_PERMITTED.test(message)) return unavailable(`Redis refuses: ${notPermitted(message)}`, error);
  if (/^MISCONF\b/.test(message)) return unavailable('Redis refuses: MISCONF', error);
  return error;
}

export function unavailable(message: string, cause: unknown): StoreError {
  return new StoreError('STORE_UNAVAILABLE', message, { cause });
}

/** Inside a script Redis 7.0 does not name the command. */
function notPermitted(message: string): string {
  const command = /'([\w|-]+)' command/.exec(message)?.[1];
  return `its user may not run ${command ?? 'a command of a script, or not on that key'}`;
}

/** Why there is no connection, naming no host and no secret. The client of a cluster does not tell what ails TLS. */
export function faultOf(error: unknown, encrypted: boolean): string {
  const origin = originOf(error);
  const message = text(origin, 'message');
  const code = text(origin, 'code');
  if (NOT_LET_IN.test(message) || NOT_PERMITTED.test(message)) return 'Redis refuses the credentials';
  if (UNTRUSTED.test(code)) return `Redis cannot be reached: TLS fails (${code})`;
  if (UNTRUSTED_WORDS.test(message)) return 'Redis cannot be reached: TLS fails';
  return encrypted ? 'Redis cannot be reached over TLS' : 'Redis cannot be reached';
}

/** What made a cluster's client give up on all nodes. */
export function originOf(error: unknown): unknown {
  return isObject(error) && isObject(error['lastNodeError']) ? error['lastNodeError'] : error;
}

/**
 * Takes the command off an error, which the client puts there with its arguments: keys, items, and the password where
 * the command was AUTH.
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
