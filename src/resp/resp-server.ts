import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { InFlight } from '../admission/in-flight.js';
import { AuditLog } from '../auth/audit-log.js';
import { Authenticator } from '../auth/authenticator.js';
import { Config } from '../config/config.js';
import { connectionOf } from '../http/connection.js';
import { ConnectionLimit } from '../http/connection-limit.js';
import { Lifecycle } from '../http/lifecycle.js';
import { Dispatcher } from './dispatcher.js';
import { RespConnection } from './resp-connection.js';
import { RespMetrics } from './resp-metrics.js';
import { Session } from './session.js';

/** The server for the Redis protocol. Offers Redis clients the same service as HTTP. */
@Injectable()
export class RespServer implements BeforeApplicationShutdown {
  private readonly connections = new Set<RespConnection>();
  private server: Server | undefined;

  constructor(
    @Inject(Config) private readonly config: Config,
    private readonly dispatcher: Dispatcher,
    private readonly authenticator: Authenticator,
    private readonly audit: AuditLog,
    private readonly inFlight: InFlight,
    private readonly limit: ConnectionLimit,
    private readonly lifecycle: Lifecycle,
    private readonly metrics: RespMetrics,
  ) {}

  /** The port on which it listens, or undefined if RESP_PORT isn't set. */
  get port(): number | undefined {
    return (this.server?.address() as AddressInfo | null | undefined)?.port;
  }

  /** Opens RESP_PORT, if it is set. */
  async listen(): Promise<void> {
    const { respPort, host } = this.config;
    if (respPort === undefined) return;
    // A client may end its side after its commands (`nc -N`) and still gets its replies.
    const server = createServer({ allowHalfOpen: true, keepAlive: true }, (socket) => this.accept(socket));
    this.server = server;
    server.listen(respPort, host);
    await once(server, 'listening');
    this.lifecycle.ending.addEventListener('abort', () => this.endAll(), { once: true });
    this.lifecycle.graceOver.addEventListener('abort', () => this.destroyAll(), { once: true });
  }

  /** Waits for commands in progress. The store closes later. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server?.listening) return;
    this.endAll();
    const closed = once(server, 'close');
    server.close();
    await closed;
  }

  private accept(socket: Socket): void {
    const { authenticator, audit } = this;
    const session = new Session(socket.remoteAddress ?? '', connectionOf(socket), authenticator, audit);
    const { dispatcher, inFlight, config } = this;
    const connection = new RespConnection(socket, session, { dispatcher, inFlight, config });
    this.connections.add(connection);
    this.metrics.connections = this.connections.size;
    socket.once('close', () => {
      this.connections.delete(connection);
      this.metrics.connections = this.connections.size;
    });
    this.limit.add(socket);
    if (this.lifecycle.shuttingDown) connection.end();
  }

  private endAll(): void {
    for (const connection of this.connections) connection.end();
  }

  private destroyAll(): void {
    for (const connection of this.connections) connection.destroy();
  }
}
