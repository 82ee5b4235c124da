import { errorEntry, type ErrorCode } from './error-codes.js';
import { masked } from './masked.js';
import { show } from './show.js';

/** A fault in one of a request's members: an RFC 6901 pointer as a URI fragment, and a sentence. */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

/** An error answer's body: RFC 9457 with `code` and `requestId`, and with `traceId`, `errors` and `line` if known. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly requestId: string;
  readonly traceId?: string;
  readonly errors?: readonly Fault[];
  readonly line?: number;
}

export interface ProblemOptions extends ErrorOptions {
  readonly errors?: readonly Fault[];
  /** The faulty line of a streamed body, counted from 1. */
  readonly line?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that callers get as it is. Any other thrown error is a bug. */
export class ProblemError extends Error {
  readonly errors: readonly Fault[] | undefined;
  readonly line: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ErrorCode,
    detail: string,
    options: ProblemOptions = {},
  ) {
    super(detail, options);
    this.name = 'ProblemError';
    this.errors = options.errors;
    this.line = options.line;
    this.headers = options.headers ?? {};
  }

  get httpStatus(): number {
    return errorEntry(this.code).status;
  }

  /** `ids` name the request. */
  body(ids: Pick<ProblemBody, 'requestId' | 'traceId'>): ProblemBody {
    const { status, title } = errorEntry(this.code);
    return {
      type: 'about:blank',
      title,
      status,
      code: this.code,
      detail: masked(this.message),
      ...ids,
      ...(this.errors && {
        errors: this.errors.map(({ pointer, detail }) => ({
          pointer: masked(pointer),
          detail: masked(detail),
        })),
      }),
      ...(this.line !== undefined && { line: this.line }),
    };
  }
}

/** VALIDATION_FAILED for one member that the request must not have. */
export function unwanted(member: string, value: unknown, because: string): ProblemError {
  return invalid(`#/${member}`, `${member} is not allowed (got ${show(value)}): ${because}`);
}

/** VALIDATION_FAILED for one member. */
export function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('VALIDATION_FAILED', detail, { errors: [{ pointer, detail }] });
}
