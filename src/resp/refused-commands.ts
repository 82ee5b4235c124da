const TRANSFER =
  'use GET …/export and POST …/import over HTTP, or the commands "unseen export" and "unseen import"';
const ORDER = 'commands that arrive together run in order, but not as a transaction';
const LIST = 'filters cannot list their items; list filters with GET /v1/filters over HTTP';
const NO_VALUES = 'Unseen keeps sets and filters, not values';
const QUEUE = 'queue URLs with UNSEEN.DISCOVER, and lease them with UNSEEN.LEASE';
const NO_EVENTS = 'Unseen sends no events';

/** Redis commands that have no meaning here, with their replacements. */
export const REFUSED: ReadonlyMap<string, string> = new Map<string, string>([
  ...['BF.SCANDUMP', 'BF.LOADCHUNK', 'CF.SCANDUMP', 'CF.LOADCHUNK', 'DUMP', 'RESTORE'].map(
    (name) => [name, TRANSFER] as const,
  ),
  ...['MULTI', 'EXEC', 'DISCARD', 'WATCH', 'UNWATCH'].map((name) => [name, ORDER] as const),
  ...['EVAL', 'EVALSHA', 'EVAL_RO', 'SCRIPT', 'FUNCTION', 'FCALL'].map(
    (name) => [name, 'Unseen runs no scripts'] as const,
  ),
  ...['KEYS', 'SCAN', 'RANDOMKEY', 'DBSIZE', 'SMEMBERS', 'SSCAN', 'SPOP', 'SRANDMEMBER'].map(
    (name) => [name, LIST] as const,
  ),
  ...['SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE', 'UNSUBSCRIBE', 'PUBLISH', 'MONITOR'].map(
    (name) => [name, NO_EVENTS] as const,
  ),
  ...['GET', 'SET', 'SETNX', 'GETSET', 'MGET', 'MSET', 'INCR', 'HGET', 'HSET', 'ZADD'].map(
    (name) => [name, NO_VALUES] as const,
  ),
  ...['LPUSH', 'RPUSH', 'LPOP', 'RPOP', 'BLPOP', 'BRPOP'].map((name) => [name, QUEUE] as const),
  ...['EXPIRE', 'PEXPIRE', 'TTL', 'PTTL', 'PERSIST'].map(
    (name) =>
      [name, 'filters do not expire; a visited set with maxAgeSeconds forgets its URLs by age'] as const,
  ),
  ...['FLUSHALL', 'FLUSHDB'].map((name) => [name, 'delete each filter by its name (DEL)'] as const),
  ...['RENAME', 'RENAMENX', 'COPY', 'MOVE'].map(
    (name) => [name, 'a filter keeps its name; import an export of it under another name'] as const,
  ),
  ...['CONFIG', 'SHUTDOWN', 'SAVE', 'BGSAVE', 'CLUSTER', 'REPLICAOF', 'ACL'].map(
    (name) => [name, 'configure the service with its settings (docs/settings.md)'] as const,
  ),
]);
