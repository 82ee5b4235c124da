import { createServer, type RequestListener, type Server } from 'node:http';
import type { Config } from '../config/config.js';
import { ConnectionLimit } from './connection-limit.js';
import { discard, lingerAtEnd } from './discard.js';
import { onEveryRequest } from './every-request.js';

/** How often connections are looked at whose headers are overdue. */
const CHECK_MS = 1_000;
/** How long a connection may be idle between requests: longer than load balancers keep theirs. */
const KEEP_ALIVE_MS = 72_000;

/** Lets requests of a server through to a handler, or answers them itself. */
export interface Guard {
  guard(server: Server, handle: RequestListener): void;
}

type ServerConfig = Pick<Config, 'requestTimeoutMs' | 'streamIdleMs' | 'maxConnections'>;

/**
 * The HTTP server below Fastify. Node times heads, the readers of bodies time those (a stream may take as long as it
 * moves). A client is cut off if it does not take a complete answer: all of it in `requestTimeoutMs` and some of it in every
 * `streamIdleMs`. It is also cut off if it has the answer and goes on sending a body that nobody reads: a refused one, or
 * that of a GET.
 */
export function createHttpServer(handle: RequestListener, guard: Guard, config: ServerConfig): Server {
  const server = createServer({
    headersTimeout: config.requestTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Asked for in the hooks, and answered with a problem.
    requireHostHeader: false,
  });
  // A client may end its side once it has sent all (`nc -N`): it is answered. Node has no option for this property.
  Object.assign(server, { httpAllowHalfOpen: true });
  const limit = new ConnectionLimit(config.maxConnections);
  server.on('connection', (socket) => limit.add(socket));
  cutOffSlow(server, config);
  guard.guard(server, handle);
  return server;
}

/** Cuts off slow readers of refusals, too, wherever these are made. */
function cutOffSlow(server: Server, { requestTimeoutMs, streamIdleMs }: ServerConfig): void {
  onEveryRequest(server, (request, response) => {
    const { socket } = request;
    response.once('prefinish', () => {
      // Its client left before: no close comes any more to clear the timer.
      if (socket.destroyed) return;
      // The kernel has taken all of the answer, and all of the request is there: nobody is waited for. As a rule.
      if (socket.writableLength === 0 && request.complete) return;
      const late = setTimeout(() => socket.destroy(), requestTimeoutMs);
      response.once('close', () => clearTimeout(late));
      socket.setTimeout(streamIdleMs);
      // Before Node's own listener, which sets the keep-alive time if nothing is pipelined behind.
      response.prependOnceListener('finish', () => socket.setTimeout(0));
      if (!request.complete) lingerAtEnd(request);
    });
    response.once('finish', () => {
      if (!request.complete) discard(request);
    });
  });
}
