import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { LineBudget } from '../logging/line-budget.js';
import { RootLogger } from '../logging/logger.js';
import { Metrics } from '../metrics/metrics.js';
import type { ErrorCode } from '../errors/error-codes.js';
import type { ProblemError } from '../errors/problem.js';
import type { RequestIds } from '../request/context.js';

/** Maximum number of lines per minute for expected errors with one code. */
const LINES_A_MINUTE = 60;

/**
 * Counts every error answer, and logs those that the caller did not cause. A bug is logged with its stack. An expected
 * error is logged with its causes, at most LINES_A_MINUTE times per code. Otherwise, an outage or a full filter would
 * log a line for every request. During an outage, these even include strangers' requests, because the service can't
 * check credentials.
 */
@Injectable()
export class ProblemReporter {
  private readonly budgets = new Map<ErrorCode, LineBudget>();

  constructor(
    @Inject(RootLogger) private readonly logger: Logger,
    @Inject(Metrics) private readonly metrics: Pick<Metrics, 'countError'>,
  ) {}

  report(problem: ProblemError, ids: RequestIds): void {
    this.metrics.countError(problem.code);
    if (problem.httpStatus < 500) return;
    const { code, message, cause } = problem;
    if (code === 'INTERNAL_ERROR') {
      this.logger.error({ ...ids, code, err: cause ?? problem }, message);
      return;
    }
    const unreported = this.budgetOf(code).take();
    if (unreported === undefined) return;
    const line = { ...ids, code, causes: causesOf(problem), ...(unreported > 0 && { unreported }) };
    this.logger.warn(line, message);
  }

  private budgetOf(code: ErrorCode): LineBudget {
    const known = this.budgets.get(code);
    if (known) return known;
    const budget = new LineBudget(LINES_A_MINUTE, 60_000);
    this.budgets.set(code, budget);
    return budget;
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
