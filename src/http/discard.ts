import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** How long a client may continue to send data that the service discards. Tests change the limit. */
export const linger = { ms: 5_000 };

/**
 * Reads and discards the rest of a body for a limited time. If the connection closed immediately, a reset could reach
 * the client before it has read the answer.
 */
export function discard(payload: Readable): void {
  if (payload.destroyed || payload.readableEnded) return;
  const timer = setTimeout(() => payload.destroy(), linger.ms);
  timer.unref();
  payload.on('error', () => undefined);
  payload.once('end', () => clearTimeout(timer));
  payload.once('close', () => clearTimeout(timer));
  // Adds a listener, because resume() alone may not be enough: an iterator that was just left may still pause the
  // stream.
  payload.on('data', () => undefined);
  payload.resume();
}

/**
 * If the client is still sending when the connection ends with the answer to `request`, closes it like nginx's
 * lingering_close. The service ends its own side, keeps reading within the limits of `discard`, and then closes the
 * other side. Node would close both sides at once, and the client would see a broken connection instead of the answer.
 */
export function lingerAtEnd(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls this after a connection's last answer.
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
