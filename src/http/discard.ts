import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
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

/**
 * Has a connection that ends with the answer to `request` closed in the manner of nginx's lingering_close, if its client
 * is still sending then: the service ends its own side, and reads on, within the bounds of `discard`, before it closes
 * the other. Node closes both at once: the client then sees a broken connection, and not the answer.
 */
export function lingerAtEnd(request: IncomingMessage): void {
  const { socket } = request;
  // What Node calls once the last answer of a connection is out.
  socket.destroySoon = () => {
    const close = (): void => Socket.prototype.destroySoon.call(socket);
    if (request.complete) {
      close();
      return;
    }
    socket.end();
    request.once('end', close).once('close', close);
    discard(request);
  };
}
