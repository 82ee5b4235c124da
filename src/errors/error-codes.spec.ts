import { describe, expect, it } from '@jest/globals';
import { ERRORS, errorEntry, ERROR_CODES } from './error-codes.js';

describe('the error table', () => {
  it('has the codes of the API, with their statuses', () => {
    expect(Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]))).toEqual({
      VALIDATION_FAILED: 400,
      UNAUTHENTICATED: 401,
      FORBIDDEN: 403,
      QUOTA_EXCEEDED: 403,
      FILTER_NOT_FOUND: 404,
      VISITED_SET_NOT_FOUND: 404,
      SYNC_NOT_FOUND: 404,
      HOST_NOT_FOUND: 404,
      KEY_NOT_FOUND: 404,
      ROUTE_NOT_FOUND: 404,
      METHOD_NOT_ALLOWED: 405,
      REQUEST_TIMEOUT: 408,
      FILTER_EXISTS: 409,
      REMOVAL_UNSUPPORTED: 409,
      FILTER_BUSY: 409,
      SYNC_EXISTS: 409,
      SYNC_ENDED: 409,
      SYNC_UNSUPPORTED: 409,
      SYNC_WOULD_FORGET: 409,
      BODY_TOO_LARGE: 413,
      UNSUPPORTED_MEDIA_TYPE: 415,
      IDEMPOTENCY_KEY_REUSED: 422,
      IDEMPOTENCY_KEY_EXPIRED: 422,
      FILTER_TOO_LARGE: 422,
      RATE_LIMITED: 429,
      INTERNAL_ERROR: 500,
      STORE_UNAVAILABLE: 503,
      STORE_DATA_LOST: 503,
      OVERLOADED: 503,
      FILTER_FULL: 507,
      STORE_FULL: 507,
    });
  });

  it('says when to retry for each 503 and 429', () => {
    for (const code of ERROR_CODES) {
      const { status, retryAfter } = errorEntry(code);
      expect({ code, retries: retryAfter !== undefined }).toEqual({
        code,
        retries: status === 503 || status === 429,
      });
    }
  });
});
