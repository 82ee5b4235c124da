import type { Priority } from '#store';
import type { QueueAnswers, QueueOperation } from '../queue-history.js';

interface Body {
  readonly urls?: readonly (string | { readonly url: string; readonly payload: string })[];
  readonly ids?: readonly string[];
  readonly max?: number;
  readonly leaseSeconds?: number;
  readonly delaySeconds?: number;
  readonly againAfterSeconds?: number;
  readonly hostDelaySeconds?: number;
  readonly countAttempt?: boolean;
  readonly priority?: Priority;
}

/** Parses a queue route's body as an operation. */
export function queueOperation(verb: QueueOperation['verb'], text: string): QueueOperation {
  const { urls = [], ids = [], max = 0, ...body } = JSON.parse(text) as Body;
  const { leaseSeconds = 0, delaySeconds = 0, againAfterSeconds = 0, hostDelaySeconds = 0 } = body;
  const payload = urls.map((one) => (typeof one === 'string' ? '' : one.payload))[0];
  const id = Number(payload ?? 0);
  if (verb === 'discover' || verb === 'forget') {
    const { priority = 'normal' } = body;
    const all = urls.map((one) => (typeof one === 'string' ? one : one.url));
    return { id, verb, urls: all, priority, delaySeconds };
  }
  if (verb === 'lease') return { id, verb, max, seconds: leaseSeconds, waitSeconds: 0 };
  const seconds = { ack: againAfterSeconds, release: delaySeconds, extend: leaseSeconds }[verb];
  return { id, verb, ids, seconds, isUncounted: body.countAttempt === false, hostSeconds: hostDelaySeconds };
}

/** The response body. */
export function queueBody(answers: QueueAnswers): unknown {
  if ('results' in answers) return answers;
  return {
    urls: answers.leased.map(({ discovery, ...leased }) => ({ ...leased, payload: String(discovery) })),
  };
}
