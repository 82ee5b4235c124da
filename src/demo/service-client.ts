import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { DemoError } from './demo-error.js';

/** A connection is given up when nothing moves on it for this long. */
const SILENCE_MS = 60_000;

/** One line of a streamed answer, with the members that the demo reads. */
export interface AnswerLine {
  readonly results?: readonly string[];
  readonly done?: boolean;
  readonly error?: { readonly code: string; readonly detail: string };
}

/** Calls a running service. A failure is a DemoError that says why, or the reason of the signal's abort. */
export class ServiceClient {
  constructor(
    private readonly url: URL,
    private readonly signal: AbortSignal,
  ) {}

  /** The JSON of the answer; undefined if it has none. If the answer is no success, throws what the service says. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const request = this.open(method, path, 'application/json');
    request.end(body === undefined ? undefined : JSON.stringify(body));
    try {
      const response = await responseTo(request);
      const answer = await json(response).catch(() => undefined);
      if (isSuccess(response)) return answer;
      throw new DemoError(refusal(`${method} ${path}`, response, answer));
    } catch (error) {
      throw this.explain(error);
    }
  }

  /**
   * Posts lines and yields the lines of the answer as they come. It sends and reads side by side. A client that reads
   * only after it has sent everything would block for ever once the answers fill the buffers in between.
   */
  async *stream(path: string, text: AsyncIterable<string>): AsyncGenerator<AnswerLine> {
    const request = this.open('POST', path, 'text/plain');
    const sending = pipeline(Readable.from(text), request).catch((error: unknown) => error);
    try {
      const response = await responseTo(request);
      if (!isSuccess(response)) {
        throw new DemoError(refusal(`POST ${path}`, response, await json(response).catch(() => undefined)));
      }
      yield* answerLines(response);
    } catch (error) {
      request.destroy();
      // If the list could not be read to its end, the other error is only a consequence.
      const cause = await sending;
      throw this.explain(cause instanceof DemoError ? cause : error);
    } finally {
      request.destroy();
    }
  }

  private open(method: string, path: string, contentType: string): ClientRequest {
    const start = this.url.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = method === 'POST' ? { 'content-type': contentType } : {};
    const request = start(new URL(path, this.url), { method, headers, signal: this.signal });
    return request.setTimeout(SILENCE_MS, () => {
      request.destroy(new Error(`nothing moved for ${SILENCE_MS / 1000} s`));
    });
  }

  private explain(error: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof DemoError) return error;
    const { message, code } = error as { message?: string; code?: string };
    const reason = message === undefined || message === '' ? code : message;
    return new DemoError(
      `no answer from ${this.url.origin} (${reason}): is the service running? "npm start" starts one`,
    );
  }
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
  });
}

/** The lines up to the one that says that all is done. A stream without that line has failed. */
async function* answerLines(response: IncomingMessage): AsyncGenerator<AnswerLine> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      const line = JSON.parse(text) as AnswerLine;
      if (line.error)
        throw new DemoError(`the service ended the stream: ${line.error.code}, ${line.error.detail}`);
      yield line;
      if (line.done) return;
    }
  }
  throw new DemoError('the service ended the stream before its last line');
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function refusal(call: string, response: IncomingMessage, body: unknown): string {
  const { code, detail } = (body ?? {}) as { code?: unknown; detail?: unknown };
  return `${call}: ${typeof code === 'string' ? `${code}, ${String(detail)}` : `HTTP ${response.statusCode}, as no Unseen service says it`}`;
}
