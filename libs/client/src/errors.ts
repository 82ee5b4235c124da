import type { Problem } from './api-types.js';

export type ErrorCode = Problem['code'];

/** An error in one of a request's members: an RFC 6901 pointer as a URI fragment, and a sentence. */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

/**
 * The base class of all this client's errors. Wrong arguments throw TypeError or RangeError, and an abort throws its
 * signal's reason.
 */
export abstract class UnseenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service didn't answer in time or couldn't be reached. It may have executed the call. */
export class UnreachableError extends UnseenError {}

/** A list can't be resumed, because its source no longer starts with the entries that were sent. */
export class ChangedListError extends UnseenError {
  constructor(
    /** The difference, such as `the first 10 entries differ`. */
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(`the list has changed: ${detail}`, options);
  }
}

/** The answer isn't from an Unseen service, or isn't valid. */
export class AnswerError extends UnseenError {
  constructor(
    message: string,
    /** The HTTP status if it was unexpected. It usually comes from a gateway. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A refusal's content (RFC 9457). */
export interface Refusal {
  readonly status: number;
  /** Stable. Unknown codes come from a newer service. */
  readonly code: ErrorCode | (string & {});
  readonly detail: string;
  /** The request's id in the service's log. */
  readonly requestId: string | undefined;
  readonly errors: readonly Fault[];
  /** How long the service wants the client to wait before a retry. */
  readonly retryAfterSeconds: number | undefined;
}

/** The service refused the call and didn't execute it. */
export class ServiceError extends UnseenError {
  readonly status: number;
  readonly code: Refusal['code'];
  readonly detail: string;
  readonly requestId: string | undefined;
  readonly errors: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly refusal: Refusal,
    call: string,
  ) {
    super(`${refusal.code}: ${refusal.detail} (${call})`);
    const { status, code, detail, requestId, errors, retryAfterSeconds } = refusal;
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = requestId;
    this.errors = errors;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The request is invalid. `errors` points at the invalid members. */
export class ValidationError extends ServiceError {}
/** The credentials are missing or invalid, or don't allow the call. */
export class AccessError extends ServiceError {}
/** No filter, visited set, sync, host, or key has this name or id. */
export class NotFoundError extends ServiceError {}
/** The call conflicts with the current state: for example, another filter has this name, or a sync has ended. */
export class ConflictError extends ServiceError {}
/** A sync would forget more items than its limit allows. Usually its input list is incomplete. */
export class WouldForgetError extends ConflictError {}
/** The filter, the store, the memory limit, or the quota has no room. */
export class FullError extends ServiceError {}
/** The service is temporarily unavailable. The client has already retried the call. */
export class UnavailableError extends ServiceError {}
/** The store has lost data for this filter. All calls on it fail until an operator restores or clears it. */
export class DataLostError extends ServiceError {}

type Thrown = new (refusal: Refusal, call: string) => ServiceError;

const THROWN: Readonly<Record<ErrorCode, Thrown>> = {
  VALIDATION_FAILED: ValidationError,
  UNAUTHENTICATED: AccessError,
  FORBIDDEN: AccessError,
  QUOTA_EXCEEDED: FullError,
  FILTER_NOT_FOUND: NotFoundError,
  VISITED_SET_NOT_FOUND: NotFoundError,
  SYNC_NOT_FOUND: NotFoundError,
  HOST_NOT_FOUND: NotFoundError,
  KEY_NOT_FOUND: NotFoundError,
  ROUTE_NOT_FOUND: ServiceError,
  METHOD_NOT_ALLOWED: ServiceError,
  REQUEST_TIMEOUT: UnavailableError,
  FILTER_EXISTS: ConflictError,
  REMOVAL_UNSUPPORTED: ConflictError,
  FILTER_BUSY: UnavailableError,
  SYNC_EXISTS: ConflictError,
  SYNC_ENDED: ConflictError,
  SYNC_UNSUPPORTED: ConflictError,
  SYNC_WOULD_FORGET: WouldForgetError,
  BODY_TOO_LARGE: ValidationError,
  UNSUPPORTED_MEDIA_TYPE: ValidationError,
  IDEMPOTENCY_KEY_REUSED: ConflictError,
  IDEMPOTENCY_KEY_EXPIRED: ConflictError,
  FILTER_TOO_LARGE: FullError,
  RATE_LIMITED: UnavailableError,
  INTERNAL_ERROR: ServiceError,
  STORE_UNAVAILABLE: UnavailableError,
  STORE_DATA_LOST: DataLostError,
  OVERLOADED: UnavailableError,
  FILTER_FULL: FullError,
  STORE_FULL: FullError,
};

/** Creates a refusal's error, by its code. `call`: such as `POST /v1/filters`. */
export function serviceError(refusal: Refusal, call: string): ServiceError {
  const known = Object.hasOwn(THROWN, refusal.code) ? THROWN[refusal.code as ErrorCode] : ServiceError;
  return new known(refusal, call);
}
