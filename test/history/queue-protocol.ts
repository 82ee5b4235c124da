import type { Protocol } from './protocol.js';
import { VISITED_SET, type Leased, type QueueAnswers, type QueueOperation } from './queue-history.js';

const WORDS: Readonly<Record<Exclude<QueueOperation['verb'], 'lease'>, readonly unknown[]>> = {
  discover: ['new', 'seen'],
  forget: ['forgotten', 'absent'],
  ack: ['acked', 'expired', 'unknown'],
  release: ['released', 'expired', 'unknown'],
  extend: ['extended', 'expired', 'unknown'],
};

/** Routes for a visited set and its queue. */
export const QUEUE: Protocol<QueueOperation, QueueAnswers> = {
  request: (operation) => queueRequest(operation, VISITED_SET),
  mutates: () => true,
  read(operation, { results, urls }) {
    if (operation.verb === 'lease') {
      const leased = Array.isArray(urls) ? urls.map(leasedOf) : [undefined];
      const known = leased.filter((one) => one !== undefined);
      return known.length === leased.length && known.length <= operation.max ? { leased: known } : undefined;
    }
    const { length } = 'urls' in operation ? operation.urls : operation.ids;
    const fit = (result: unknown): result is string => WORDS[operation.verb].includes(result);
    return Array.isArray(results) && results.length === length && results.every(fit)
      ? { results }
      : undefined;
  },
};

/** The request for an operation on a visited set or its queue. */
export function queueRequest(operation: QueueOperation, set: string): { path: string; body: unknown } {
  const { verb } = operation;
  const room = verb === 'discover' || verb === 'forget' ? 'urls' : 'queue';
  return { path: `/v1/visited-sets/${set}/${room}/${verb}`, body: bodyOf(operation) };
}

function bodyOf(operation: QueueOperation): unknown {
  switch (operation.verb) {
    case 'discover': {
      const { id, urls, ttlSeconds, priority, delaySeconds } = operation;
      return { urls: urls.map((url) => ({ url, payload: String(id) })), ttlSeconds, priority, delaySeconds };
    }
    case 'forget':
      return { urls: operation.urls };
    case 'lease': {
      const { max, seconds, waitSeconds } = operation;
      return { max, leaseSeconds: seconds, waitSeconds };
    }
    default: {
      const { verb, ids, seconds, isUncounted, hostSeconds } = operation;
      if (verb === 'ack') return seconds > 0 ? { ids, againAfterSeconds: seconds } : { ids };
      if (verb === 'extend') return { ids, leaseSeconds: seconds };
      const countAttempt = isUncounted === undefined ? undefined : !isUncounted;
      return { ids, delaySeconds: seconds, countAttempt, hostDelaySeconds: hostSeconds };
    }
  }
}

function leasedOf(entry: unknown): Leased | undefined {
  const { id, url, payload, attempt } = entry as Record<string, unknown>;
  if (typeof id !== 'string' || typeof url !== 'string' || typeof attempt !== 'number') return undefined;
  const discovery = typeof payload === 'string' && /^\d+$/.test(payload) ? Number(payload) : undefined;
  return discovery === undefined ? undefined : { id, url, discovery, attempt };
}
