import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { LineInput, type LineFormat } from '../batches/line-input.js';
import { PackedItems } from '../batches/packed-items.js';
import type { Config } from '../config.js';
import { ProblemError } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { PORTION, turn } from '../event-loop/turn.js';
import { slotOf } from '../overload/slots.js';
import { discard } from './discard.js';
import { parseJson } from './json.js';
import type { Request } from './request.js';
import { StreamedBody } from './streamed-body.js';
import { utf8ErrorAt } from './utf8-error.js';
import { readWhole } from './whole-body.js';

const LINE_FORMATS: ReadonlyMap<string, LineFormat> = new Map([
  ['application/x-ndjson', 'ndjson'],
  ['text/plain', 'text'],
]);

/** Replaces Fastify's parsers: JSON is read whole, with its bytes kept for the fingerprint; lines are handed on unread. */
export function useBodyParsers(server: FastifyInstance, config: Config): void {
  server.decorateRequest('rawBody', undefined);
  server.removeAllContentTypeParsers();
  const mostParts = PARTS_AN_ITEM * config.maxBatchItems + OTHER_PARTS;
  server.addContentTypeParser('application/json', async (request: Request, payload: IncomingMessage) => {
    refuseEncoded(request, payload);
    const raw = await readWhole(payload, {
      maxBytes: config.maxBodyBytes,
      timeoutMs: config.requestTimeoutMs,
      slot: slotOf(request.raw),
    });
    request.rawBody = raw;
    if (raw.length === 0) return undefined;
    if (raw.length > PORTION && turn.isSpent()) await turn.next();
    assertUtf8(raw);
    const parse = () => parseJson(raw, mostParts);
    return (request.routeOptions.config.streams && PackedItems.of(raw, parse)) || parse();
  });
  for (const [mediaType, format] of LINE_FORMATS) {
    server.addContentTypeParser(mediaType, async (request: Request, payload: IncomingMessage) => {
      refuseEncoded(request, payload);
      if (request.routeOptions.config.streams) return new LineInput(payload, format, slotOf(request.raw));
      const taken = request.routeOptions.config.takesExports ? EXPORT_TYPES[0] : 'application/json';
      throw unsupported(payload, `this route takes ${taken} only, not ${mediaType}`);
    });
  }
  for (const mediaType of EXPORT_TYPES) {
    server.addContentTypeParser(mediaType, async (request: Request, payload: IncomingMessage) => {
      refuseEncoded(request, payload);
      if (request.routeOptions.config.takesExports) return new StreamedBody(payload, slotOf(request.raw));
      throw unsupported(payload, `this route does not take ${mediaType}`);
    });
  }
}

/** So that a batch with somewhat too many items is told how many it may have. */
const PARTS_AN_ITEM = 4;
const OTHER_PARTS = 1_000;

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/i;

/** Media types of an export file; what it is, it says itself. */
export const EXPORT_TYPES = ['application/vnd.unseen.filter', 'application/octet-stream'] as const;

/** Compressed bodies, and those that say they are not UTF-8: read as it they might be other items. */
function refuseEncoded({ headers }: Request, payload: IncomingMessage): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw unsupported(payload, 'the service takes no compressed bodies (Content-Encoding)');
  }
  const transfer = headers['transfer-encoding'] ?? 'chunked';
  if (transfer.toLowerCase() !== 'chunked') {
    throw unsupported(
      payload,
      `a body is sent as it is or chunked, not as ${show(transfer)} (Transfer-Encoding)`,
    );
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
  if (!['utf-8', 'utf8', 'us-ascii'].includes(charset)) {
    throw unsupported(payload, `a body is UTF-8, not ${show(charset)}`);
  }
}

function unsupported(payload: IncomingMessage, detail: string): ProblemError {
  discard(payload);
  return new ProblemError('UNSUPPORTED_MEDIA_TYPE', detail);
}

function assertUtf8(raw: Buffer): void {
  if (isUtf8(raw)) return;
  throw new ProblemError('VALIDATION_FAILED', `the body is not valid UTF-8 at byte ${utf8ErrorAt(raw)}`);
}
