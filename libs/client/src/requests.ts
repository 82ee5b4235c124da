import { jsonOf, refusalOf } from './answers.js';
import { AnswerError, ServiceError, UnavailableError, UnreachableError, type UnseenError } from './errors.js';
import { backOffMs, pause } from './back-off.js';

/** One call of the service. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** From `/v1` on, names encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is, in place of JSON. */
  readonly body?: NonNullable<RequestInit['body']>;
  readonly contentType?: string;
  /** The Idempotency-Key. With one, a repeat does nothing twice. */
  readonly key?: string;
  /** Whether it may be sent again when nobody knows whether it was executed. */
  readonly repeatable: boolean;
  /** How long the service may take for it beside what a call takes, ms: of a lease that waits. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Where calls go, and how long they may take, in ms. */
export interface RequestOptions {
  readonly url: URL;
  readonly apiKey: string | undefined;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly attemptMs: number;
  readonly onRetry: (retrying: Retrying) => void;
}

/** A notice that calls have failed for a while and are repeated. */
export interface Retrying {
  /** A line for people, such as `retrying, connection refused by 127.0.0.1:3000`. */
  readonly message: string;
  /** Why the last try of the call failed. */
  readonly error: UnseenError;
  /** How long ago the call began, ms. */
  readonly sinceMs: number;
}

/** Statuses of gateways that could not reach the service, and of services that are to be asked later. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** A call that fails for so long is reported. */
const QUIET_MS = 2_000;

/** Sends calls, again and again until one is answered or the time is over. */
export class Requests {
  private readonly base: string;
  /** Whether the user was told since the last call that was answered. */
  private isTold = false;

  constructor(private readonly options: RequestOptions) {
    const { origin, pathname } = options.url;
    let end = pathname.length;
    while (pathname.endsWith('/', end)) end--;
    this.base = origin + pathname.slice(0, end);
  }

  /** The JSON that answers a call; undefined if the answer has none. Throws UnseenError, or the reason of an abort. */
  async json<T>(call: Call): Promise<T> {
    return this.send(call, async (response, name) => (await jsonOf(response, name)) as T);
  }

  /** The bytes that answer a call, as they come. Once they have begun to come, their error is that of the stream. */
  async stream(call: Call): Promise<ReadableStream<Uint8Array>> {
    return this.send(call, async ({ body }, name) => {
      if (body === null) throw new AnswerError(`${name} was answered with nothing`);
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
          // A refusal is an answer, too: the service is back.
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

  /** Once, until a call is answered. A listener that throws must not end a call. */
  private tell(error: UnseenError, sinceMs: number): void {
    if (this.isTold) return;
    this.isTold = true;
    try {
      this.options.onRetry({ message: `retrying, ${this.whyOf(error)}`, error, sinceMs });
    } catch {
      // It has no one else to tell.
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
    const timer = setTimeout(() => attempt.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const response = await this.options.fetch(this.urlOf(call), this.initOf(call, attempt.signal));
      if (response.ok) return await read(response, name);
      throw await refusalOf(response, name);
    } catch (error) {
      if (error instanceof AnswerError || error instanceof ServiceError) throw error;
      const why = attempt.signal.aborted ? `no answer within ${Math.round(ms)} ms` : causeOf(error);
      throw new UnreachableError(`${this.base} was not reached: ${why} (${name})`, { cause: error });
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

function mayRepeat({ repeatable }: Call, error: unknown): error is UnseenError {
  if (error instanceof UnreachableError) return repeatable;
  // These were refused before they were executed, or say that a repeat is safe.
  if (error instanceof UnavailableError) return repeatable || error.code !== 'STORE_UNAVAILABLE';
  return error instanceof AnswerError && repeatable && PASSING.has(error.status ?? 0);
}

/** Longest time of a timer. */
const MOST_MS = 2 ** 31 - 1;

/** Why a fetch has failed: browsers do not tell, Node.js tells in the cause. */
function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message?: string };
  return (
    [cause?.message, cause?.code, message].find((text) => text !== undefined && text !== '') ?? String(error)
  );
}

/** Node.js says it in the cause of what fetch throws. Browsers do not. */
function isRefused({ cause }: UnseenError): boolean {
  const { cause: inner } = (cause ?? {}) as { cause?: { code?: unknown } };
  return inner?.code === 'ECONNREFUSED';
}
