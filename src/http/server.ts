import { createServer, type RequestListener, type Server } from 'node:http';
import type { Config } from '../config.js';
import type { Gate } from '../overload/gate.js';
import { rememberAnswers } from './client-error.js';

/** How often connections are looked at whose headers are overdue. */
const CHECK_MS = 1_000;
/** How long a connection may be idle between requests: longer than load balancers keep theirs. */
const KEEP_ALIVE_MS = 72_000;

type ServerConfig = Pick<Config, 'requestTimeoutMs' | 'streamIdleMs' | 'maxConnections'>;

/**
 * The HTTP server below Fastify. Heads are timed by Node, bodies by their readers (streams may take as long as they
 * move), and whoever does not take an answer that is complete, not a byte in `streamIdleMs`, is cut off.
 */
export function createHttpServer(handle: RequestListener, gate: Gate, config: ServerConfig): Server {
  const server = createServer({
    headersTimeout: config.requestTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Asked for in the hooks, and answered with a problem.
    requireHostHeader: false,
  });
  server.maxConnections = config.maxConnections;
  rememberAnswers(server);
  gate.guard(server, (request, response) => {
    // Node goes back to the keep-alive time once the answer is out.
    response.once('prefinish', () => request.socket.setTimeout(config.streamIdleMs));
    handle(request, response);
  });
  return server;
}
