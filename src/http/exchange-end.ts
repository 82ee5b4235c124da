import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const pending = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `over` once, when an exchange has ended: `answered` is true if all of the answer is out, false if it never can
 * be. A response's own `close` is not enough: of requests pipelined on one connection, only the first has it when the
 * connection breaks.
 */
export function whenOver(
  { socket }: IncomingMessage,
  response: ServerResponse,
  over: (answered: boolean) => void,
): void {
  if (socket.closed) {
    over(false);
    return;
  }
  const ends = endsOn(socket);
  const end = (): void => {
    if (ends.delete(end)) over(response.writableFinished);
  };
  ends.add(end);
  response.once('close', end);
}

/** What to call if the connection breaks: one listener, however many requests it carries. */
function endsOn(socket: Socket): Set<() => void> {
  const known = pending.get(socket);
  if (known) return known;
  const ends = new Set<() => void>();
  pending.set(socket, ends);
  socket.once('close', () => {
    for (const end of ends) end();
  });
  return ends;
}
