/** What a code means in HTTP. `title` never changes between occurrences (RFC 9457), but the detail does. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  /** Seconds to wait before trying again, sent as Retry-After. */
  readonly retryAfter?: number;
}

/**
 * Every error that the service answers. Codes are stable; titles and details may change. Tests compare the table in
 * docs/errors.md and the list of the OpenAPI document with this one.
 */
export const ERRORS = {
  VALIDATION_FAILED: { status: 400, title: 'The request is not valid' },
  UNAUTHENTICATED: { status: 401, title: 'Credentials are missing or not valid' },
  FORBIDDEN: { status: 403, title: 'The request is not allowed' },
  QUOTA_EXCEEDED: { status: 403, title: 'The quota of the prefix would be exceeded' },
  FILTER_NOT_FOUND: { status: 404, title: 'There is no filter of this name' },
  VISITED_SET_NOT_FOUND: { status: 404, title: 'There is no visited set of this name' },
  SYNC_NOT_FOUND: { status: 404, title: 'There is no sync of this id' },
  KEY_NOT_FOUND: { status: 404, title: 'There is no API key of this id' },
  ROUTE_NOT_FOUND: { status: 404, title: 'There is no such route' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The route does not take this method' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request did not arrive in time' },
  FILTER_EXISTS: { status: 409, title: 'The name is taken' },
  REMOVAL_UNSUPPORTED: { status: 409, title: 'A standard filter cannot remove or count items' },
  FILTER_BUSY: { status: 409, title: 'The filter or visited set is being made, cleared or dropped' },
  SYNC_EXISTS: { status: 409, title: 'Another sync is under way' },
  SYNC_ENDED: { status: 409, title: 'The sync is over' },
  SYNC_UNSUPPORTED: { status: 409, title: 'A multiset cannot be synced' },
  SYNC_WOULD_FORGET: { status: 409, title: 'The sync would forget more than is allowed' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The route does not take this kind of body' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The key was used for another request' },
  IDEMPOTENCY_KEY_EXPIRED: { status: 422, title: 'The operation id is older than its record' },
  FILTER_TOO_LARGE: { status: 422, title: 'The filter or visited set would take more memory than allowed' },
  RATE_LIMITED: { status: 429, title: 'Too many requests', retryAfter: 1 },
  INTERNAL_ERROR: { status: 500, title: 'The service failed' },
  STORE_UNAVAILABLE: { status: 503, title: 'The store cannot do this at the moment', retryAfter: 1 },
  STORE_DATA_LOST: {
    status: 503,
    title: 'The store has lost data of this filter or visited set',
    retryAfter: 30,
  },
  OVERLOADED: { status: 503, title: 'The service takes no more requests at the moment', retryAfter: 1 },
  FILTER_FULL: { status: 507, title: 'There is no room for so many more items' },
  STORE_FULL: { status: 507, title: 'The store has no room left' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** The entry of a code. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return ERRORS[code];
}
