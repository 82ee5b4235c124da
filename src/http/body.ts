import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { LineInput, type LineFormat } from '../batches/line-input.js';
import type { Config } from '../config.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { noteWellFormed } from './well-formed.js';
import { discard } from './discard.js';
import { jsonErrorAt } from './json-error.js';
import type { Request } from './request.js';

const LINE_FORMATS: ReadonlyMap<string, LineFormat> = new Map([
  ['application/x-ndjson', 'ndjson'],
  ['text/plain', 'text'],
]);

/** Replaces Fastify's parsers: JSON is read whole, with its bytes kept for the fingerprint; lines are handed on unread. */
export function useBodyParsers(server: FastifyInstance, config: Config): void {
  server.decorateRequest('rawBody', undefined);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', async (request: Request, payload: IncomingMessage) => {
    refuseEncoded(request, payload);
    if (Number(request.headers['content-length']) > config.maxBodyBytes) {
      discard(payload);
      throw tooLarge(config.maxBodyBytes);
    }
    const raw = await readWhole(payload, config.maxBodyBytes, config.requestTimeoutMs);
    request.rawBody = raw;
    return raw.length === 0 ? undefined : parseJson(raw);
  });
  for (const [mediaType, format] of LINE_FORMATS) {
    server.addContentTypeParser(mediaType, async (request: Request, payload: IncomingMessage) => {
      refuseEncoded(request, payload);
      if (request.routeOptions.config.streams) return new LineInput(payload, format);
      throw unsupported(payload, `this route takes application/json only, not ${mediaType}`);
    });
  }
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;

/** Compressed bodies, and those that say they are not UTF-8: read as it they might be other items. */
function refuseEncoded({ headers }: Request, payload: IncomingMessage): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupported(payload, 'the service takes no compressed bodies (Content-Encoding)');
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  if (!['utf-8', 'utf8', 'us-ascii'].includes(charset)) {
    throw unsupported(payload, `a body is UTF-8, not ${show(charset)}`);
  }
}

function tooLarge(limit: number): ProblemError {
  return new ProblemError('BODY_TOO_LARGE', `a JSON body has at most ${limit} bytes`);
}

function unsupported(payload: IncomingMessage, detail: string): ProblemError {
  discard(payload);
  return new ProblemError('UNSUPPORTED_MEDIA_TYPE', detail);
}

function tooLate(detail: string): ProblemError {
  return new ProblemError('REQUEST_TIMEOUT', detail);
}

/**
 * All bytes of a body. BODY_TOO_LARGE beyond `limit` bytes, REQUEST_TIMEOUT after `timeoutMs`. Fastify's own reader
 * knows no timeout, and Node's would cut long streams off as well.
 */
function readWhole(payload: Readable, limit: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (): void => {
      clearTimeout(timer);
      payload.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const refuse = (problem: ProblemError): void => {
      stop();
      discard(payload);
      reject(problem);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > limit) refuse(tooLarge(limit));
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const onClose = (): void => refuse(tooLate('the connection was closed in mid-body'));
    const timer = setTimeout(() => {
      refuse(tooLate(`the body did not arrive within ${timeoutMs} ms`));
    }, timeoutMs);
    // An aborted request errs before it closes; who caused it is gone and gets no answer.
    payload.on('error', () => undefined);
    payload.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

function parseJson(raw: Buffer): unknown {
  const ascii = isAscii(raw);
  if (!ascii && !isUtf8(raw)) {
    throw new ProblemError('VALIDATION_FAILED', `the body is not valid UTF-8 at byte ${utf8ErrorAt(raw)}`);
  }
  const text = raw.toString(ascii ? 'latin1' : 'utf8');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ProblemError(
      'VALIDATION_FAILED',
      `the body is not valid JSON at character ${jsonErrorAt(text)}`,
    );
  }
  if (typeof body === 'object' && body !== null && !text.includes('\\u')) noteWellFormed(body);
  return body;
}

const REPLACEMENT = Buffer.from('\ufffd');

/** The first byte that belongs to no character: where decoding put a replacement character that was not there before. */
function utf8ErrorAt(raw: Buffer): number {
  const text = raw.toString('utf8');
  let at = 0;
  for (let from = 0, next = 0; (next = text.indexOf('\ufffd', from)) >= 0; from = next + 1) {
    at += Buffer.byteLength(text.slice(from, next));
    if (!raw.subarray(at, at + REPLACEMENT.length).equals(REPLACEMENT)) break;
    at += REPLACEMENT.length;
  }
  return at;
}
