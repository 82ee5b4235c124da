import { HttpException } from '@nestjs/common';
import { StaleFilterError, StoreError, type StoreErrorCode } from '#store';
import type { ErrorCode } from '../errors/error-codes.js';
import { ProblemError } from '../errors/problem.js';

/**
 * Details for store errors whose own messages may name hosts or keys. Callers get these details, but the log gets the
 * messages.
 */
const PRIVATE: ReadonlyMap<StoreErrorCode, string> = new Map<StoreErrorCode, string>([
  ['STORE_UNAVAILABLE', 'the store is unavailable; retry with the same Idempotency-Key'],
  [
    'STORE_DATA_LOST',
    'the store has lost data for this filter or visited set. Restore the data, or clear or delete the filter or visited set',
  ],
  ['STORE_FULL', 'the store is full; give it more space, or delete filters or visited sets'],
]);

/** Errors that Fastify and the HTTP parser raise themselves, by error code. */
const FRAMEWORK: ReadonlyMap<string, readonly [ErrorCode, string]> = new Map<
  string,
  readonly [ErrorCode, string]
>([
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    [
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Type is missing, malformed or not accepted here; send application/json',
    ],
  ],
  ['FST_ERR_CTP_BODY_TOO_LARGE', ['BODY_TOO_LARGE', 'the body is too large; split it, or send a stream']],
  ['FST_ERR_BAD_URL', ['VALIDATION_FAILED', 'the path has an invalid percent escape; write % as %25']],
  ['FST_ERR_MAX_PARAM_LENGTH', ['ROUTE_NOT_FOUND', 'a part of the path is too long; see /docs']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['REQUEST_TIMEOUT', 'the request headers did not arrive in time; retry']],
  [
    'HPE_HEADER_OVERFLOW',
    ['VALIDATION_FAILED', 'the request headers are larger than 16 KiB; send smaller headers'],
  ],
]);

/** The problem for any error. An unexpected error becomes INTERNAL_ERROR, without details. */
export function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof StoreError) {
    const detail = error.isPublic ? undefined : PRIVATE.get(error.code);
    return new ProblemError(error.code, detail ?? error.message, { cause: error });
  }
  if (error instanceof StaleFilterError) {
    return new ProblemError(
      'FILTER_BUSY',
      `"${error.filterName}" kept being cleared, re-created or synced during the call; retry`,
    );
  }
  return (
    fromFramework(error) ??
    new ProblemError(
      'INTERNAL_ERROR',
      'the service failed because of a defect; its log has the cause under this requestId',
      { cause: error },
    )
  );
}

/** Nest wraps Fastify's client errors in HttpException, with the original error as the cause. */
function fromFramework(error: unknown): ProblemError | undefined {
  const origin = error instanceof HttpException && error.cause !== undefined ? error.cause : error;
  const known = FRAMEWORK.get(codeOf(origin));
  if (known) return new ProblemError(known[0], known[1], { cause: error });
  const status = error instanceof HttpException ? error.getStatus() : statusOf(origin);
  if (status === 404)
    return new ProblemError('ROUTE_NOT_FOUND', 'this route does not exist; see /docs', { cause: error });
  if (status === 413)
    return new ProblemError('BODY_TOO_LARGE', 'the body is too large; split it, or send a stream', {
      cause: error,
    });
  if (status >= 400 && status < 500) {
    return new ProblemError('VALIDATION_FAILED', 'the request is malformed', { cause: error });
  }
  return undefined;
}

function codeOf(error: unknown): string {
  return isObject(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number {
  return isObject(error) && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : 500;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
