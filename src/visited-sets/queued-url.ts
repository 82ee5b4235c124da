import type { Discovery } from '../batches/entries.js';

/** A URL in the queue, with the payload that it was discovered with. */
export interface QueuedUrl {
  readonly url: string;
  readonly payload?: string;
}

const LENGTH = /^(\d+):/;

/**
 * The text that the store keeps. Without a payload, it is the URL. Otherwise, it is the URL's length in UTF-16 units,
 * ":", the URL and the payload. A valid URL never begins with a digit, so the forms can't be confused.
 */
export function encodeQueued(discovery: Discovery): string {
  if (typeof discovery === 'string') return discovery;
  const { url, payload } = discovery;
  return `${url.length}:${url}${payload}`;
}

export function decodeQueued(text: string): QueuedUrl {
  const head = LENGTH.exec(text);
  if (head === null) return { url: text };
  const urlAt = head[0].length;
  const payloadAt = urlAt + Number(head[1]);
  return { url: text.slice(urlAt, payloadAt), payload: text.slice(payloadAt) };
}
