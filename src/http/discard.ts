import type { Readable } from 'node:stream';

/** How long a client may go on sending what nobody reads. */
export const LINGER_MS = 5_000;

/**
 * Lets a client finish sending a body that nobody reads, because a connection closed at once would be reset before the
 * client has read the answer. But not for ever.
 */
export function discard(payload: Readable): void {
  if (payload.destroyed || payload.readableEnded) return;
  const timer = setTimeout(() => payload.destroy(), LINGER_MS);
  timer.unref();
  payload.on('error', () => undefined);
  payload.once('end', () => clearTimeout(timer));
  payload.once('close', () => clearTimeout(timer));
  // A listener, not only resume(): an iterator that has just been left may still hold the stream back.
  payload.on('data', () => undefined);
  payload.resume();
}
