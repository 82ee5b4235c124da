import type { Protocol } from '../protocol.js';
import { QUEUE, queueRequest } from '../queue-protocol.js';
import type { SyncedAnswers, SyncedOperation, SyncSeen, SyncState } from './synced-history.js';

const WORDS: Readonly<Record<'visit' | 'check' | 'list', readonly unknown[]>> = {
  visit: ['new', 'seen'],
  check: ['seen', 'unseen'],
  list: ['kept', 'new', 'forgotten'],
};
const STATES: readonly SyncState[] = ['open', 'committing', 'committed', 'abandoned'];
/** Errors whose messages give a sync's state. */
const STANDINGS: readonly unknown[] = ['SYNC_EXISTS', 'SYNC_ENDED', 'SYNC_NOT_FOUND'];
const NAMED = /sync ([0-9a-f]{16})/;
const ENDED = /is (open|committing|committed|abandoned)(?: because ([^;]+))?/;

/** Routes for a visited set, its queue and its syncs. */
export const SYNCED: Protocol<SyncedOperation, SyncedAnswers> = {
  request: requestOf,
  mutates: ({ verb }) => verb !== 'check' && verb !== 'look',
  answers: ({ verb }, status, code) => {
    if (STANDINGS.includes(code)) return ['open', 'list', 'commit', 'abandon', 'look'].includes(verb);
    return (
      (verb === 'open' && status === 201) ||
      (verb === 'commit' && status === 202) ||
      (verb === 'abandon' && status === 204)
    );
  },
  read(operation, body, status) {
    if (status >= 400) return { sync: standing(body) };
    switch (operation.verb) {
      case 'visit':
      case 'check':
      case 'list': {
        const { verb, urls } = operation;
        const { results } = body;
        const fit = (result: unknown): result is string => WORDS[verb].includes(result);
        const isWhole = Array.isArray(results) && results.length === urls.length && results.every(fit);
        return isWhole ? { results } : undefined;
      }
      case 'open':
      case 'commit':
      case 'look':
        return seenIn(body);
      case 'abandon':
        return { sync: { id: operation.sync, state: 'abandoned' } };
      default:
        return QUEUE.read(operation, body, status);
    }
  },
};

function requestOf(operation: SyncedOperation): ReturnType<Protocol<SyncedOperation, unknown>['request']> {
  const room = `/v1/visited-sets/${operation.set}`;
  switch (operation.verb) {
    case 'visit': {
      const { urls, ttlSeconds } = operation;
      return { path: `${room}/urls/visit`, body: { urls, ttlSeconds } };
    }
    case 'check':
      return { path: `${room}/urls/check`, body: { urls: operation.urls } };
    case 'open':
      return { path: `${room}/syncs`, body: {} };
    case 'list': {
      const { sync, urls, stream } = operation;
      return { path: `${room}/syncs/${sync}/urls`, body: stream ? `${urls.join('\n')}\n` : { urls } };
    }
    case 'commit':
      return { path: `${room}/syncs/${operation.sync}/commit`, body: { force: true } };
    case 'abandon':
      return { path: `${room}/syncs/${operation.sync}`, method: 'DELETE' };
    case 'look':
      return { path: `${room}/syncs/${operation.sync}`, method: 'GET' };
    default:
      return queueRequest(operation, operation.set);
  }
}

function seenIn({ id, state, reason }: Readonly<Record<string, unknown>>): SyncedAnswers | undefined {
  const known = STATES.find((one) => one === state);
  if (typeof id !== 'string' || known === undefined) return undefined;
  return { sync: { id, state: known, ...(typeof reason === 'string' && { reason }) } };
}

/** Reads a sync's state from an error message. Messages are for people, so parts may be missing. */
function standing({ code, detail }: Readonly<Record<string, unknown>>): SyncSeen {
  const text = String(detail);
  const [, id] = NAMED.exec(text) ?? [];
  const [, state, reason] = ENDED.exec(text) ?? [];
  const known = STATES.find((one) => one === state);
  return {
    code: String(code),
    ...(id !== undefined && { id }),
    ...(known !== undefined && { state: known }),
    ...(reason !== undefined && { reason }),
  };
}
