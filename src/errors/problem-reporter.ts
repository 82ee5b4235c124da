import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Metrics } from '../metrics/metrics.js';
import { RootLogger } from '../logging/logger.js';
import type { ProblemError } from './problem.js';

/**
 * Counts every error answered and logs those that are not the caller's. A defect is logged with its stack; what was
 * foreseen with its causes only, since an outage or a full filter is met by every request.
 */
@Injectable()
export class ProblemReporter {
  constructor(
    @Inject(RootLogger) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  report(problem: ProblemError, requestId: string): void {
    this.metrics.countError(problem.code);
    if (problem.httpStatus < 500) return;
    const { code, message, cause } = problem;
    if (code === 'INTERNAL_ERROR') this.logger.error({ requestId, code, err: cause ?? problem }, message);
    else this.logger.warn({ requestId, code, causes: causesOf(problem) }, message);
  }
}

const MOST_CAUSES = 5;

/** The messages of an error's causes, outermost first. */
function causesOf(problem: ProblemError): string[] {
  const messages: string[] = [];
  for (
    let cause = problem.cause;
    cause instanceof Error && messages.length < MOST_CAUSES;
    cause = cause.cause
  ) {
    messages.push(cause.message || cause.name);
  }
  return messages;
}
