import type { FastifyBaseLogger } from 'fastify';

type Bindings = Parameters<FastifyBaseLogger['child']>[0];

/**
 * The logger that Fastify requires for each request. Its lines name the request. Most requests log nothing, so the
 * child logger is created with the first line.
 */
export class RequestLogger implements FastifyBaseLogger {
  private made: FastifyBaseLogger | undefined;

  constructor(
    private readonly logger: FastifyBaseLogger,
    private readonly bindings: Bindings,
  ) {}

  get level(): string {
    return this.logger.level;
  }

  child(...args: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.own().child(...args);
  }

  fatal(...args: unknown[]): void {
    this.own().fatal(...(args as [unknown]));
  }

  error(...args: unknown[]): void {
    this.own().error(...(args as [unknown]));
  }

  warn(...args: unknown[]): void {
    this.own().warn(...(args as [unknown]));
  }

  info(...args: unknown[]): void {
    this.own().info(...(args as [unknown]));
  }

  debug(...args: unknown[]): void {
    this.own().debug(...(args as [unknown]));
  }

  trace(...args: unknown[]): void {
    this.own().trace(...(args as [unknown]));
  }

  silent(...args: unknown[]): void {
    this.own().silent(...(args as [unknown]));
  }

  private own(): FastifyBaseLogger {
    return (this.made ??= this.logger.child(this.bindings));
  }
}
