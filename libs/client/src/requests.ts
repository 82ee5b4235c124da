import { jsonOf, refusalOf } from './answers.js';
import { AnswerError, ServiceError, UnavailableError, UnreachableError, type UnseenError } from './errors.js';
import { backOffMs, pause } from './back-off.js';

/** A call to the service. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Starts with `/v1`. Names are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged, instead of JSON. */
  readonly body?: NonNullable<RequestInit['body']>;
  readonly contentType?: string;
  /** The Idempotency-Key, which makes retries safe. */
  readonly key?: string;
  /** True if the call may be resent when it is unknown whether it was executed. */
  readonly repeatable: boolean;
  /** Additional time for the answer, in ms, for example for a lease that waits. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The service's address, and time limits in ms. */
export interface RequestOptions {
  readonly url: URL;
  readonly apiKey: string | undefined;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly attemptMs: number;
  readonly onRetry: (retrying: Retrying) => void;
}

/** A notice that a call has been failing for a while and is being retried. */
export interface Retrying {
  /** A line for people, such as `retrying, connection refused by 127.0.0.1:3000`. */
  readonly message: string;
  /** Why the last attempt failed. */
  readonly error: UnseenError;
  /** Time since the start of the call, in ms. */
  readonly sinceMs: number;
}

/** Statuses from gateways that can't reach the service, and for requests to retry later. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** A call that fails for this long is reported. */
const QUIET_MS = 2_000;

/** Sends calls, and retries each until it is answered or its time limit is reached. */
export class Requests {
  private readonly base: string;
  /** True if an outage was reported since the last call that got an answer. */
  private isTold = false;

  constructor(private readonly options: RequestOptions) {
    const { origin, pathname } = options.url;
    let end = pathname.length;
    while (pathname.endsWith('/', end)) end--;
    this.base = origin + pathname.slice(0, end);
  }

  /** Returns the answer's JSON, or undefined if it has none. Throws UnseenError, or an abort's reason. */
  async json<T>(call: Call): Promise<T> {
    return this.send(call, async (response, name) => (await jsonOf(response, name)) as T);
  }

  /** Returns the answer's bytes as a stream. After the first byte, errors come from the stream. */
  async stream(call: Call): Promise<ReadableStream<Uint8Array>> {
    return this.send(call, async ({ body }, name) => {
      if (body === null) throw new AnswerError(`${name} returned no body`);
      return body;
    });
  }

  private async send<T>(call: Call, read: (response: Response, name: string) => Promise<T>): Promise<T> {
    const name = `${call.method} ${call.path}`;
    const begun = performance.now();
    const end = begun + this.options.timeoutMs + (call.waitMs ?? 0);
    let failure: UnseenError | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for (let tries = 0; ; tries++) {
        call.signal?.throwIfAborted();
        try {
          const answer = await this.attempt(call, name, end, read);
          this.isTold = false;
          return answer;
        } catch (error) {
          call.signal?.throwIfAborted();
          // The service is available, because a refusal is also an answer.
          if (error instanceof ServiceError && !(error instanceof UnavailableError)) this.isTold = false;
          if (!mayRepeat(call, error)) throw error;
          const waitMs = backOffMs(
            tries,
            error instanceof ServiceError ? error.retryAfterSeconds : undefined,
          );
          if (performance.now() + waitMs >= end) throw error;
          failure = error;
          timer ??= setTimeout(
            () => failure && this.tell(failure, performance.now() - begun),
            begun + QUIET_MS - performance.now(),
          );
          await pause(waitMs, call.signal);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reports an outage once, until a call gets an answer. An error in the listener must not end the call. */
  private tell(error: UnseenError, sinceMs: number): void {
    if (this.isTold) return;
    this.isTold = true;
    try {
      this.options.onRetry({ message: `retrying, ${this.whyOf(error)}`, error, sinceMs });
    } catch {
      // An error in the listener itself is ignored.
    }
  }

  private whyOf(error: UnseenError): string {
    return isRefused(error) ? `connection refused by ${this.options.url.host}` : error.message;
  }

  private async attempt<T>(
    call: Call,
    name: string,
    end: number,
    read: (response: Response, name: string) => Promise<T>,
  ): Promise<T> {
    const { waitMs = 0, signal } = call;
    const ms = Math.min(MOST_MS, this.options.attemptMs + waitMs, Math.max(1, end - performance.now()));
    const attempt = new AbortController();
    const abort = (): void => attempt.abort(signal?.reason);
    const timer = setTimeout(() => attempt.abort(new DOMException('the call timed out', 'TimeoutError')), ms);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await this.options.fetch(this.urlOf(call), this.initOf(call, attempt.signal));
      if (response.ok) return await read(response, name);
      throw await refusalOf(response, name);
    } catch (error) {
      if (error instanceof AnswerError || error instanceof ServiceError) throw error;
      const why = attempt.signal.aborted ? `no answer within ${Math.round(ms)} ms` : causeOf(error);
      throw new UnreachableError(`${this.base} could not be reached: ${why} (${name})`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  private urlOf({ path, query }: Call): string {
    const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    return this.base + path + (pairs.length > 0 ? `?${new URLSearchParams(pairs).toString()}` : '');
  }

  private initOf({ method, json, body, contentType, key }: Call, signal: AbortSignal): RequestInit {
    const { apiKey } = this.options;
    const headers: Record<string, string> = {};
    if (apiKey !== undefined) headers.authorization = `Bearer ${apiKey}`;
    if (key !== undefined) headers['idempotency-key'] = key;
    if (json !== undefined) headers['content-type'] = 'application/json';
    if (contentType !== undefined) headers['content-type'] = contentType;
    const init: RequestInit = { method, headers, signal, redirect: 'manual' };
    if (json !== undefined) init.body = JSON.stringify(json);
    if (body !== undefined) Object.assign(init, { body, duplex: 'half' });
    return init;
  }
}

function mayRepeat({ repeatable, body }: Call, error: unknown): error is UnseenError {
  // The first attempt consumes a stream, even if it is refused.
  if (body instanceof ReadableStream) return false;
  if (error instanceof UnreachableError) return repeatable;
  // The service refused these before executing them, or says that a retry is safe.
  if (error instanceof UnavailableError) return repeatable || error.code !== 'STORE_UNAVAILABLE';
  return error instanceof AnswerError && repeatable && PASSING.has(error.status ?? 0);
}

/** Maximum delay of a timer. */
const MOST_MS = 2 ** 31 - 1;

/** Why a fetch failed. Node.js gives the reason in the cause, but browsers give none. */
function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message?: string };
  return (
    [cause?.message, cause?.code, message].find((text) => text !== undefined && text !== '') ?? String(error)
  );
}

/** True if the connection was refused. Only Node.js reports this, in the cause of fetch's error. */
function isRefused({ cause }: UnseenError): boolean {
  const { cause: inner } = (cause ?? {}) as { cause?: { code?: unknown } };
  return inner?.code === 'ECONNREFUSED';
}
