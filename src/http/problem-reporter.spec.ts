import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { ErrorCode } from '../errors/error-codes.js';
import { ProblemError } from '../errors/problem.js';
import { ProblemReporter } from './problem-reporter.js';

interface Line {
  readonly code: ErrorCode;
  readonly requestId: string;
}

describe('error lines in the log', () => {
  let lines: Line[];
  let counted: ErrorCode[];
  let reporter: ProblemReporter;

  beforeEach(() => {
    lines = [];
    counted = [];
    const logger = pino({}, { write: (text: string) => void lines.push(JSON.parse(text) as Line) });
    reporter = new ProblemReporter(logger, { countError: (code) => void counted.push(code) });
  });

  function report(code: ErrorCode, times: number): void {
    for (let i = 0; i < times; i++)
      reporter.report(new ProblemError(code, 'in detail'), { requestId: `${code} ${i}` });
  }

  it.each<ErrorCode>(['OVERLOADED', 'STORE_UNAVAILABLE'])('are limited for %s', (code) => {
    report(code, 3_000);
    expect(lines.length).toBeGreaterThan(0);
    // The test may take longer than one of the budget's spans, so allow for two.
    expect(lines.length).toBeLessThanOrEqual(120);
    expect(lines[0]).toMatchObject({ code, requestId: `${code} 0` });
    expect(counted).toEqual(Array<ErrorCode>(3_000).fill(code));
  });

  it('of one code leave room for those of other codes', () => {
    report('OVERLOADED', 1_000);
    report('STORE_DATA_LOST', 1);
    expect(lines.at(-1)).toMatchObject({ code: 'STORE_DATA_LOST' });
  });

  it('are written for every bug', () => {
    report('INTERNAL_ERROR', 200);
    expect(lines.map(({ requestId }) => requestId)).toEqual(counted.map((code, i) => `${code} ${i}`));
  });

  it('are not written for the caller’s errors', () => {
    report('VALIDATION_FAILED', 1);
    expect([lines, counted]).toEqual([[], ['VALIDATION_FAILED']]);
  });
});
