import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Metrics } from '../metrics/metrics.js';
import { RootLogger } from '../logging/logger.js';
import type { ProblemError } from './problem.js';

/** Counts every error answered and logs those that are not the caller's. */
@Injectable()
export class ProblemReporter {
  constructor(
    @Inject(RootLogger) private readonly logger: Logger,
    private readonly metrics: Metrics,
  ) {}

  report(problem: ProblemError, requestId: string): void {
    this.metrics.countError(problem.code);
    if (problem.httpStatus < 500) return;
    this.logger.error({ requestId, code: problem.code, err: problem.cause ?? problem }, problem.message);
  }
}
