/** The HTTP answer for a code. `title` is the same for every occurrence (RFC 9457), but the detail differs. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  /** Seconds to wait before a retry, sent as Retry-After. */
  readonly retryAfter?: number;
}

/**
 * All errors that the service returns. Codes are stable, but titles and details may change. Tests compare the table in
 * docs/errors.md and the list in the OpenAPI document with this one.
 */
export const ERRORS = {
  VALIDATION_FAILED: { status: 400, title: 'The request is not valid' },
  UNAUTHENTICATED: { status: 401, title: 'Credentials are missing or not valid' },
  FORBIDDEN: { status: 403, title: 'The request is not allowed' },
  QUOTA_EXCEEDED: { status: 403, title: "The request exceeds this prefix's quota" },
  FILTER_NOT_FOUND: { status: 404, title: 'Filter not found' },
  VISITED_SET_NOT_FOUND: { status: 404, title: 'Visited set not found' },
  SYNC_NOT_FOUND: { status: 404, title: 'Sync not found' },
  HOST_NOT_FOUND: { status: 404, title: 'Host not found' },
  KEY_NOT_FOUND: { status: 404, title: 'API key not found' },
  ROUTE_NOT_FOUND: { status: 404, title: 'Route not found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The route does not support this method' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request did not arrive in time' },
  FILTER_EXISTS: { status: 409, title: 'The name is already taken' },
  REMOVAL_UNSUPPORTED: { status: 409, title: 'A standard filter cannot remove or count items' },
  FILTER_BUSY: { status: 409, title: 'The filter or visited set is being created, cleared or deleted' },
  SYNC_EXISTS: { status: 409, title: 'Another sync is in progress' },
  SYNC_ENDED: { status: 409, title: 'The sync has ended' },
  SYNC_UNSUPPORTED: { status: 409, title: 'A multiset cannot be synced' },
  SYNC_WOULD_FORGET: { status: 409, title: 'The sync would forget more items than allowed' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The route does not accept this kind of body' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The Idempotency-Key belongs to another request' },
  IDEMPOTENCY_KEY_EXPIRED: { status: 422, title: 'The record of this Idempotency-Key has expired' },
  FILTER_TOO_LARGE: { status: 422, title: 'The filter or visited set would take more memory than allowed' },
  RATE_LIMITED: { status: 429, title: 'Too many requests', retryAfter: 1 },
  INTERNAL_ERROR: { status: 500, title: 'The service failed' },
  STORE_UNAVAILABLE: { status: 503, title: 'The store is unavailable', retryAfter: 1 },
  STORE_DATA_LOST: {
    status: 503,
    title: 'The store has lost data for this filter or visited set',
    retryAfter: 30,
  },
  OVERLOADED: { status: 503, title: 'The service is overloaded', retryAfter: 1 },
  FILTER_FULL: { status: 507, title: 'The filter or visited set has no room for these items' },
  STORE_FULL: { status: 507, title: 'The store is full' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

export function errorEntry(code: ErrorCode): ErrorEntry {
  return ERRORS[code];
}
