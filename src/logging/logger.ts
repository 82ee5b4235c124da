import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import type { Config } from '../config/config.js';
import { masked } from '../errors/masked.js';
import { loggedError } from './logged-error.js';

/** Members of a logged error or request that may have credentials. Other credentials are masked in each line. */
const SECRETS = ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.url', '*.redis'];
/** The Nest token for the process's logger. */
export const RootLogger = Symbol('RootLogger');

/** Creates the process's only logger: JSON lines, on stdout by default, at LOG_LEVEL. */
export function createLogger(config: Pick<Config, 'logLevel'>, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level: config.logLevel,
    base: { service: 'unseen' },
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: SECRETS, censor: '[redacted]' },
    serializers: { err: loggedError },
    hooks: { streamWrite: masked },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Contexts in which Nest logs a failed start. Nest also throws the error, and main.ts reports it in one line. */
const AT_START: ReadonlySet<unknown> = new Set(['ExceptionHandler', 'NestApplication']);

/** Writes Nest's log lines to the process's logger. Logs messages during the start at debug level. */
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
