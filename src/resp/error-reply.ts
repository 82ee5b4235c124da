import { masked } from '../errors/masked.js';
import type { ErrorCode } from '../errors/error-codes.js';
import { ProblemError } from '../errors/problem.js';
import { detailWithOptions } from './option-names.js';
import type { ReplyWriter } from './reply-writer.js';

/** Redis' code words for our errors. All other errors use our error code. */
const WORDS: Partial<Readonly<Record<ErrorCode, string>>> = {
  VALIDATION_FAILED: 'ERR',
  UNAUTHENTICATED: 'NOAUTH',
  FORBIDDEN: 'NOPERM',
  FILTER_NOT_FOUND: 'ERR not found:',
  VISITED_SET_NOT_FOUND: 'ERR not found:',
  FILTER_EXISTS: 'ERR item exists:',
  OVERLOADED: 'BUSY',
  STORE_FULL: 'OOM',
};

/** A problem with a code word of its own: one of Redis, or one that clients look for. */
export class RespError extends ProblemError {
  constructor(
    readonly word: string,
    detail: string,
    code: ErrorCode = 'VALIDATION_FAILED',
  ) {
    super(code, detail);
  }
}

export function wrongArity(command: string): RespError {
  return new RespError('ERR', `wrong number of arguments for '${command.toLowerCase()}' command`);
}

export function syntaxError(detail: string): RespError {
  return new RespError('ERR', `syntax error: ${detail}`);
}

/** Writes a problem as an error reply: the code word and, where it fits, HTTP's detail. */
export function writeProblem(write: ReplyWriter, problem: ProblemError): void {
  const word = problem instanceof RespError ? problem.word : (WORDS[problem.code] ?? problem.code);
  write.error(word, detailOf(problem));
}

/** Rewords details that name parts of HTTP, which commands and replies don't have. */
function detailOf(problem: ProblemError): string {
  const { code, headers } = problem;
  switch (problem instanceof RespError ? undefined : code) {
    case 'RATE_LIMITED':
      return `too many commands (RATE_LIMIT); wait for ${headers['retry-after']} s`;
    case 'UNAUTHENTICATED':
      return 'send a valid API key or token with AUTH or HELLO';
    case 'STORE_UNAVAILABLE':
      return 'the store is unavailable, and a command that changes data may have run';
    case 'INTERNAL_ERROR':
      return 'the service failed because of a defect; its log has the cause';
    default:
      return masked(detailWithOptions(problem));
  }
}
