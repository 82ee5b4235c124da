import { AnswerError, serviceError, type Fault, type ServiceError } from './errors.js';
import { parseRetryAfter } from './retry-after.js';

/** Maximum size of a JSON answer, because a lease may return a thousand URLs of 8 KiB with their payloads. */
const MOST_BYTES = 32 * 2 ** 20;
/** Maximum size of an error. */
const MOST_PROBLEM_BYTES = 256 * 2 ** 10;
const MOST_DETAIL = 2_000;
const MOST_RETRY_AFTER_SECONDS = 3_600;

/** Returns a successful answer's JSON, or undefined if it has none. Throws AnswerError. */
export async function jsonOf(response: Response, call: string): Promise<unknown> {
  if (response.status === 204) return undefined;
  const text = await textOf(response, MOST_BYTES, call);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AnswerError(`${call} returned ${response.status} with a body that is not JSON`, undefined, {
      cause: error,
    });
  }
}

/**
 * Returns the error for an unsuccessful answer, by its code. If the answer isn't from an Unseen service, the error says
 * so.
 */
export async function refusalOf(response: Response, call: string): Promise<ServiceError | AnswerError> {
  const { status, headers } = response;
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel().catch(() => undefined);
    return new AnswerError(`${call} was redirected: set the URL of the service itself`);
  }
  let problem: unknown;
  try {
    problem = JSON.parse(await textOf(response, MOST_PROBLEM_BYTES, call));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof AnswerError)) throw error;
  }
  const { code, detail, requestId, errors } = membersOf(problem);
  if (typeof code !== 'string' || typeof detail !== 'string')
    return new AnswerError(
      `${call} returned ${status}, but not from an Unseen service; check the URL`,
      status,
    );
  const refusal = {
    status,
    code: code.slice(0, MOST_DETAIL),
    detail: detail.slice(0, MOST_DETAIL),
    requestId: typeof requestId === 'string' ? requestId : undefined,
    errors: Array.isArray(errors) ? errors.filter(isFault) : [],
    retryAfterSeconds: secondsOf(headers.get('retry-after')),
  };
  return serviceError(refusal, call);
}

/** The members of a problem document. `GET /readyz` returns a reason instead. */
function membersOf(answer: unknown): Readonly<Record<string, unknown>> {
  const members = (typeof answer === 'object' && answer !== null ? answer : {}) as Record<string, unknown>;
  return members.status === 'unready' ? { code: 'STORE_UNAVAILABLE', detail: members.reason } : members;
}

/** The seconds in a Retry-After header, at most an hour. */
function secondsOf(header: string | null): number | undefined {
  const seconds = parseRetryAfter(header);
  return seconds === undefined ? undefined : Math.min(seconds, MOST_RETRY_AFTER_SECONDS);
}

function isFault(value: unknown): value is Fault {
  if (typeof value !== 'object' || value === null) return false;
  const { pointer, detail } = value as Partial<Record<string, unknown>>;
  return typeof pointer === 'string' && typeof detail === 'string';
}

/** Reads at most `most` bytes. */
async function textOf(response: Response, most: number, call: string): Promise<string> {
  const { body, headers } = response;
  const length = headers.get('content-length');
  // With a content encoding, the header gives the encoded length.
  const isWhole = length !== null && headers.get('content-encoding') === null;
  if (body === null || (isWhole && Number(length) <= most)) return response.text();
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > most) {
      await reader.cancel().catch(() => undefined);
      throw new AnswerError(`${call} returned more than ${most} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
