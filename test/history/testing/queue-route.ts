import type { QueueAnswers, QueueOperation } from '../queue-history.js';

interface Body {
  readonly urls?: readonly (string | { readonly url: string; readonly payload: string })[];
  readonly ids?: readonly string[];
  readonly max?: number;
  readonly leaseSeconds?: number;
  readonly delaySeconds?: number;
}

/** Parses the body of a queue route as an operation. */
export function queueOperation(verb: QueueOperation['verb'], text: string): QueueOperation {
  const { urls = [], ids = [], max = 0, leaseSeconds = 0, delaySeconds = 0 } = JSON.parse(text) as Body;
  const payload = urls.map((one) => (typeof one === 'string' ? '' : one.payload))[0];
  const id = Number(payload ?? 0);
  if (verb === 'discover' || verb === 'forget') {
    return { id, verb, urls: urls.map((one) => (typeof one === 'string' ? one : one.url)) };
  }
  if (verb === 'lease') return { id, verb, max, seconds: leaseSeconds, waitSeconds: 0 };
  return { id, verb, ids, seconds: verb === 'release' ? delaySeconds : leaseSeconds };
}

/** The body of the response. */
export function queueBody(answers: QueueAnswers): unknown {
  if ('results' in answers) return answers;
  return {
    urls: answers.leased.map(({ discovery, ...leased }) => ({ ...leased, payload: String(discovery) })),
  };
}
