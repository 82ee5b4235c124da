import type { Problem } from './api-types.js';

export type ErrorCode = Problem['code'];

/** What is wrong with one member of a request: an RFC 6901 pointer as a URI fragment, and a sentence. */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

/** Every error of this client, but for a TypeError or RangeError of a wrong argument, and the reason of an abort. */
export abstract class UnseenError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Nothing answered in time: the service is away, or the way to it is. What was sent may have been done. */
export class UnreachableError extends UnseenError {}

/** A list cannot go on: its source no longer begins with the entries that were sent. */
export class ChangedListError extends UnseenError {
  constructor(
    /** The difference, such as `there are only 10 entries`. */
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(`the list has changed: ${detail}`, options);
  }
}

/** What answered is no Unseen service, or one whose answer makes no sense. */
export class AnswerError extends UnseenError {
  constructor(
    message: string,
    /** The HTTP status, if that is what was wrong: that of a gateway, mostly. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What a refusal says (RFC 9457). */
export interface Refusal {
  readonly status: number;
  /** Stable. One that this version does not know comes from a newer service. */
  readonly code: ErrorCode | (string & {});
  readonly detail: string;
  /** Of the request, as in the log of the service. */
  readonly requestId: string | undefined;
  readonly errors: readonly Fault[];
  /** How long the service asks to wait. */
  readonly retryAfterSeconds: number | undefined;
}

/** The service has answered that it did not do what was asked. */
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

/** The request is not valid; `errors` point at its members. */
export class ValidationError extends ServiceError {}
/** The credentials are missing, not valid, or do not allow this. */
export class AccessError extends ServiceError {}
/** There is no filter, visited set, sync or key of this name. */
export class NotFoundError extends ServiceError {}
/** What is there does not go with what was asked: another filter of this name, a sync that is over. */
export class ConflictError extends ServiceError {}
/** A sync would forget more than is allowed, which only an incomplete list does mostly. */
export class WouldForgetError extends ConflictError {}
/** No room: in the filter, in the store, in the memory or the quota that is allowed. */
export class FullError extends ServiceError {}
/** Not at the moment. Repeats are worth while, and were made before this was thrown. */
export class UnavailableError extends ServiceError {}
/** The store has lost data of this filter. Nothing is answered until an operator has seen to it. */
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

/** The error of a refusal, of the class of its code. `call`: such as `POST /v1/filters`. */
export function serviceError(refusal: Refusal, call: string): ServiceError {
  const known = Object.hasOwn(THROWN, refusal.code) ? THROWN[refusal.code as ErrorCode] : ServiceError;
  return new known(refusal, call);
}
