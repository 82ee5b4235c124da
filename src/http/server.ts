import { createServer, type RequestListener, type Server } from 'node:http';
import type { Config } from '../config/config.js';
import type { ConnectionLimit } from './connection-limit.js';
import { discard, lingerAtEnd } from './discard.js';
import { onEveryRequest } from './every-request.js';

/** Interval between checks for connections with overdue headers. */
const CHECK_MS = 1_000;
/** How long a connection may be idle between requests. Longer than load balancers keep theirs. */
const KEEP_ALIVE_MS = 72_000;

/** Passes a server's requests to a handler, or answers them itself. */
export interface Guard {
  guard(server: Server, handle: RequestListener): void;
}

type ServerConfig = Pick<Config, 'requestTimeoutMs' | 'streamIdleMs'>;

/**
 * The HTTP server below Fastify. Node limits the time for heads, and body readers limit theirs (a stream may last as
 * long as it progresses). The server disconnects a client that doesn't read its answer. The client must read some of
 * the answer within each `streamIdleMs`, and all of a complete answer within `requestTimeoutMs`. The server also
 * disconnects a client that keeps sending an unread body after its answer, such as the body of a refused request or of
 * a GET.
 */
export function createHttpServer(
  handle: RequestListener,
  guard: Guard,
  limit: ConnectionLimit,
  config: ServerConfig,
): Server {
  const server = createServer({
    headersTimeout: config.requestTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The hooks check the header, and answer with a problem.
    requireHostHeader: false,
  });
  // A client may end its side after its request (`nc -N`) and still gets its answer. Node has no option for this.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => limit.add(socket));
  cutOffSlow(server, config);
  guard.guard(server, handle);
  return server;
}

/** Disconnects slow readers of any answer, including refusals, from any part of the service. */
function cutOffSlow(server: Server, { requestTimeoutMs, streamIdleMs }: ServerConfig): void {
  onEveryRequest(server, (request, response) => {
    const { socket } = request;
    response.once('prefinish', () => {
      // The client has already left, so no `close` would clear the timer.
      if (socket.destroyed) return;
      // Usually, the kernel has taken the whole answer and the request is complete, so the client can't delay anything.
      if (socket.writableLength === 0 && request.complete) return;
      const late = setTimeout(() => socket.destroy(), requestTimeoutMs);
      response.once('close', () => clearTimeout(late));
      socket.setTimeout(streamIdleMs);
      // Runs before Node's own listener, which sets the keep-alive time if no pipelined request follows.
      response.prependOnceListener('finish', () => socket.setTimeout(0));
      if (!request.complete) lingerAtEnd(request);
    });
    response.once('finish', () => {
      if (!request.complete) discard(request);
    });
  });
}
