import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type Logger } from 'pino';
import type { Config } from '../config.js';

/** Members that may carry credentials, wherever an error or a request is logged. */
const SECRETS = ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.url', '*.redisUrl'];

/** The Nest token of the process's logger. */
export const RootLogger = Symbol('RootLogger');

/** The one logger of the process: JSON lines on stdout, level by LOG_LEVEL. */
export function createLogger(config: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: config.logLevel,
    base: { service: 'unseen' },
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: SECRETS, censor: '[redacted]' },
  });
}

/** Where Nest logs a failed start, which it throws as well, so that main.ts tells it in one line. */
const AT_START: ReadonlySet<unknown> = new Set(['ExceptionHandler', 'NestApplication']);

/** Nest's own log lines through the same logger; its start-up chatter is debugging output here. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  debug(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  verbose(message: unknown, context?: unknown): void {
    this.logger.trace({ context }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    const context = rest.at(-1);
    const level = AT_START.has(context) ? 'debug' : 'error';
    this.logger[level]({ context, ...(message instanceof Error && { err: message }) }, String(message));
  }

  fatal(message: unknown, context?: unknown): void {
    this.logger.fatal({ context }, String(message));
  }
}
